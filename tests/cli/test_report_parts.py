"""The parts of the page that are not pictures: the sentence, the cost, the proof, the tasks, and how large it gets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store

from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.run_record import ObservedServer, ObservedSetup, RunRecord
from outweigh.testing.builders import a_run

Written = Callable[..., str]
TWO_MEGABYTES = 2_000_000


@pytest.fixture
def written(outweigh: Any, tmp_path: Path) -> Written:
    def write(kind: str, *arguments: str) -> str:
        target = tmp_path / f"report.{kind}"
        answer = outweigh("report", *arguments, "-o", str(target))
        assert answer.code == 0, answer.err
        return target.read_text()

    return write


def runs(arm: str, seconds: float, tasks: int = 8, **fields: Any) -> list[RunRecord]:
    return [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=(task + repeat) % 3 > 0,
            duration_seconds=seconds + (task * len(arm)) % 7 / 10,
            **fields,
        )
        for task in range(tasks)
        for repeat in range(1, 6)
    ]


def stored(tmp_path: Path, *everything: RunRecord) -> str:
    return write_store(tmp_path / "store", everything, ["base", "new"])


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [
        (30, "new takes 50 % less time"),
        (60, "new takes between 0.1 % less and 0.1 % more time"),
        (120, "new takes 100 % more time"),
    ],
)
def test_the_page_begins_with_the_verdict_in_a_sentence(
    written: Written, tmp_path: Path, seconds: float, sentence: str
) -> None:
    store = stored(tmp_path, *runs("base", 60, 60), *runs("new", seconds, 60))

    page = written("html", store, "--gates", "duration")

    lead = page[page.index('<p class="lead">') :]
    assert lead.startswith(f'<p class="lead">{sentence}')


def test_an_inconclusive_page_says_at_once_what_it_would_take(written: Written, tmp_path: Path) -> None:
    store = stored(tmp_path, *runs("base", 60), *runs("new", 60))

    page = written("md", store, "--gates", "pass_rate")

    assert "**To decide:** about" in page


def test_costs_come_with_their_source_and_what_the_cache_did(written: Written, tmp_path: Path) -> None:
    page = written("md", stored(tmp_path, *runs("base", 60), *runs("new", 60)))

    assert "| source of the cost, runs | reported 40 | reported 40 |" in page
    assert "| share of the prompt read from a cache | 85 % | 85 % |" in page
    assert "| without a prompt cache, mean | unknown | unknown |" in page


def test_what_was_loaded_is_proven_or_said_to_be_unseen(written: Written, tmp_path: Path) -> None:
    loaded = ObservedSetup(
        skills=("review",),
        skills_used=None,
        mcp_servers=(ObservedServer(name="search", state="connected"),),
        tools=None,
        memory_files=None,
        seen_by=("init event",),
    )
    page = written("md", stored(tmp_path, *runs("base", 60), *runs("new", 60, loaded=loaded)))

    assert "base: what was loaded was seen in 0 of 40 runs" in page
    assert "new: what was loaded was seen in 40 of 40 runs" in page
    assert "| review | skill | 0 | 40 |" in page
    assert "| search | tool server, connected | 0 | 40 |" in page


def test_attempts_that_do_not_count_are_listed_with_their_reason(written: Written, tmp_path: Path) -> None:
    new = runs("new", 60)
    new[0] = msgspec.structs.replace(new[0], status=Status.ARM_NOT_APPLIED, status_detail="skill review is missing")
    page = written("md", stored(tmp_path, *runs("base", 60), *new))

    assert "task-0, new, repeat 1, attempt 1: arm\\_not\\_applied, skill review is missing" in page
    assert "1 runs did not have what the arm declares and do not count" in page


def test_warnings_of_runs_are_counted(written: Written, tmp_path: Path) -> None:
    page = written("md", stored(tmp_path, *runs("base", 60), *runs("new", 60, warnings=("the clock went back",))))

    assert "new, 40 runs: the clock went back" in page


def test_every_task_and_run_is_in_the_html_and_named_elsewhere(written: Written, tmp_path: Path) -> None:
    store = stored(tmp_path, *runs("base", 60), *runs("new", 60))

    page, markdown = written("html", store), written("md", store)

    assert all(f"<summary>task-{task}</summary>" in page for task in range(8))
    assert "task-3/new/5" in page
    assert "task-3/new/5" not in markdown
    assert "The page for the browser has every task with its runs" in markdown


@pytest.mark.parametrize(("arms", "tasks", "repeats"), [(2, 1000, 5), (5, 2000, 1)])
def test_ten_thousand_runs_make_a_page_below_two_megabytes(
    written: Written, tmp_path: Path, arms: int, tasks: int, repeats: int
) -> None:
    names = [f"arm-{number}" for number in range(arms)]
    target = tmp_path / "runs.jsonl"
    with target.open("wb") as file:
        for task in range(tasks):
            for repeat in range(1, repeats + 1):
                for place, arm in enumerate(names):
                    fields = {"duration_seconds": 60.0 + (task * 7 + repeat * 3 + place) % 50, "position": task}
                    run = a_run(f"a-repository/a-task-{task}", arm, repeat, passed=(task + repeat) % 3 > 0, **fields)
                    file.write(encode(run) + b"\n")
    candidates = [word for name in names[1:] for word in ("--candidate", name)]

    page = written("html", str(target), "--baseline", names[0], *candidates)

    assert len(page.encode()) < TWO_MEGABYTES
    assert f"Task by task: {tasks} tasks" in page
