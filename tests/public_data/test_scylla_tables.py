"""ProjectScylla's dry run: its published tables, cell by cell, from what is imported of its raw ones."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import pytest
from scipy import stats

from outweigh.adapters.importers.scylla import Scylla
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "scylla_dryrun"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


@pytest.fixture(scope="module")
def runs() -> list[RunRecord]:
    found, notes = read_all(Scylla(), DATA / "data")
    assert not notes.unreadable
    return [record for record in found if isinstance(record, RunRecord)]


@pytest.fixture(scope="module")
def judgments() -> list[Judgment]:
    found, _ = read_all(Scylla(), DATA / "data")
    return [record for record in found if isinstance(record, Judgment)]


def table(name: str) -> list[list[str]]:
    """The cells of a published table, without its header."""
    lines = [line for line in (DATA / "published_tables" / name).read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def tier(run: RunRecord) -> str:
    return run.trial.arm.split("/")[1]


def score(run: RunRecord) -> float:
    return float(run.extra["score"])


def cost(run: RunRecord) -> float:
    assert run.cost.usd is not None
    return run.cost.usd


def passed(run: RunRecord) -> bool:
    assert run.checks is not None
    return run.checks[0].passed is True


def tokens(run: RunRecord) -> tuple[int, int, int, int]:
    usage = run.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    assert None not in counts
    return counts  # type: ignore[return-value]


def test_the_folder_is_recognised() -> None:
    assert Scylla().recognises(DATA / "data")


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


def test_table_2b_differences_of_the_implementation_rate(runs: list[RunRecord]) -> None:
    rate = [float(run.extra["impl_rate"]) for run in runs]
    steps = [later - earlier for earlier, later in pairwise(rate)]

    published = [row[3] for row in table("tab02b_impl_rate_comparison.md")]

    assert [f"{step:+.3f}" for step in (*steps, rate[-1] - rate[0])] == published


def test_table_3_judge_agreement(judgments: list[Judgment]) -> None:
    models = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5")
    totals = [[judgment.stated_total for judgment in judgments if judgment.judge.model == model] for model in models]

    def agreement(one: Sequence[Any], other: Sequence[Any]) -> list[str]:
        gap = fmean(abs(a - b) for a, b in zip(one, other, strict=True))
        return [f"{stats.spearmanr(one, other)[0]:.3f}", f"{stats.pearsonr(one, other)[0]:.3f}", f"{gap:.4f}"]

    pairs = [agreement(totals[a], totals[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert pairs == [row[1:] for row in table("tab03_judge_agreement.md")[:3]]


def test_table_4_criteria(judgments: list[Judgment]) -> None:
    for name, _, shown, *_ in table("tab04_criteria_performance.md"):
        scores = [part.score for judgment in judgments for part in judgment.criteria if part.criterion == name]
        known = [value for value in scores if value is not None]
        mean, deviation = (float(figure) for figure in shown.split(" ± "))

        assert len(known) == 21
        # The project rounded each score before; here it is the share of the points.
        assert [fmean(known), stdev(known)] == pytest.approx([mean, deviation], abs=1e-3)


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

    assert rows == [row[:-1] for row in table("tab07_subtest_detail.md")]


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
