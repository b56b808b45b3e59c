"""The metrics of a run: what each is called, which direction is better, and the name of its delta."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """`name` is a field of Score or a composite; `better` is +1, −1, or 0 where neither way is."""

    name: str
    delta: str
    better: int


METRICS = (
    Metric(name="passed", delta="pass_delta", better=+1),
    Metric(name="objective", delta="objective_delta", better=+1),
    Metric(name="checks_passed", delta="checks_passed_delta", better=+1),
    Metric(name="judge_score", delta="judge_score_delta", better=+1),
    Metric(name="composite", delta="composite_delta", better=+1),
    Metric(name="composite_even", delta="composite_even_delta", better=+1),
    Metric(name="cost_usd", delta="cost_delta_usd", better=-1),
    Metric(name="cache_normalised_cost_usd", delta="cache_normalised_cost_delta_usd", better=-1),
    Metric(name="duration_seconds", delta="duration_delta_seconds", better=-1),
    Metric(name="total_tokens", delta="token_delta", better=-1),
    Metric(name="non_cache_tokens", delta="non_cache_token_delta", better=-1),
    Metric(name="cache_read_tokens", delta="cache_read_token_delta", better=0),
    Metric(name="cache_write_tokens", delta="cache_write_token_delta", better=0),
    Metric(name="cache_read_share", delta="cache_read_share_delta", better=0),
    Metric(name="steps", delta="step_delta", better=-1),
    Metric(name="tool_calls", delta="tool_call_delta", better=-1),
    Metric(name="check_commands", delta="check_command_delta", better=0),
    Metric(name="r_prog", delta="r_prog_delta", better=+1),
    Metric(name="strategic_drift", delta="strategic_drift_delta", better=-1),
    Metric(name="edit_fail_rate", delta="edit_fail_rate_delta", better=-1),
    Metric(name="skill_used", delta="skill_used_delta", better=0),
    Metric(name="schema_overhead", delta="schema_overhead_delta", better=-1),
    Metric(name="skill_efficiency", delta="skill_efficiency_delta", better=+1),
    Metric(name="token_efficiency_ratio", delta="token_efficiency_ratio_delta", better=-1),
)
COMPOSITE_METRICS = ("composite", "composite_even")
"""Metrics that are not a field of Score, because they depend on what the run is compared with."""
