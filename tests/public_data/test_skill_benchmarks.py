"""Real `benchmark.json` files: the means of the runs are those of each file's own summary."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

import pytest

from outweigh.interop.skill_creator.importer import SkillCreatorImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

PREFIX = "__evals__benchmark.json"


def shares(path: Path) -> dict[str, list[float]]:
    """The share of assertions that held, run by run."""
    found: dict[str, list[float]] = defaultdict(list)
    for run in read_all(SkillCreatorImporter(), path)[0]:
        assert isinstance(run, RunRecord)
        (whole, *others) = run.checks or ()
        held = whole.cases_passed, whole.cases_total
        if held[0] is None or held[1] is None:
            results = [check.passed is True for check in (whole, *others)]
            found[run.trial.arm].append(mean(results))
        else:
            found[run.trial.arm].append(held[0] / held[1])
    return found


def of_arm(found: Sequence[object], arm: str) -> list[RunRecord]:
    return [run for run in found if isinstance(run, RunRecord) and run.trial.arm == arm]


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


@pytest.mark.parametrize(
    ("file", "deviation"),
    [
        ("melanie531__sample-agent-skill-eval", 0.3354),
        ("melanie531__sample-agent-skill-eval__examples__data-analysis", 0.1905),
    ],
)
def test_the_shares_spread_as_the_summary_says(skill_benchmarks: Path, file: str, deviation: float) -> None:
    """`run_summary.*.stddev_pass_rate`, of a sample, the same in both arms."""
    found = shares(skill_benchmarks / f"{file}{PREFIX}")

    assert {arm: round(stdev(each), 4) for arm, each in found.items()} == dict.fromkeys(found, deviation)


@pytest.mark.parametrize(
    ("file", "arm", "given", "output", "total"),
    [
        ("", "with_skill", 225373.0, 2110.0, 227483.0),
        ("", "without_skill", 211199.4, 1535.4, 212734.8),
        ("__examples__data-analysis", "with_skill", 81972.8, 952.8, 82925.7),
        ("__examples__data-analysis", "without_skill", 57087.7, 563.7, 57651.3),
    ],
)
def test_tokens_have_the_means_of_the_summary(
    skill_benchmarks: Path, file: str, arm: str, given: float, output: float, total: float
) -> None:
    """`run_summary.*.mean_input_tokens`, `mean_output_tokens` and `mean_total_tokens`."""
    found, _ = read_all(SkillCreatorImporter(), skill_benchmarks / f"melanie531__sample-agent-skill-eval{file}{PREFIX}")

    usage = [run.usage for run in of_arm(found, arm)]
    counts = [(each.input_tokens or 0, each.output_tokens or 0) for each in usage]
    assert round(mean(each for each, _ in counts), 1) == given
    assert round(mean(each for _, each in counts), 1) == output
    assert round(mean(map(sum, counts)), 1) == total


def test_no_tool_call_at_all_was_published_and_is_not_believed(skill_benchmarks: Path) -> None:
    """`mean_tool_calls` is 0.0, of agents that read 225,373 tokens each: nobody counted them."""
    found, _ = read_all(SkillCreatorImporter(), skill_benchmarks / f"melanie531__sample-agent-skill-eval{PREFIX}")

    assert {run.tool_call_count for run in found if isinstance(run, RunRecord)} == {None}


@pytest.mark.parametrize(
    ("arm", "milliseconds", "tokens"), [("with_skill", 53849, 27261), ("without_skill", 91064, 32004)]
)
def test_times_and_totals_of_tokens_have_the_means_of_the_summary(
    skill_benchmarks: Path, arm: str, milliseconds: int, tokens: int
) -> None:
    """`configs[].summary.mean_duration_ms` and `mean_tokens`, both cut to whole numbers."""
    found, _ = read_all(SkillCreatorImporter(), skill_benchmarks / f"nedjamez__claude-skill-pencil-reader{PREFIX}")

    runs = of_arm(found, arm)
    assert int(1000 * mean(run.duration_seconds or 0 for run in runs)) == milliseconds
    assert int(mean(run.extra["total_tokens"] for run in runs)) == tokens


def test_143_of_168_and_53_of_165_dimensions_held_and_one_scenario_was_graded_unevenly(skill_benchmarks: Path) -> None:
    """The sums of `dimensions`; 17 scenarios of 9 dimensions, of which 5 and 4 were graded by 3 more."""
    found, notes = read_all(SkillCreatorImporter(), skill_benchmarks / f"taekchef__cleaver{PREFIX}")

    sums = {"with_skill": [0, 0], "without_skill": [0, 0]}
    for run in found:
        assert isinstance(run, RunRecord)
        assert run.checks is not None
        sums[run.trial.arm][0] += sum(check.passed is True for check in run.checks)
        sums[run.trial.arm][1] += len(run.checks)
    assert sums == {"with_skill": [143, 168], "without_skill": [53, 165]}
    assert list(notes.warnings) == ["'eval-animation': the arms were graded by different numbers of assertions."]


def test_every_scenario_has_the_share_that_its_author_published(skill_benchmarks: Path) -> None:
    """`scenarios.*.*.pass_rate`, to two digits or three; 17 scenarios, with and without."""
    found, _ = read_all(SkillCreatorImporter(), skill_benchmarks / f"taekchef__cleaver{PREFIX}")

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert len(runs) == 34
    for run in runs:
        assert run.checks is not None
        assert mean(check.passed is True for check in run.checks) == pytest.approx(run.extra["pass_rate"], abs=0.0051)


def test_a_file_of_sums_has_no_runs(skill_benchmarks: Path) -> None:
    found, notes = read_all(
        SkillCreatorImporter(), skill_benchmarks / f"Integral-Productivity__holacracy-claude-plugin{PREFIX}"
    )

    assert not found
    assert list(notes.facts.values()) == [0.5861, 0.5333]
    assert [each["arm"] for each in notes.aggregates] == ["with_skill", "without_skill"]
