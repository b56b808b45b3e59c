"""Fixtures that several rooms share."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import settings
from tests.prerequisites import mark_by_needs, set_running

from outweigh.cli.main import main

# A suite gives the same answer twice, however busy the machine is; HYPOTHESIS_PROFILE=search looks for new examples.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(tryfirst=True)  # before the markers are used to select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_by_needs(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    set_running(item)
    try:
        return (yield)
    finally:
        set_running(None)


class Answer(NamedTuple):
    """What one command line left behind."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The parsed standard output."""
        parsed: dict[str, Any] = msgspec.json.decode(self.out)
        return parsed


Outweigh = Callable[..., Answer]


@pytest.fixture
def outweigh(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Outweigh:
    """Run a command line inside this process, on a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> Answer:
        capsys.readouterr()
        code = main(arguments)
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run


@pytest.fixture
def outweigh_process() -> Outweigh:
    """Run a command line as a process of its own, as a shell would."""

    def run(*arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> Answer:
        command = [sys.executable, "-m", "outweigh", *arguments]
        clean = {"PATH": os.environ["PATH"], **(environment or {})}
        done = subprocess.run(command, input=stdin, capture_output=True, env=clean, check=False)
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def collected(tmp_path: Path) -> Callable[[Sequence[dict[str, Any]]], str]:
    """Write rows to a `collected.jsonl` and give back its path."""

    def write(rows: Sequence[dict[str, Any]]) -> str:
        path = tmp_path / "collected.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return str(path)

    return write
