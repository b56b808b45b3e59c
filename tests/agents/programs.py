"""Programs for agents' adapters to start: those that `make agents` installs, or a few lines of shell."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from outweigh.ports.sandboxes import Sandbox
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request

PROGRAMS = Path(__file__).parents[2] / ".agents" / "bin"


def a_program(path: Path, script: str, interpreter: str = "/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{interpreter}\n{script}\n")
    path.chmod(0o755)
    return path


@contextmanager
def a_room(folder: Path, read_only: tuple[str, ...] = ()) -> Iterator[Sandbox]:
    with LocalSandboxProvider().open(replace(a_sandbox_request(folder, "agents"), read_only=read_only)) as sandbox:
        yield sandbox
