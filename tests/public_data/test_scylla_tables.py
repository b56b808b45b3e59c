"""ProjectScylla's dry run: its published tables, cell by cell, from what is imported of its raw ones."""

from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.public_data.scylla_dryrun import (
    DATA,
    JUDGES,
    all_judgments,
    all_runs,
    cost,
    page,
    passed,
    score,
    table,
    tier,
    tokens,
)

from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.stats.agreement import MeasurementScale, krippendorff_alpha

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


@pytest.fixture
def runs() -> list[RunRecord]:
    return all_runs()


@pytest.fixture
def judgments() -> list[Judgment]:
    return all_judgments()


def test_the_folder_is_recognised() -> None:
    assert ScyllaImporter().recognises(DATA / "data")


def test_table_1_tier_summary(runs: list[RunRecord]) -> None:
    computed = [
        [
            "Sonnet 4.5",
            tier(run),
            "1",
            f"{passed(run):.3f} (1.000, 1.000)",
            f"{score(run):.3f} ± nan",
            f"{score(run):.3f}",
            "1.000",
            f"{cost(run):.2f}",
        ]
        for run in runs
    ]

    assert computed == table("tab01_tier_summary.md")


def test_table_3_judge_agreement(judgments: list[Judgment]) -> None:
    totals = [[judgment.stated_total for judgment in judgments if judgment.judge.model == model] for model in JUDGES]

    def agreement(one: Sequence[Any], other: Sequence[Any]) -> list[str]:
        gap = fmean(abs(a - b) for a, b in zip(one, other, strict=True))
        return [f"{stats.spearmanr(one, other)[0]:.3f}", f"{stats.pearsonr(one, other)[0]:.3f}", f"{gap:.4f}"]

    pairs = [agreement(totals[a], totals[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    alpha = krippendorff_alpha(totals, ["only"] * len(totals[0]), scale=MeasurementScale.INTERVAL, level=0.9)
    assert pairs == [row[1:] for row in table("tab03_judge_agreement.md")[:3]]
    assert f"**Krippendorff's α** (interval): {alpha.point:.3f}" in page("tab03_judge_agreement.md")


def test_table_4_criteria(judgments: list[Judgment]) -> None:
    for name, _, shown, *_ in table("tab04_criteria_performance.md"):
        scores = [part.score for judgment in judgments for part in judgment.criteria if part.criterion == name]
        known = [value for value in scores if value is not None]
        mean, deviation = (float(figure) for figure in shown.split(" ± "))

        assert len(known) == 21
        # The project rounded each score before; here it is the share of the points.
        assert [fmean(known), stdev(known)] == pytest.approx([mean, deviation], abs=1e-3)


def test_the_weights_of_table_4_are_not_those_of_the_points(judgments: list[Judgment]) -> None:
    """Published are the rubric's weights, which no raw table has; a score is made of points, which weigh otherwise."""
    points = {part.criterion: part.weight for part in judgments[0].criteria}
    shares = {criterion: f"{most / sum(points.values()):.2f}" for criterion, most in points.items()}

    assert {row[0]: row[1] for row in table("tab04_criteria_performance.md")} == {
        "functional": "0.35",
        "code_quality": "0.20",
        "proportionality": "0.15",
        "build_pipeline": "0.10",
        "overall_quality": "0.20",
    }
    assert shares == {
        "functional": "0.27",
        "code_quality": "0.23",
        "proportionality": "0.27",
        "build_pipeline": "0.08",
        "overall_quality": "0.15",
    }


def test_table_5_cost_and_tokens(runs: list[RunRecord]) -> None:
    rows = [
        ["Sonnet 4.5", tier(run), *[f"{cost(run):.2f}"] * 3, *(str(count) for count in tokens(run))] for run in runs
    ]
    total = sum(map(cost, runs))
    sums = [str(sum(counts)) for counts in zip(*map(tokens, runs), strict=True)]
    rows.append(["Sonnet 4.5", "**Total**", f"{total / len(runs):.2f}", f"{total:.2f}", "nan", *sums])

    assert rows == table("tab05_cost_analysis.md")


def test_table_7_every_subtest(runs: list[RunRecord]) -> None:
    rows = [
        [*run.trial.arm.split("/"), f"{passed(run):.3f}", f"{score(run):.3f}", "nan", f"{cost(run):.4f}", "A"]
        for run in runs
    ]

    grades = [" ".join(f"{grade}:{int(grade == run.extra['grade'])}" for grade in "SABCDF") for run in runs]
    published = table("tab07_subtest_detail.md")
    assert rows == [row[:-1] for row in published]
    assert grades == [row[-1] for row in published]


def test_table_8_summary_statistics(runs: list[RunRecord]) -> None:
    metrics: dict[str, Callable[[RunRecord], float]] = {
        "Score": score,
        "Cost (USD)": cost,
        "Duration (s)": lambda run: float(run.extra["duration_seconds"]),
        "Total Tokens": lambda run: float(sum(tokens(run))),
    }
    for _, name, size, *shown in table("tab08_summary_statistics.md"):
        values = [metrics[name](run) for run in runs]
        quarters = np.percentile(values, [25, 75])
        figures = [fmean(values), median(values), min(values), max(values), *quarters, stdev(values)]

        assert len(values) == int(size)
        assert [f"{figure:.4f}" for figure in figures] == shown[:7], name
        skew, excess = stats.skew(values), stats.kurtosis(values)
        assert [f"{skew:.3f}", f"{excess:.3f}"] == shown[7:], name
