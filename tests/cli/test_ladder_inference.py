"""What `outweigh ladder` says about how sure it is, as a script reads it."""

from typing import Any

EXAMPLE = "examples/recorded/runs.jsonl"


def test_the_json_has_tests_standings_and_contenders(outweigh: Any) -> None:
    ladder = outweigh("ladder", EXAMPLE, "--format", "json").json()

    assert ladder["omnibus"]["friedman"]["n"] >= 2
    assert [step["reference"] for step in ladder["steps"]] == [0, 1]
    assert [contrast["reference"] for contrast in ladder["against_first"]] == [0, 0]
    step = ladder["steps"][0]
    assert step["simultaneous_interval"]["low"] < step["difference"] < step["simultaneous_interval"]["high"]
    assert step.keys() >= {"adjusted_p_value", "holm_p_value", "wilcoxon", "price_of_one_more_pass_usd"}
    assert ladder["best_value"] == ladder["best_values"][0]
    assert set(ladder["frontier"]) <= set(ladder["possible_frontier"])
    for level in ladder["levels"]:
        assert level["standing"]["rank_interval"][0] >= 1
        assert abs(sum(level["standing"]["chance_of_grade"].values()) - 1) < 1e-9
        for figure in level["figures"].values():
            assert figure["interval"] is not None or figure["notes"]
    assert ladder["levels"][1]["sub_arms"][0]["difference_to_baseline"]["interval"] is not None
