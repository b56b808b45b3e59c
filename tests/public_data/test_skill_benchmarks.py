"""Real `benchmark.json` files: the means of the runs are those of each file's own summary."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import pytest

from outweigh.adapters.importers.skill_creator import SkillCreator
from outweigh.record.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

PREFIX = "__evals__benchmark.json"


def shares(path: Path) -> dict[str, list[float]]:
    """The share of assertions that held, run by run."""
    found: dict[str, list[float]] = defaultdict(list)
    for run in read_all(SkillCreator(), path)[0]:
        assert isinstance(run, RunRecord)
        (whole, *others) = run.checks or ()
        held = whole.cases_passed, whole.cases_total
        if held[0] is None or held[1] is None:
            results = [check.passed is True for check in (whole, *others)]
            found[run.trial.arm].append(mean(results))
        else:
            found[run.trial.arm].append(held[0] / held[1])
    return found


def of_skill(found: Sequence[object]) -> list[RunRecord]:
    return [run for run in found if isinstance(run, RunRecord) and run.trial.arm == "with_skill"]


@pytest.mark.parametrize(
    ("file", "runs", "with_skill", "without_skill"),
    [
        ("melanie531__sample-agent-skill-eval", 5, 0.35, 0.35),
        ("melanie531__sample-agent-skill-eval__examples__data-analysis", 6, 0.8778, 0.8778),
        ("nedjamez__claude-skill-pencil-reader", 4, 0.9375, 0.9375),
    ],
)
def test_the_mean_shares_are_those_of_the_summary(
    skill_benchmarks: Path, file: str, runs: int, with_skill: float, without_skill: float
) -> None:
    """`run_summary.*.mean_pass_rate` and `configs[].summary.pass_rate`."""
    found = shares(skill_benchmarks / f"{file}{PREFIX}")

    assert {arm: len(each) for arm, each in found.items()} == {"with_skill": runs, "without_skill": runs}
    assert round(mean(found["with_skill"]), 4) == with_skill
    assert round(mean(found["without_skill"]), 4) == without_skill


def test_tokens_and_times_have_the_published_means(skill_benchmarks: Path) -> None:
    """`mean_input_tokens` 225373.0 and `mean_output_tokens` 2110.0; `mean_duration_ms` 53849."""
    tokens, _ = read_all(SkillCreator(), skill_benchmarks / f"melanie531__sample-agent-skill-eval{PREFIX}")
    times, _ = read_all(SkillCreator(), skill_benchmarks / f"nedjamez__claude-skill-pencil-reader{PREFIX}")

    usage = [run.usage for run in tokens if isinstance(run, RunRecord) and run.trial.arm == "with_skill"]
    seconds = [
        run.duration_seconds or 0 for run in times if isinstance(run, RunRecord) and run.trial.arm == "with_skill"
    ]
    assert mean(each.input_tokens or 0 for each in usage) == 225373.0
    assert mean(each.output_tokens or 0 for each in usage) == 2110.0
    assert round(1000 * mean(seconds)) == 53849


def test_143_of_168_and_53_of_165_dimensions_held_and_one_scenario_was_graded_unevenly(skill_benchmarks: Path) -> None:
    """The sums of `dimensions`; 17 scenarios of 9 dimensions, of which 5 and 4 were graded by 3 more."""
    found, notes = read_all(SkillCreator(), skill_benchmarks / f"taekchef__cleaver{PREFIX}")

    sums = {"with_skill": [0, 0], "without_skill": [0, 0]}
    for run in found:
        assert isinstance(run, RunRecord)
        assert run.checks is not None
        sums[run.trial.arm][0] += sum(check.passed is True for check in run.checks)
        sums[run.trial.arm][1] += len(run.checks)
    assert sums == {"with_skill": [143, 168], "without_skill": [53, 165]}
    assert list(notes.warnings) == ["'eval-animation': the arms were graded by different numbers of assertions."]


def test_a_file_of_sums_has_no_runs(skill_benchmarks: Path) -> None:
    found, notes = read_all(
        SkillCreator(), skill_benchmarks / f"Integral-Productivity__holacracy-claude-plugin{PREFIX}"
    )

    assert not found
    assert list(notes.facts.values()) == [0.5861, 0.5333]
    assert [each["arm"] for each in notes.aggregates] == ["with_skill", "without_skill"]
