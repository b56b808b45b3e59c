"""ProjectScylla's dry run: its comparisons of tiers and models, and its summaries, from what is imported.

Seven runs, one of each tier, cannot show much, and several figures stand for nothing. Where one cannot be had from the
data, the test says what was published, what comes out here, and why they differ.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import msgspec
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

from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import judgment_score
from outweigh.stats.estimate import Unit
from outweigh.stats.proportions import cliff_delta
from outweigh.stats.sample import describe

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


@pytest.fixture
def runs() -> list[RunRecord]:
    return all_runs()


@pytest.fixture
def judgments() -> list[Judgment]:
    return all_judgments()


def impl_rate(run: RunRecord) -> float:
    return float(run.extra["impl_rate"])


def transitions(runs: list[RunRecord]) -> list[tuple[RunRecord, RunRecord]]:
    """Each tier and the next, and the first and the last."""
    return [*pairwise(runs), (runs[0], runs[-1])]


def comparison(runs: list[RunRecord], metric: Callable[[RunRecord], float], digits: int) -> list[list[str]]:
    """Rows of table 2: who, how many, the difference, no p-value, Cliff's delta."""
    rows = []
    for earlier, later in transitions(runs):
        delta = cliff_delta([metric(later)], [metric(earlier)], level=0.9, unit=Unit.RUN).point
        change = metric(later) - metric(earlier)
        rows.append(
            [
                "Sonnet 4.5",
                f"{tier(earlier)}→{tier(later)}",
                "(1, 1)",
                f"{change:+.{digits}f}",
                "—",
                f"{delta:+.3f}",
                "N/A (omnibus n.s.)",
            ]
        )
    return rows


def test_table_2_compares_tiers_by_a_pass_rate_that_is_the_same_in_all(runs: list[RunRecord]) -> None:
    assert comparison(runs, passed, 4) == table("tab02_tier_comparison.md")


def test_table_2b_compares_them_by_implementation_rate(runs: list[RunRecord]) -> None:
    published = table("tab02b_impl_rate_comparison.md")

    assert [[cell.removesuffix(" (Overall)") for cell in row] for row in published] == comparison(runs, impl_rate, 3)
    assert published[-1][1] == "T0→T6 (Overall)"


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_the_omnibus_test_of_table_2_divides_nothing_by_nothing(runs: list[RunRecord]) -> None:
    """All runs passed: there are no ranks to be different. Seven tiers give six degrees of freedom."""
    found = stats.kruskal(*([float(passed(run))] for run in runs))

    published = f"H({len(runs) - 1})={found.statistic}, p={found.pvalue} ✗ (skip pairwise)"
    assert published == "H(6)=nan, p=nan ✗ (skip pairwise)"
    assert f"- Sonnet 4.5: {published}" in page("tab02_tier_comparison.md")


def test_the_omnibus_test_of_table_2b_has_a_value_that_was_not_published(runs: list[RunRecord]) -> None:
    """Published is `nan`: the project does not test groups of one. The formula gives 6, as it does for any seven values
    in groups of one (H is then always N - 1), so it says as little."""
    found = stats.kruskal(*([impl_rate(run)] for run in runs))

    assert "- Sonnet 4.5: H(6)=nan, p=nan ✗ (skip pairwise)" in page("tab02b_impl_rate_comparison.md")
    assert (f"{found.statistic:.3f}", f"{found.pvalue:.3f}") == ("6.000", "0.423")


def test_table_6_wants_two_models_and_there_is_one(runs: list[RunRecord]) -> None:
    assert {run.agent.model for run in runs} == {"Sonnet 4.5"}
    assert page("tab06_model_comparison.md").splitlines()[-1] == "Error: Need at least 2 models"


