"""The line of progress of a run on a cluster."""

import io

from outweigh.cli.progress import RunProgress
from outweigh.engine.events import EventKind, finished_event, note_event
from outweigh.engine.trial_plan import plan_runs
from outweigh.testing.builders import a_run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last_line(*counts: str) -> str:
    terminal = Terminal()
    with RunProgress(plan_runs(["fix"], ["plain"], 2, 0), terminal) as progress:
        for count in counts:
            progress(note_event(count, EventKind.HOSTS))
        progress(finished_event(a_run("fix", "plain", 1)))
        return terminal.getvalue().rpartition("\x1b[K")[2]


def test_the_line_says_on_how_many_hosts_runs_are_made() -> None:
    assert " running on 2 hosts" in last_line("1 host", "2 hosts")


def test_the_line_of_a_run_on_this_machine_says_nothing_of_hosts() -> None:
    assert "host" not in last_line()
