"""Whether a pinned arm still performs as it did, over all checks of its pin."""

from math import exp, log

import numpy as np
import pytest
from calibration.pin_cells import STEADY, PinLife, interval_readings, pin_readings

from outweigh.compare.arm_drift import COMBINED, checked_runs, pinned_runs, weigh_drift
from outweigh.model.failure import Status
from outweigh.model.pin_check import CheckedRun
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run, evidence_of


def run_of(task: str, *, passed: float | None = 1.0, **ratios: float) -> CheckedRun:
    return CheckedRun(task_id=task, passed=passed, ratios=ratios)


def slower(times: float, tasks: int = 6, seed: int = 1) -> list[CheckedRun]:
    random = np.random.default_rng(seed)
    return [
        run_of(f"task-{task}", duration_seconds=times * exp(random.normal(0, 0.1)), passed=None)
        for task in range(tasks)
    ]


def test_resources_are_ratios_to_the_geometric_mean_of_the_pinned_runs_of_the_task() -> None:
    pinned = [
        a_run("short", repeat=1, duration_seconds=1.0),
        a_run("short", repeat=2, duration_seconds=4.0),
        a_run("long", duration_seconds=100.0),
    ]
    now = [a_run("short", "now", duration_seconds=6.0), a_run("long", "now", passed=False, duration_seconds=50.0)]
    evidence = evidence_of(pinned, now)

    found = {run.task_id: run for run in checked_runs(evidence.arm("baseline"), evidence.arm("now"))}

    assert (found["short"].passed, found["long"].passed) == (1.0, 0.0)
    assert [found[task].ratios["duration_seconds"] for task in ("short", "long")] == pytest.approx([3.0, 0.5])
    before = [run.value("duration_seconds") for run in pinned_runs(evidence.arm("baseline")) if run.task_id == "short"]
    assert before == pytest.approx([log(0.5), log(2)])


def test_what_is_unknown_zero_or_not_counted_is_left_out() -> None:
    pinned = [a_run("free", cost=reported_cost(0.0)), a_run("paid", cost=reported_cost(2.0))]
    now = [
        a_run("free", "now", cost=reported_cost(1.0)),
        a_run("paid", "now", cost=reported_cost(0.0)),
        a_run("paid", "now", 2, status=Status.INFRA_ERROR),
        a_run("new", "now"),
    ]
    evidence = evidence_of(pinned, now)

    found = checked_runs(evidence.arm("baseline"), evidence.arm("now"))

    assert [(run.task_id, "cost_usd" in run.ratios) for run in found] == [("free", False), ("paid", False)]


def test_the_combined_evidence_is_half_that_of_the_pass_rate_and_half_that_of_the_resources() -> None:
    both = {"duration_seconds": 1.0, "cost_usd": 1.0}
    pinned = [run_of(f"task-{task}", **both) for task in range(4) for _ in range(3)]
    check = [run_of(f"task-{task}", passed=0.0, duration_seconds=1.1, cost_usd=0.9) for task in range(4)]

    found = weigh_drift(pinned, [check], "seed").evidence

    expected = found["passed"] / 2 + found["duration_seconds"] / 4 + found["cost_usd"] / 4
    assert found[COMBINED] == pytest.approx(expected)
    assert found["passed"] != found["duration_seconds"]


def test_a_metric_that_the_pin_does_not_know_takes_no_part() -> None:
    pinned = [run_of(f"task-{task}") for task in range(4) for _ in range(3)]
    check = [run_of(f"task-{task}", duration_seconds=2.0) for task in range(4)]

    assert weigh_drift(pinned, [check], "seed").evidence.keys() == {"passed", COMBINED}


def test_checks_add_up_and_an_alarm_stays_although_later_runs_are_as_before() -> None:
    pinned = [run for seed in range(5) for run in slower(1.0, seed=seed)]
    checks = [slower(1.2, seed=10 + day) for day in range(6)]
    back = [slower(1.0, seed=50 + day) for day in range(6)]

    found, later = weigh_drift(pinned, checks, "seed"), weigh_drift(pinned, [*checks, *back], "seed")

    assert weigh_drift(pinned, checks[:1], "seed").findings == ()
    assert found.alarm is not None
    assert later.alarm == found.alarm
    assert later.evidence[COMBINED] < 20
    (finding,) = found.findings
    assert finding.startswith("the duration is 1.19 times what it was")
    assert "over 36 runs" in finding


def test_a_check_with_repeats_says_as_much_as_that_many_checks() -> None:
    pinned = [run for seed in range(5) for run in slower(1.0, seed=seed)]
    checks = [slower(1.2, seed=10 + day) for day in range(3)]

    apart = weigh_drift(pinned, checks, "seed").evidence
    together = weigh_drift(pinned, [[run for check in checks for run in check]], "seed").evidence

    assert together == apart


def test_the_same_checks_are_always_weighed_the_same() -> None:
    pinned, check = [*slower(1.0, seed=1), *slower(1.0, seed=2)], slower(1.1, seed=3)

    assert weigh_drift(pinned, [check], "seed") == weigh_drift(pinned, [check], "seed")


# 60 lives of 60 days: a rule that raises a false alarm in 20 % of them would be caught 9 times in 10.
def test_daily_checks_of_a_steady_pin_rarely_raise_an_alarm() -> None:
    life = PinLife(name="steady", tasks=12, repeats=3)

    assert pin_readings(life, 60, 60, 1)["alarm within the year"].value <= 0.15


def test_an_interval_at_every_check_would_raise_one_in_a_third_of_all_months() -> None:
    assert interval_readings(STEADY[0], 30, 150, 1)["alarm within the month"].value > 0.3


def test_daily_checks_find_an_agent_that_fails_every_task_within_days() -> None:
    life = PinLife(name="broken", tasks=12, repeats=3, logit=-40.0)

    assert pin_readings(life, 8, 12, 1)["alarm within the year"].value > 0.8
