import pytest

from outweigh.model.pricing import ModelPrices
from outweigh.model.run_record import AlignedAction, Milestone
from outweigh.model.usage import NO_USAGE, Component, ComponentTokens, Usage
from outweigh.score.objective import Change, change_fail_percentage, pr_revert_rate, progress, r_prog, strategic_drift
from outweigh.score.resource_usage import (
    component_breakdown,
    non_cache_tokens,
    schema_overhead,
    skill_efficiency,
    token_efficiency_ratio,
    total_tokens,
)

PRICES = ModelPrices(input_usd_per_million=3.0, output_usd_per_million=15.0)


def line(component: Component, input_tokens: int, output_tokens: int = 0) -> ComponentTokens:
    return ComponentTokens(component=component, input_tokens=input_tokens, output_tokens=output_tokens)


def change(failed: bool, reverted: bool) -> Change:
    return Change(id="c", arm="a", failed=failed, reverted=reverted)


def test_tokens_are_summed_with_and_without_the_cache() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=4, cache_write_tokens=8)

    assert total_tokens(usage).value == 15
    assert non_cache_tokens(usage).value == 3


def test_one_unknown_part_makes_the_sum_unknown() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=None, cache_write_tokens=8)

    assert total_tokens(usage).reason == "cache_read_tokens is not reported"
    assert non_cache_tokens(usage).value == 3
    assert non_cache_tokens(NO_USAGE).value is None


def test_progress_is_the_achieved_weight_over_the_expected() -> None:
    steps = (Milestone(name="a", weight=1, achieved=True), Milestone(name="b", weight=3, achieved=False))

    assert r_prog(steps).value == 0.25
    assert progress(achieved=3, expected=2).value == 1.0


@pytest.mark.parametrize("steps", [None, (), (Milestone(name="a", weight=0, achieved=True),)])
def test_without_expected_steps_there_is_no_progress_to_report(steps: tuple[Milestone, ...] | None) -> None:
    assert r_prog(steps).value is None


def test_drift_is_what_is_missing_from_full_alignment() -> None:
    actions = (AlignedAction(name="a", alignment=1.0, weight=1), AlignedAction(name="b", alignment=0.0, weight=3))

    assert strategic_drift(actions).value == 0.75
    assert strategic_drift(()).value is strategic_drift(None).value is None


def test_schemas_are_weighed_against_skill_and_expertise() -> None:
    ledger = (
        line(Component.SKILL_PROMPT, 150),
        line(Component.DOMAIN_EXPERTISE, 50),
        line(Component.TOOL_SCHEMA, 600),
        line(Component.TOOL_SCHEMA, 200),
    )

    assert schema_overhead(ledger).value == 800
    assert skill_efficiency(ledger).value == 0.2
    assert token_efficiency_ratio(ledger).value == 4.0


def test_efficiency_without_its_denominator_is_unknown() -> None:
    assert skill_efficiency((line(Component.TOOL_CALL, 9),)).value is None
    assert token_efficiency_ratio((line(Component.TOOL_SCHEMA, 9),)).value is None
    assert schema_overhead(None).value is skill_efficiency(None).value is token_efficiency_ratio(None).value is None
    assert schema_overhead(()).value == 0


def test_the_breakdown_shares_tokens_and_dollars_separately() -> None:
    ledger = (line(Component.TOOL_SCHEMA, 750), line(Component.TOOL_CALL, 0, 250))

    schema, call = component_breakdown(ledger, PRICES)

    assert (schema.component, schema.tokens, schema.token_share.value) == (Component.TOOL_SCHEMA, 750, 0.75)
    assert schema.cost_share.value == pytest.approx(750 * 3 / (750 * 3 + 250 * 15))
    assert call.cost_usd.value == pytest.approx(250 * 15e-6)


def test_an_empty_bill_has_no_shares() -> None:
    (row,) = component_breakdown((line(Component.MONITOR, 0),), PRICES)

    assert row.token_share.value is row.cost_share.value is None


def test_without_prices_or_a_ledger_there_are_tokens_only_or_nothing() -> None:
    (row,) = component_breakdown((line(Component.MONITOR, 5),), None)

    assert (row.tokens, row.cost_usd.value, row.cost_share.value) == (5, None, None)
    assert component_breakdown(None, PRICES) == ()


def test_changes_fail_and_are_reverted_at_a_rate_or_are_unknown() -> None:
    changes = [change(True, False), change(False, False), change(False, True), change(True, False)]

    assert change_fail_percentage(changes).value == 0.5
    assert pr_revert_rate(changes).value == 0.25
    assert change_fail_percentage([]).value is pr_revert_rate([]).value is None


def test_actions_without_any_weight_have_no_drift() -> None:
    assert strategic_drift((AlignedAction(name="a", alignment=0.5, weight=0),)).value is None
