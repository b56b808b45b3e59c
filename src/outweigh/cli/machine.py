"""What a run needs from the machine it is on, looked at one by one."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic

from outweigh.adapters.prices.genai import GenaiPrices
from outweigh.cli.allowed_hosts import allowed_hosts
from outweigh.cli.sandbox_choice import wanted_sandbox
from outweigh.errors import UsageError
from outweigh.plugins import load, names
from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.report.doctor_view import Part
from outweigh.run.loading import LoadedSuite
from outweigh.run.room import room_of
from outweigh.run.way_out import WayOut
from outweigh.task.suite import SandboxSpec

LITTLE_SPACE = 2**30
_FIRST_WORDS = ("sh", "-c", ":")
_PATIENCE_SECONDS = 60.0
_STARTS = 3
"""The first start also loads programs from disk; the quickest is what a trial will see."""


def look_around(store: Path) -> Iterator[Part]:
    """What every run needs."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Part(kind="python", name="", missing=None, required=True, detail=version)
    yield _git()
    yield _space("temporary files", Path(tempfile.gettempdir()))
    yield _space("store", store)


def look_at_sandboxes(suite: LoadedSuite | None) -> Iterator[Part]:
    """Every kind that is installed; the one that the suite asks for must work."""
    spec = SandboxSpec() if suite is None else suite.spec.sandbox
    for name in names("sandbox"):
        is_chosen = suite is not None and name == wanted_sandbox(spec.kind)
        yield _sandbox(load("sandbox", name), spec if is_chosen else SandboxSpec(), is_chosen=is_chosen)


def look_at_prices() -> Part:
    """Where prices come from for runs whose cost nobody reports."""
    return Part(kind="prices", name="", missing=None, required=False, detail=GenaiPrices().name)


def _git() -> Part:
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as fault:
        missing = f"workspaces are made with it, and it does not run ({fault}); install it."
        return Part(kind="git", name="", missing=missing, required=True, detail="")
    version = done.stdout.removeprefix("git version").strip()
    return Part(kind="git", name="", missing=None, required=True, detail=version)


def _space(what: str, folder: Path) -> Part:
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    missing = None if free >= LITTLE_SPACE else f"{there} has less than a gibibyte left; make room before a long run."
    return Part(kind="disk for", name=what, missing=missing, required=False, detail=f"{free / 2**30:,.1f} GiB free")


def _sandbox(provider: SandboxProvider, spec: SandboxSpec, *, is_chosen: bool) -> Part:
    missing, startup, detail = provider.missing(), None, "the suite's" if is_chosen else ""
    try:
        if missing is None:
            startup = min(_start(provider, spec) for _ in range(_STARTS))
    except (SandboxError, OSError) as fault:
        missing = str(fault)
    except UsageError as error:
        # Something that only a suite can state, such as an image; the suite that must state it is told.
        missing, detail = (str(error), detail) if is_chosen else (None, "to be started by a suite's settings")
    if is_chosen and missing is None:
        missing = _limits_not_kept(provider, spec)
    return Part(
        kind="sandbox",
        name=provider.name,
        missing=missing,
        required=is_chosen,
        detail=detail,
        startup_seconds=startup,
    )


def _start(provider: SandboxProvider, spec: SandboxSpec) -> float:
    """How long it takes from nothing to the end of a first command."""
    with tempfile.TemporaryDirectory(prefix="outweigh-doctor-") as folder:
        workspace, home = Path(folder, "workspace"), Path(folder, "home")
        workspace.mkdir()
        home.mkdir()
        label = f"outweigh-doctor:{os.getpid()}"
        with allowed_hosts(spec) as hosts:
            doors = WayOut(hosts()).doors
            request = room_of(spec, workspace=workspace, home=home, label=label, cancel=Event(), doors=doors)
            began = monotonic()
            with provider.open(request) as sandbox:
                sandbox.exec(_FIRST_WORDS, environment={}, timeout_seconds=_PATIENCE_SECONDS)
                return monotonic() - began


def _limits_not_kept(provider: SandboxProvider, spec: SandboxSpec) -> str | None:
    """Some kinds can tell; a limit that the suite counts on and nobody keeps is a missing part."""
    tell = getattr(provider, "limits_missing", None)
    found: str | None = None if tell is None else tell(spec.memory_mb, spec.processes)
    return found
