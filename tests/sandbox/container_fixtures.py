"""An image of one static program for the tests of containers, made without a registry."""

import io
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Any

import pytest
from tests.prerequisites import require

from outweigh.ports.sandboxes import SandboxRequest
from outweigh.sandbox.container_engine import ContainerEngine, find_engine

PATH = {"PATH": "/bin"}
HOST_PYTHON = str(Path(sys.executable).resolve())


def python_folders() -> tuple[str, ...]:
    """The Python of the host, mounted as any tool chain can be."""
    return tuple({sys.base_prefix, *(folder for folder in ("/lib", "/lib64", "/usr") if Path(folder).exists())})


@cache
def working_engine() -> ContainerEngine:
    """Found once for all tests."""
    return find_engine()


@contextmanager
def busybox_image(engine: ContainerEngine, *programs: str) -> Iterator[str]:
    """The name of a small image, with the libraries that programs of this machine need; leaving the context removes
    it. `bash` is in it where there are such libraries.
    """
    name = f"outweigh-test:{token_hex(6)}"
    imported = engine.run("import", "-", name, stdin=busybox_archive(*programs))
    if imported.code != 0:
        pytest.fail(imported.error)
    yield name
    engine.run("rmi", "--force", name)


def busybox_archive(*programs: str) -> bytes:
    """A root folder as a tar archive, with the libraries of some programs."""
    busybox = shutil.which("busybox")
    if busybox is None:
        require("container", "busybox is not installed (Debian: apt-get install busybox-static)")
        raise AssertionError
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for folder in ("bin", "etc", "tmp", "ws", "home", "home/agent"):
            _add_folder(tar, folder)
        tar.add(Path(busybox).resolve(), "bin/busybox")
        # Engines store equal images once, so another process could remove a shared one.
        tar.addfile(tarfile.TarInfo(f"etc/{token_hex(8)}"))
        _add_links(tar, subprocess.check_output([busybox, "--list"], text=True).split())
        if programs:
            bash = shutil.which("bash") or "/bin/bash"
            tar.add(Path(bash).resolve(), "bin/bash")
            for library in sorted({library for program in (bash, *programs) for library in _libraries(program)}):
                tar.add(Path(library).resolve(), library.removeprefix("/"))
    return archive.getvalue()


def _libraries(program: str) -> list[str]:
    """The shared libraries of a program, its loader included."""
    listed = subprocess.check_output(["ldd", program], text=True)
    return re.findall(r"(/\S+) \(0x", listed)


def _add_folder(tar: tarfile.TarFile, name: str) -> None:
    folder = tarfile.TarInfo(name)
    folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
    tar.addfile(folder)


def _add_links(tar: tarfile.TarFile, names: list[str]) -> None:
    for name in names:
        link = tarfile.TarInfo(f"bin/{name}")
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        if name != "busybox":
            tar.addfile(link)


def a_request(folder: Path, image: str | None, **fields: Any) -> SandboxRequest:
    """A request over two new folders; any field can be given by name."""
    for name in ("workspace", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    defaults: dict[str, Any] = {
        "workspace": folder / "workspace",
        "home": folder / "home",
        "label": f"test-{token_hex(6)}:task/arm/1#1",
        "read_only": (),
        "ports": (),
        "image": image,
        "memory_mb": None,
        "processes": None,
        "cancel": Event(),
    }
    return SandboxRequest(**(defaults | fields))


def containers_of(engine: ContainerEngine, label: str) -> list[str]:
    """The containers with a label, running or not."""
    return engine.run("ps", "--all", "--quiet", f"--filter=label=outweigh.trial={label}").out.split()
