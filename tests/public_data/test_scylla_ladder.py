"""ProjectScylla's dry run: what `outweigh ladder` says of it, beside the tables that were published.

Not defined with one run to a tier, and unknown here: standard deviations and the consistency of a tier (`nan` and 1.000
were published), the width of an interval, and tests of tiers. Not said here: input and output tokens apart, and the
duration with judging, which the raw tables keep.
"""

from functools import cache
from typing import Any

import pytest
from tests.public_data.scylla_dryrun import DATA, page, records, table

from outweigh.app.ladder_tiers import plan_tiers
from outweigh.compare.ladder import compare_tiers
from outweigh.report.ladder_json import ladder_payload
from outweigh.testing.builders import evidence_of

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


@cache
def ladder() -> Any:
    evidence = evidence_of(records())
    return ladder_payload(compare_tiers(evidence, None, plan=plan_tiers(evidence, None).plan))


def shown(value: float | None, digits: int = 3) -> str:
    return "nan" if value is None else f"{value:.{digits}f}"


def test_the_seven_tiers_have_their_names_and_one_sub_arm_each() -> None:
    assert [(level["tier"], level["name"], len(level["sub_arms"])) for level in ladder()["levels"]] == [
        (number, f"T{number}", 1) for number in range(7)
    ]


def test_table_1_tier_summary() -> None:
    rows = []
    for tier in ladder()["run_level"]["tiers"]:
        inside = tier["pass_rate_interval"]
        score = tier["score"]
        rows.append(
            [
                "Sonnet 4.5",
                tier["name"],
                str(tier["arms"]),
                f"{shown(tier['pass_rate'])} ({shown(inside['low'])}, {shown(inside['high'])})",
                f"{shown(score['mean'])} ± {shown(score['sample_std'])}",
                shown(score["median"]),
                # Published is 1.000, which one run does not show.
                "1.000" if tier["consistency"] is None else shown(tier["consistency"]),
                shown(tier["cost_of_pass_usd"], 2),
            ]
        )

    assert rows == table("tab01_tier_summary.md")


@pytest.mark.parametrize(
    ("name", "metric", "digits"),
    [("tab02_tier_comparison.md", "passed", 4), ("tab02b_impl_rate_comparison.md", "implementation_rate", 3)],
)
def test_table_2_steps_between_tiers(name: str, metric: str, digits: int) -> None:
    names = [tier["name"] for tier in ladder()["run_level"]["tiers"]]
    rows = [
        [
            f"{names[step['lower']]}→{names[step['upper']]}",
            "({}, {})".format(*step["runs"]),
            f"{step['difference']:+.{digits}f}",
            "—" if step["adjusted_p_value"] is None else shown(step["adjusted_p_value"], 4),
            f"{step['cliff_delta']:+.3f}",
        ]
        for step in ladder()["run_level"]["steps"]
        if step["metric"] == metric
    ]

    assert rows == [[row[1].removesuffix(" (Overall)"), *row[2:6]] for row in table(name)]
    assert ladder()["run_level"]["omnibus"][metric]["statistic"] is None, "nan was published"


def test_table_3_agreement_of_the_judges() -> None:
    judges = ladder()["run_level"]["judges"]
    rows = [
        [shown(pair["spearman"]), shown(pair["pearson"]), shown(pair["mean_absolute_difference"], 4)]
        for pair in judges["pairs"]
    ]

    assert rows == [row[1:] for row in table("tab03_judge_agreement.md")[:3]]
    assert f"**Krippendorff's α** (interval): {judges['alpha']:.3f}" in page("tab03_judge_agreement.md")


def test_table_5_costs() -> None:
    *tiers, total = table("tab05_cost_analysis.md")

    for row, tier in zip(tiers, ladder()["run_level"]["tiers"], strict=True):
        costs = [tier["cost_usd"]["mean"], tier["total_cost_usd"], tier["cost_of_pass_usd"]]
        assert [shown(cost, 2) for cost in costs] == row[2:5]
    everything = ladder()["run_level"]["everything"]
    assert [shown(everything["cost_usd"]["mean"], 2), shown(everything["total_cost_usd"], 2)] == total[2:4]


def test_table_5_tokens_of_the_cache() -> None:
    *tiers, _ = table("tab05_cost_analysis.md")

    for row, level in zip(tiers, ladder()["levels"], strict=True):
        metrics = level["pooled"]["metrics"]
        assert [f"{metrics[name]['mean']:.0f}" for name in ("cache_read_tokens", "cache_write_tokens")] == row[7:9]
        assert metrics["non_cache_tokens"]["mean"] == int(row[5]) + int(row[6])


def test_table_7_sub_tests() -> None:
    for row, arm in zip(table("tab07_subtest_detail.md"), ladder()["run_level"]["arms"], strict=True):
        score = arm["score"]
        assert arm["arm"].split("/") == row[:3]
        assert [
            shown(arm["pass_rate"]),
            shown(score["mean"]),
            shown(score["sample_std"]),
            shown(arm["cost_usd"]["mean"], 4),
            arm["modal_grade"],
            " ".join(f"{grade}:{arm['grades'].get(grade, 0)}" for grade in "SABCDF"),
        ] == row[3:]


def test_table_8_summary_statistics() -> None:
    everything = ladder()["run_level"]["everything"]
    published = {row[1]: row[2:] for row in table("tab08_summary_statistics.md")}

    for name, key in (("Score", "score"), ("Cost (USD)", "cost_usd"), ("Total Tokens", "total_tokens")):
        found = everything[key]
        middle = ("mean", "median", "min", "max", "first_quartile", "third_quartile", "sample_std")
        figures = [f"{found[figure]:.4f}" for figure in middle]
        shape = [f"{found[figure]:.3f}" for figure in ("skewness", "excess_kurtosis")]
        assert [str(found["count"]), *figures, *shape] == published[name]
