"""Claims about processes that are started out of reach of the terminal's signals."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex

import pytest
from tests.cli.engines import until

from outweigh.engine.checks import untrusted_files
from outweigh.process import run_process, spawn_lock
from outweigh.sandbox.confined_files import ConfinedFiles

STARTS = 300
# Says when it is about to start a program, and in the end how many of them ended in which way.
STARTER = f"""
import os, signal
from collections import Counter
from outweigh.process import run_process

signal.signal(signal.SIGINT, lambda *_: None)
codes = Counter()
for _ in range({STARTS}):
    os.write(1, b".")
    os.read(0, 1)
    codes[run_process(["sh", "-c", "exit 7"]).returncode] += 1
os.write(1, repr(dict(codes)).encode())
"""


def test_a_signal_for_the_starter_never_ends_what_it_starts_however_early_it_comes() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        for start in range(STARTS):
            assert starter.stdout.read(1) == b"."
            starter.stdin.write(b".")
            _spin(seconds=start % 40 * 25e-6)  # one of these is the moment between being born and being apart
            os.killpg(starter.pid, signal.SIGINT)

        assert starter.stdout.read() == repr({7: STARTS}).encode()


def _spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_it_is_told_its_input_and_what_it_says_is_kept(tmp_path: Path) -> None:
    done = run_process(
        ["sh", "-c", "cat; pwd; echo $WORD >&2; exit 3"],
        environment={"PATH": os.environ["PATH"], "WORD": "yes"},
        folder=tmp_path,
        stdin=b"a" * 2**20,
    )

    assert (done.returncode, done.stderr) == (3, b"yes\n")
    assert Counter(done.stdout)[ord("a")] >= 2**20
    assert done.stdout.endswith(os.fsencode(tmp_path) + b"\n")


def test_without_input_it_finds_an_end_at_once() -> None:
    assert run_process(["cat"]).stdout == b""


def test_when_the_time_is_up_its_children_are_killed_with_it() -> None:
    mark = f"MARK={token_hex(8)}"
    name, _, value = mark.partition("=")

    with pytest.raises(subprocess.TimeoutExpired):
        run_process(
            ["sh", "-c", "sleep 600 & sleep 600"],
            environment={"PATH": os.environ["PATH"], name: value},
            timeout_seconds=0.5,
        )

    until(lambda: not any(mark.encode() in _variables(entry) for entry in Path("/proc").glob("[0-9]*")))


def _variables(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def test_a_program_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        run_process(["no-such-program"])


PROGRAM = "#!/bin/sh\nexit 7\n"


def _written_by_hand(folder: Path) -> None:
    with spawn_lock(), (folder / "program").open("w") as file:
        file.write(PROGRAM)
        os.fchmod(file.fileno(), 0o755)


def _written_into_a_sandbox(folder: Path) -> None:
    ConfinedFiles(folder, "/ws").write("program", PROGRAM.encode(), executable=True)


def _laid_into_a_workspace(folder: Path) -> None:
    source = folder.with_name(f"{folder.name}-source")
    source.mkdir()
    (source / "program").write_text(PROGRAM)
    (source / "program").chmod(0o755)
    untrusted_files.replace_folder(folder, "laid", source)
    (folder / "program").symlink_to("laid/program")


@pytest.mark.parametrize("write", [_written_by_hand, _written_into_a_sandbox, _laid_into_a_workspace])
def test_a_program_can_be_run_as_soon_as_it_is_written_whatever_is_started_meanwhile(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    def write_and_run(number: int) -> int:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        write(folder)
        return run_process(["sh", "-c", "exec ./program"], folder=folder).returncode

    with ThreadPoolExecutor(16) as threads:
        assert Counter(threads.map(write_and_run, range(600))) == {7: 600}
