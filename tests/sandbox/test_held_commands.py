"""Claims about a command whose run is held up from outside: that time is neither limited nor counted."""

from pathlib import Path
from threading import Event
from time import monotonic

from outweigh.ports.sandboxes import CommandEnding, CompletedCommand
from outweigh.sandbox.process_tree import ProcessGroupTree, SandboxCommand, run_process_tree

LIMIT_SECONDS = 0.2


class Hold:
    """Holds a run up from its start until the limit has passed so many times."""

    def __init__(self, seconds: float, before: float = 0.0) -> None:
        self._began = monotonic()
        self._seconds = seconds
        self._before = before

    def __call__(self) -> float:
        return self._before + min(monotonic() - self._began, self._seconds)


def run(line: str, hold: Hold, cancel: Event | None = None) -> CompletedCommand:
    command = SandboxCommand(
        command=["/bin/sh", "-c", line],
        environment={"PATH": "/usr/bin:/bin"},
        folder=Path("/"),
        stdin=b"",
        timeout_seconds=LIMIT_SECONDS,
        cancel=cancel or Event(),
        held_seconds=hold,
    )
    return run_process_tree(command, ProcessGroupTree())


def test_a_command_may_take_longer_by_what_it_is_held_up() -> None:
    done = run("sleep 1; echo done", Hold(600.0))

    assert (done.ending, done.stdout) == (CommandEnding.EXITED, b"done\n")


def test_the_time_that_a_command_is_held_up_is_no_part_of_how_long_it_took() -> None:
    assert run("sleep 1", Hold(600.0)).duration_seconds < LIMIT_SECONDS


def test_a_command_ends_at_its_limit_once_it_is_no_longer_held_up() -> None:
    assert run("sleep 600", Hold(1.0)).ending is CommandEnding.TIMED_OUT


def test_what_held_up_the_run_before_a_command_gives_it_no_more_time() -> None:
    assert run("sleep 600", Hold(0.0, before=3_600.0)).ending is CommandEnding.TIMED_OUT


def test_a_command_that_is_held_up_can_be_cancelled() -> None:
    cancel = Event()
    cancel.set()

    assert run("sleep 600", Hold(600.0), cancel).ending is CommandEnding.CANCELLED
