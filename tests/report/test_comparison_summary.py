"""`outweigh compare` on one screen, and tasks without checks, which nobody scored."""

import re
from typing import Any

from tests.report.test_verdict_summary import decided, pretended
from tests.verdict.two_arms import experiment

from outweigh.compare.comparison import Comparison
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.report.comparison_page import comparison_report
from outweigh.report.comparison_summary import comparison_summary
from outweigh.report.comparison_tables import arms_table
from outweigh.report.render_text import TextReporter
from outweigh.report.report_sections import task_details
from outweigh.report.run_diff import describe_run_outcome
from outweigh.testing.builders import a_run


def brief(comparison: Comparison) -> str:
    inference = infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)
    return TextReporter(colour=False).render(comparison_summary(comparison, inference, verbose_command="outweigh x"))


def whole(comparison: Comparison) -> str:
    inference = infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)
    return TextReporter(colour=False).render(comparison_report(comparison, inference))


def compared(**fields: Any) -> Comparison:
    found: Comparison = decided(experiment(0.3, speed=0.8, **fields))[1]
    return found


def test_it_fits_a_screen_in_units_that_people_use() -> None:
    lines = brief(compared()).splitlines()
    text = "\n".join(lines)

    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100
    assert re.search(r"pass rate +\d+ % +\d+ % +\+\d+ points +\+\d+ to \+\d+ +better", text)
    assert re.search(r"duration +\d+ s +\d+ s +-\d+ s +-\d+ s to -\d+(\.\d)? s +better", text)
    assert not re.findall(r"(?<![\d$])\d+\.\d{3,}|\de[+-]\d", text)


def test_costs_that_nobody_paid_are_simulated_in_both_texts() -> None:
    comparison = pretended(compared())

    for text in (brief(comparison), whole(comparison)):
        assert "$" not in text
        assert re.search(r"\n  cost .*simulated", text)


def test_a_task_without_checks_shows_no_checks_and_never_a_score_of_1() -> None:
    comparison = compared(checks=())

    assert comparison.without_checks
    assert ("objective, mean", "no checks", "no checks", "") in arms_table(comparison).rows
    for text in (brief(comparison), whole(comparison)):
        assert "no checks" in text
        assert not re.findall(r"\n  objective.*\b1\.00\b", text)


def test_the_mean_objective_is_that_of_runs_with_checks() -> None:
    records = [
        *experiment(0.3, tasks=6),
        *(a_run(f"open-{number}", arm, 1, checks=()) for number in range(6) for arm in ("old", "new")),
    ]
    mixed, alone = decided(records)[1], decided(experiment(0.3, tasks=6))[1]

    (shown,) = (row for row in arms_table(mixed).rows if row[0] == "objective, mean")
    (expected,) = (row for row in arms_table(alone).rows if row[0] == "objective, mean")
    assert shown == expected


def test_a_run_without_checks_is_listed_as_such() -> None:
    comparison = compared(checks=(), tasks=6)
    (details,) = task_details(comparison, 1)
    page = str(details)

    assert "no checks" in page
    assert describe_run_outcome(a_run("task", "arm", 1, checks=())) == "no checks"
    assert describe_run_outcome(a_run("task", "arm", 1, checks=None)) == "unknown"
