"""Was the skill used? Loaded in n of m runs, invoked in k, by task; what no transcript tells is not known."""

from typing import Any

import msgspec
import pytest
from tests.report.test_verdict_summary import brief, decided
from tests.verdict.two_arms import experiment

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.server_tools import tools_by_server
from outweigh.compare.setup_use import HARDLY_USED
from outweigh.model.run_record import ObservedServer, ObservedSetup, RunRecord, Step, StepSource, ToolCall
from outweigh.report.document import Table
from outweigh.report.setup_use_lines import describe_use, use_blocks, use_payload
from outweigh.testing.builders import a_run, evidence_of

TASKS, REPEATS = 6, 5


def setup(**seen: Any) -> ObservedSetup:
    nothing: dict[str, Any] = dict.fromkeys(("skills", "skills_used", "mcp_servers", "tools", "memory_files"))
    return ObservedSetup(**(nothing | seen), seen_by=("init event",))


def runs(arm: str, *setups: ObservedSetup | None, **fields: Any) -> list[RunRecord]:
    """Six tasks with five repeats; the set-ups take turns over the runs of a task."""
    return [
        a_run(f"task-{task}", arm, repeat, loaded=setups[repeat % len(setups)], **fields)
        for task in range(TASKS)
        for repeat in range(1, REPEATS + 1)
    ]


def compared(*after: ObservedSetup | None, changed: tuple[str, ...] = (), **fields: Any) -> Comparison:
    before = runs("old", setup(skills=(), skills_used=()))
    return compare_arms(evidence_of(before, runs("new", *after, **fields)), "old", "new", changed_skills=changed)


def test_a_skill_that_only_the_candidate_has_is_counted_by_run_and_by_task() -> None:
    having, using = setup(skills=("style",), skills_used=()), setup(skills=("style",), skills_used=("style",))
    (item,) = compared(having, using).changed_use
    (table,) = use_blocks([item])

    assert describe_use(item) == "style: loaded in 30 of 30 runs, invoked in 18"
    assert isinstance(table, Table)
    assert table.rows[0] == ("task-0", "5", "5 of 5", "3 of 5")
    assert not compared(having, using).warnings


def test_a_change_that_was_hardly_ever_used_is_a_warning_before_all_others() -> None:
    unused = compared(setup(skills=("style",), skills_used=()))
    (warning,) = unused.warnings[:1]

    assert "the skill 'style' was never invoked in 30 runs" in warning
    assert use_payload(unused.changed_use)[0]["hardly_used"] is True


def test_used_in_one_run_of_five_is_not_hardly_ever() -> None:
    having, using = setup(skills=("style",), skills_used=()), setup(skills=("style",), skills_used=("style",))
    (item,) = compared(using, having, having, having, having).changed_use

    assert item.share == pytest.approx(HARDLY_USED)
    assert not item.hardly_used


def test_what_no_transcript_tells_is_not_known_and_no_warning() -> None:
    silent = compared(None, changed=("style",))
    (item,) = silent.changed_use

    assert describe_use(item) == "style: loaded: not known, invoked: not known"
    assert not silent.warnings
    assert use_payload(silent.changed_use)[0]["invoked"] is None
    assert use_blocks([item])[0].rows[0] == ("task-0", "5", "not known", "not known")  # type: ignore[union-attr]


def test_runs_that_cannot_tell_are_counted_apart() -> None:
    (item,) = compared(None, setup(skills=("style",), skills_used=("style",))).changed_use

    assert describe_use(item) == (
        "style: loaded in 18 of 18 runs (not known for 12), invoked in 18 of 18 runs (not known for 12)"
    )


def test_a_skill_that_both_arms_have_counts_where_its_files_differ() -> None:
    both = setup(skills=("style",), skills_used=("style",))
    evidence = evidence_of(runs("old", both), runs("new", both))

    assert compare_arms(evidence, "old", "new").changed_use == ()
    (item,) = compare_arms(evidence, "old", "new", changed_skills=("style",)).changed_use
    assert describe_use(item) == "style: loaded in 30 of 30 runs, invoked in 30"


def test_a_server_is_used_where_a_step_calls_one_of_its_tools() -> None:
    having = setup(mcp_servers=(ObservedServer(name="docs", state="connected"),))
    call = ToolCall(name="mcp__docs__search", succeeded=True)
    unmeasured: dict[str, Any] = {"usage": None, "cost_usd": None, "duration_seconds": None}
    step = Step(index=0, source=StepSource.AGENT, message=None, tool_calls=(call,), **unmeasured)
    (used,) = compared(having, steps=(step,)).changed_use
    (unused,) = compared(having, steps=()).changed_use
    (unknown,) = compared(having, steps=None).changed_use

    assert describe_use(used) == "docs: loaded in 30 of 30 runs, invoked in 30"
    assert unused.hardly_used
    assert unknown.share is None


@pytest.mark.parametrize(
    ("tool", "server", "is_its"),
    [
        ("mcp__docs__search", "docs", True),
        ("mcp_docs_search", "docs", True),
        ("docs_search", "docs", True),
        ("documents", "docs", False),
        ("Bash", "docs", False),
    ],
)
def test_the_tools_of_a_server_are_known_by_their_names(tool: str, server: str, *, is_its: bool) -> None:
    assert bool(tools_by_server([tool], [server])) is is_its


def test_the_first_screen_answers_whether_the_skill_was_used() -> None:
    having = setup(skills=("style",), skills_used=())
    records = [
        record if record.trial.arm == "old" else msgspec.structs.replace(record, loaded=having)
        for record in experiment(0.3, loaded=setup(skills=(), skills_used=()))
    ]
    lines = brief(*decided(records)).splitlines()
    text = " ".join(" ".join(lines).split())

    assert "Skill style: loaded in 200 of 200 runs, invoked in 0 " in text
    assert "Warning the skill 'style' was never invoked in 200 runs" in text
    assert len(lines) <= 24