def test_table_9_tells_the_experiment_and_leaves_out_its_judges(
    runs: list[RunRecord], judgments: list[Judgment]
) -> None:
    """Published is `N/A` for the judges: the table is made of `runs.csv`, which has no column for the three."""
    (published,) = table("tab09_experiment_config.md")
    (experiment,) = {run.trial.task_id for run in runs}
    subtests = Counter(tier(run) for run in runs)
    repeats = Counter(run.trial.arm for run in runs)

    assert published == [
        experiment,
        "Sonnet 4.5",
        str(len(subtests)),
        ", ".join(subtests),
        str(max(subtests.values())),
        str(max(repeats.values())),
        str(len(runs)),
        "N/A",
    ]
    assert tuple(dict.fromkeys(judgment.judge.model for judgment in judgments)) == JUDGES


def test_a_consistency_of_1_was_published_where_one_run_shows_none(runs: list[RunRecord]) -> None:
    """One less the coefficient of variation, cut to 0 and 1: of `nan` the cutting makes 1. Here it is unknown."""
    assert [row[6] for row in table("tab01_tier_summary.md")] == ["1.000"] * 7
    assert max(0.0, min(1.0, float("nan"))) == 1.0
    for run in runs:
        assert describe([score(run)]).sample_std is None


def test_a_score_is_the_mean_of_what_judges_stated_and_an_implementation_rate_the_median_of_their_points(
    runs: list[RunRecord], judgments: list[Judgment]
) -> None:
    for run in runs:
        own = [judgment for judgment in judgments if judgment.run_id == run.run_id]
        points = [value for value in (judgment_score(each).value for each in own) if value is not None]
        stated = [each.stated_total for each in own if each.stated_total is not None]

        assert (len(points), len(stated)) == (3, 3)
        assert fmean(stated) == pytest.approx(score(run))
        assert median(points) == pytest.approx(impl_rate(run))


def summary() -> Any:
    """`summary.json`, which has NaN in it."""
    return msgspec.json.decode((DATA / "data" / "summary.json").read_bytes().replace(b"NaN", b"null"))


def test_the_summary_counts_and_adds_up_what_is_imported(runs: list[RunRecord], judgments: list[Judgment]) -> None:
    published = summary()
    (model,) = published["by_model"].values()

    assert published["total_runs"] == len(runs) == 7
    assert published["total_judge_evaluations"] == len(judgments) == 21
    assert published["total_criteria_scores"] == sum(len(judgment.criteria) for judgment in judgments) == 105
    assert published["overall_stats"] == pytest.approx(
        {
            "pass_rate": fmean(map(passed, runs)),
            "mean_score": fmean(map(score, runs)),
            "mean_impl_rate": fmean(map(impl_rate, runs)),
            "median_impl_rate": median(map(impl_rate, runs)),
            "total_cost": sum(map(cost, runs)),
            "mean_cost_per_run": fmean(map(cost, runs)),
        }
    )
    assert model["total_tokens"] == sum(sum(tokens(run)) for run in runs) == 1_000_213
    assert model["frontier_cop"] == min(map(cost, runs)) == 0.06531415


def test_the_summary_has_seven_subtests_and_two(runs: list[RunRecord]) -> None:
    """Each tier has one of its own; told apart without their tiers, as by model, only `00` and `01` are left."""
    published = summary()

    assert published["total_subtests"] == len({run.trial.arm for run in runs}) == 7
    assert published["by_model"]["Sonnet 4.5"]["n_subtests"] == 2
    assert {run.trial.arm.split("/")[2] for run in runs} == {"00", "01"}


def test_the_rank_correlations_are_those_that_were_published(runs: list[RunRecord]) -> None:
    metrics: dict[str, Callable[[RunRecord], float]] = {
        "score": score,
        "impl_rate": impl_rate,
        "cost_usd": cost,
        "total_tokens": lambda run: float(sum(tokens(run))),
        "duration_seconds": lambda run: float(run.extra["duration_seconds"]),
    }
    results = (DATA / "data" / "statistical_results.json").read_bytes().replace(b"NaN", b"null")
    published = msgspec.json.decode(results)["correlations"]

    assert len(published) == 7
    for row in published:
        found = stats.spearmanr(*([metrics[row[side]](run) for run in runs] for side in ("metric1", "metric2")))
        assert found.statistic == pytest.approx(row["spearman_rho"])
        assert found.pvalue == pytest.approx(row["p_value"])
