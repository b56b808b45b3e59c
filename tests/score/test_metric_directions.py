from outweigh.score.metrics import METRICS


def test_more_quality_and_less_use_are_better_and_of_the_rest_nobody_says_so() -> None:
    directions = {
        direction: {metric.name for metric in METRICS if metric.better == direction} for direction in (+1, -1, 0)
    }

    assert directions == {
        +1: {
            "passed",
            "objective",
            "checks_passed",
            "judge_score",
            "composite",
            "composite_even",
            "r_prog",
            "skill_efficiency",
        },
        -1: {
            "cost_usd",
            "cache_normalised_cost_usd",
            "duration_seconds",
            "total_tokens",
            "non_cache_tokens",
            "steps",
            "tool_calls",
            "strategic_drift",
            "edit_fail_rate",
            "schema_overhead",
            "token_efficiency_ratio",
        },
        0: {"cache_read_tokens", "cache_write_tokens", "cache_read_share", "check_commands", "skill_used"},
    }
