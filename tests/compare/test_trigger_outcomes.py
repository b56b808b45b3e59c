"""Recall and false triggers by skill: by hand, with intervals that hold the truth, unknown where runs are silent."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from outweigh.compare.trigger_outcomes import LEVEL, NOT_LISTED, NOT_SHOWN, TriggerOutcomes, gather_triggers
from outweigh.model.failure import Status
from outweigh.model.run_record import ObservedSetup, RunRecord
from outweigh.model.trigger_case import TRIGGER_LABEL, TriggerCase
from outweigh.testing.builders import a_run


def loaded(listed: Sequence[str] | None, used: Sequence[str] | None) -> ObservedSetup:
    return ObservedSetup(
        skills=None if listed is None else tuple(listed),
        skills_used=None if used is None else tuple(used),
        mcp_servers=None,
        tools=None,
        memory_files=None,
        seen_by=(),
    )


def a_trigger_run(task: str, used: Sequence[str] | None, repeat: int = 1, **fields: Any) -> RunRecord:
    """A run of a case about the skill `notes`, which should fire where the name of its task says so."""
    label = {"skill": "notes", "should_fire": task.startswith("fires")}
    known: dict[str, Any] = {"extra": {TRIGGER_LABEL: label}, "checks": (), "loaded": loaded(("notes", "thief"), used)}
    return a_run(task, fields.pop("arm", "new"), repeat, **(known | fields))


def gather(runs: Sequence[RunRecord]) -> TriggerOutcomes:
    return gather_triggers(runs)


def test_rates_are_shares_of_runs_and_the_thief_is_named() -> None:
    asked = {
        "fires-1": ["notes"],
        "fires-2": ["notes"],
        "fires-3": ["thief"],
        "fires-4": [],
        "fires-5": ["thief", "notes"],
        "ignores-1": ["notes"],
        "ignores-2": [],
        "ignores-3": ["thief"],
        "ignores-4": [],
        "ignores-5": [],
    }
    found = gather([a_trigger_run(task, used) for task, used in asked.items()])
    (skill,) = found.skills

    assert (skill.recall.point, skill.false_rate.point) == (3 / 5, 1 / 5)
    assert skill.stolen_by == {"thief": 1}
    assert [case.task for case in skill.missed] == ["fires-3", "fires-4"]
    assert [case.task for case in skill.misfired] == ["ignores-1"]
    assert found.confusion == {
        "new": {
            "notes": {"notes": 3, "thief": 1, "no skill": 1},
            "not notes": {"notes": 1, "thief": 1, "no skill": 3},
        }
    }


def test_with_one_run_of_each_case_the_interval_is_nearly_wilsons() -> None:
    runs = [a_trigger_run(f"fires-{n}", ["notes"] if n < 32 else []) for n in range(40)]
    interval = gather(runs).skills[0].recall.interval
    low, high = proportion_confint(32, 40, alpha=1 - LEVEL, method="wilson")

    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.01)


def test_runs_of_one_case_that_always_agree_say_no_more_than_one_run() -> None:
    once = [a_trigger_run(f"fires-{n}", ["notes"] if n < 8 else []) for n in range(10)]
    often = [
        a_trigger_run(f"fires-{n}", ["notes"] if n < 8 else [], repeat) for n in range(10) for repeat in range(1, 9)
    ]
    one, many = (gather(runs).skills[0].recall.interval for runs in (once, often))

    assert one is not None
    assert many is not None
    assert (many.low, many.high) == pytest.approx((one.low, one.high), abs=0.02)


def simulated(random: Random, spread: float) -> list[RunRecord]:
    """Forty cases of five runs; recall is .8 and false triggers are .1 on average, and cases differ around that."""
    chances = {"fires": 0.8, "ignores": 0.1}
    runs = []
    for kind, mean in chances.items():
        for case in range(20):
            chance = random.betavariate(mean * spread, (1 - mean) * spread)
            runs += [
                a_trigger_run(f"{kind}-{case:02d}", ["notes"] if random.random() < chance else [], repeat)
                for repeat in range(1, 6)
            ]
    return runs


@pytest.mark.parametrize("spread", [2.0, 1000.0], ids=["cases differ", "cases are alike"])
def test_intervals_hold_a_known_recall_and_a_known_rate_of_false_triggers(spread: float) -> None:
    random, held = Random(7), {"recall": 0, "false_rate": 0}
    for _ in range(150):
        (skill,) = gather(simulated(random, spread)).skills
        for name, truth in (("recall", 0.8), ("false_rate", 0.1)):
            interval = getattr(skill, name).interval
            held[name] += interval is not None and interval.low <= truth <= interval.high

    assert min(held.values()) >= 0.90 * 150, held  # 95 % less three standard errors


@pytest.mark.parametrize(
    ("shown", "reason"),
    [(loaded(("other",), ()), NOT_LISTED), (loaded(None, None), NOT_SHOWN), (None, NOT_SHOWN)],
    ids=["not listed", "not shown", "no set-up"],
)
def test_what_runs_do_not_show_is_unknown_and_never_a_miss(shown: ObservedSetup | None, reason: str) -> None:
    (skill,) = gather([a_trigger_run(f"fires-{n}", (), loaded=shown) for n in range(6)]).skills

    assert skill.recall.point is None
    assert skill.recall.warnings == (reason,)
    assert not skill.missed


def test_exposure_is_counted_apart_from_invocation() -> None:
    runs = [a_trigger_run(f"fires-{n}", ["notes"]) for n in range(3)]
    runs += [a_trigger_run(f"fires-{n}", (), loaded=loaded(("thief",), ())) for n in range(3, 6)]
    runs += [a_trigger_run("fires-6", (), loaded=loaded(None, ()))]
    (skill,) = gather(runs).skills

    assert (skill.listed, skill.listed_known, skill.runs) == (3, 6, 7)
    assert skill.recall.point == 3 / 4, "a run whose model was not told about the skill says nothing about it"


def test_only_the_last_attempt_counts_and_failed_infrastructure_does_not() -> None:
    lost = a_trigger_run("fires-1", (), status=Status.INFRA_ERROR, loaded=None)
    again = a_trigger_run("fires-1", ["notes"], attempt=2)
    gone = a_trigger_run("fires-2", (), status=Status.INFRA_ERROR, loaded=None)
    found = gather([again, lost, gone])

    assert (found.runs, found.excluded, found.skills[0].recall.point) == (1, 1, 1.0)


def test_ordinary_runs_are_no_cases_unless_a_table_says_so() -> None:
    run = a_run("task-1", "new", loaded=loaded(("notes",), ("notes",)))
    table = {"task-1": TriggerCase(skill="notes", should_fire=True)}

    assert not gather([run]).skills
    assert gather_triggers([run], table).skills[0].recall.point == 1.0
