import csv
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.model.codec import decode_lines, refuse_invalid

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
METRICS = "passed objective judge_score composite cost_usd duration_seconds total_tokens non_cache_tokens"
DESCRIBED = {"median", "mean", "mode", "min", "max", "population_std", "sample_std", "count", "unknown"}


@pytest.fixture
def comparison(outweigh: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = outweigh("compare", EXAMPLE, *ARMS, "--format", "json").json()
    return parsed


def test_the_comparison_has_every_promised_key(comparison: dict[str, Any]) -> None:
    assert comparison["schema"] == "outweigh.comparison/1"
    top = "baseline candidate evidence_sha256 warnings arms pairs deltas ratios tests"
    assert comparison.keys() >= set(top.split())
    arm = comparison["arms"]["T1-skill"]
    promised = (
        "runs excluded successes pass_rate pass_rate_interval total_cost_usd mean_cost_usd median_cost_usd "
        "median_duration_seconds median_total_tokens median_non_cache_tokens solved_per_dollar cost_of_pass_usd "
        "never_passes pass_at_k pass_hat_k metrics grade"
    )
    assert arm.keys() >= set(promised.split())
    assert arm["metrics"].keys() >= set(METRICS.split())
    assert all(block.keys() == DESCRIBED for block in arm["metrics"].values())
    assert sorted(arm["pass_at_k"]) == ["1", "2", "3", "4", "5"]


def test_every_delta_has_its_figures(comparison: dict[str, Any]) -> None:
    promised = (
        "pass_delta cost_delta_usd duration_delta_seconds token_delta non_cache_token_delta composite_delta "
        "cache_read_token_delta cache_write_token_delta step_delta tool_call_delta check_command_delta"
    )

    assert comparison["deltas"].keys() >= set(promised.split())
    for delta in comparison["deltas"].values():
        assert delta.keys() >= {"n", "mean", "median", "task_mean", "interval"}


def test_the_exported_table_has_every_metric_that_compare_has_of_a_single_run(
    outweigh: Any, comparison: dict[str, Any], tmp_path: Path
) -> None:
    outweigh("store", "export", EXAMPLE, "-o", str(tmp_path / "runs.csv"))

    columns = set((tmp_path / "runs.csv").read_text().splitlines()[0].split(","))
    assert comparison["arms"]["T1-skill"]["metrics"].keys() - columns == {"composite"}


def test_the_cells_of_the_paired_table_are_there(comparison: dict[str, Any]) -> None:
    table = comparison["tests"]["mcnemar"]

    assert table["both"] + table["only_baseline"] + table["only_candidate"] + table["neither"] == 30
    assert (table["unit"], comparison["pairs"]) == ("pair", {"tasks": 6, "paired": 30, "unpaired": []})


def test_an_arm_that_never_passes_says_so_instead_of_infinity(outweigh: Any, collected: Any) -> None:
    path = collected(
        [{"task_id": "t", "arm": arm, "repeat": 1, "success": arm == "a", "total_cost_usd": 1} for arm in "ab"]
    )

    answer = outweigh("compare", path, "--baseline", "a", "--candidate", "b", "--format", "json").json()

    assert (answer["arms"]["b"]["cost_of_pass_usd"], answer["arms"]["b"]["never_passes"]) == (None, True)
    assert any("never passes" in warning for warning in answer["warnings"])


def test_a_null_has_its_reason_among_the_warnings(outweigh: Any, collected: Any) -> None:
    path = collected([{"task_id": "t", "arm": arm, "repeat": 1, "success": True} for arm in "ab"])

    warnings = outweigh("compare", path, "--baseline", "a", "--candidate", "b", "--format", "json").json()["warnings"]

    assert "a: solved_per_dollar is null: the cost of every run is unknown." in warnings
    assert any(
        w.startswith("b: total_tokens is unknown for 1 of 1 runs: input_tokens is not reported") for w in warnings
    )


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_people_see_both_arms_the_deltas_and_which_way_is_better(outweigh: Any, style: str) -> None:
    answer = outweigh("compare", EXAMPLE, *ARMS, "--format", style)

    assert answer.code == 0
    for expected in ("T0-plain", "63 %", "77 %", "+13 points", "better", "worse"):
        assert expected in answer.out


def test_changes_give_an_arm_its_failure_and_revert_rates(outweigh: Any, tmp_path: Path) -> None:
    changes = tmp_path / "changes.jsonl"
    changes.write_text(
        '{"id": "1", "arm": "T1-skill", "failed": true, "reverted": false}\n'
        '{"id": "2", "arm": "T1-skill", "failed": false, "reverted": false}\n'
    )

    arms = outweigh("compare", EXAMPLE, *ARMS, "--changes", str(changes), "--format", "json").json()["arms"]

    assert (arms["T1-skill"]["change_fail_percentage"], arms["T1-skill"]["pr_revert_rate"]) == (0.5, 0.0)
    assert arms["T0-plain"]["change_fail_percentage"] is None


def test_prices_of_ones_own_give_a_cost_to_runs_that_have_none(outweigh: Any, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('name = "mine"\n[models.tiny]\ninput_usd_per_million = 2.0\noutput_usd_per_million = 4.0\n')
    line = Path(EXAMPLE).read_bytes().splitlines()[0]
    raw = msgspec.json.decode(line)
    raw["cost"] = {"usd": None, "provenance": "unknown", "price_table": None}
    raw["agent"]["model"] = "tiny"
    raw["usage"] = {"input_tokens": 1000, "output_tokens": 500, "cache_read_tokens": 0, "cache_write_tokens": 0}
    twin = msgspec.json.decode(msgspec.json.encode(raw))
    twin["trial"]["arm"] = "other"
    twin["run_id"] = "other"
    records = tmp_path / "runs.jsonl"
    records.write_bytes(msgspec.json.encode(raw) + b"\n" + msgspec.json.encode(twin) + b"\n")
    arm = raw["trial"]["arm"]

    arms = outweigh(
        "compare", str(records), "--baseline", arm, "--candidate", "other", "--prices", str(prices), "--format", "json"
    ).json()["arms"]

    assert arms["other"]["total_cost_usd"] == pytest.approx(0.004)


def test_the_ladder_has_every_promised_key(outweigh: Any) -> None:
    ladder = outweigh("ladder", EXAMPLE, "--format", "json").json()

    assert (ladder["schema"], ladder["first"], ladder["best_value"]) == ("outweigh.ladder/1", "T0-plain", "T0-plain")
    promised = (
        "arm tier runs pass_rate median_pass composite_median composite_mean grade median_cost_usd mean_cost_usd "
        "cost_of_pass_usd uplift uplift_of_mean"
    )
    assert all(tier.keys() >= set(promised.split()) for tier in ladder["tiers"])
    spread = "pass_rate_variance cost_variance cost_range"
    assert ladder.keys() >= {f"{name}{suffix}" for name in spread.split() for suffix in ("", "_of_means")}
    assert ladder["frontier"] == ["T0-plain", "T1-skill"]


def test_grades_follow_the_scale_asked_for(outweigh: Any) -> None:
    tiers = outweigh("ladder", EXAMPLE, "--grades", "s_scale", "--format", "json").json()["tiers"]

    assert [tier["grade"] for tier in tiers] == ["A", "A", "A"]


def test_an_export_holds_every_record_and_gives_the_same_evidence(outweigh: Any, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"

    assert outweigh("store", "export", EXAMPLE, "-o", str(copy)).code == 0

    with copy.open("rb") as stream:
        assert len(list(decode_lines(stream, "copy", refuse_invalid))) == 180
    one, other = (outweigh("compare", path, *ARMS, "--format", "json").out for path in (EXAMPLE, str(copy)))
    assert one == other


def test_a_csv_has_one_row_per_run_and_empty_cells_for_unknowns(outweigh: Any, collected: Any, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    path = collected([{"task_id": 'a,"b"', "arm": "x", "repeat": 1, "success": False, "input_tokens": 0}])

    outweigh("store", "export", path, "-o", str(table))

    with table.open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["task_id"], row["passed"], row["cost_usd"], row["total_tokens"]) == ('a,"b"', "0", "", "")


def test_the_comparison_has_the_net_gain_and_wilcoxons_test(outweigh: Any) -> None:
    arms = ("--baseline", "T0-plain", "--candidate", "T1-skill", "--format", "json")
    comparison, verdict = outweigh("compare", EXAMPLE, *arms).json(), outweigh("verdict", EXAMPLE, *arms).json()

    # The mean over tasks, times the number of tasks: each delta is rounded before it is added.
    deltas = comparison["deltas"]["composite_delta"]
    assert comparison["net_gain"] == pytest.approx(deltas["task_mean"] * 6, abs=1e-5)
    assert verdict["net_gain"] == comparison["net_gain"]
    assert comparison["tests"]["wilcoxon"]["method"] == "Wilcoxon signed-rank, exact"
    assert 0 < comparison["tests"]["wilcoxon"]["p_value"] <= 1


def test_exported_runs_have_their_cost_of_a_pass_and_their_composite(outweigh: Any, tmp_path: Path) -> None:
    outweigh("store", "export", EXAMPLE, "-o", str(tmp_path / "runs.csv"))
    with (tmp_path / "runs.csv").open() as stream:
        rows = list(csv.DictReader(stream))

    for row in rows:
        cost, passed = float(row["cost_usd"]), float(row["passed"])
        assert float(row["cost_of_pass_usd"]) == (cost if passed else math.inf)
        expected = (passed + float(row["judge_score"])) / 2
        assert float(row["composite_even"]) == pytest.approx(expected)
