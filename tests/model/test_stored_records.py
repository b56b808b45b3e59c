from math import inf, nan

import msgspec
import pytest

from outweigh.model.codec import decode, encode
from outweigh.model.judgment import CriterionScore
from outweigh.model.run_record import AlignedAction, Milestone, Step, StepSource
from outweigh.model.usage import Cost, CostProvenance
from outweigh.testing.builders import a_check, a_judgment, a_run


@pytest.mark.parametrize("broken", [nan, inf, -inf])
def test_a_record_refuses_a_number_that_json_cannot_hold(broken: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        a_run(duration_seconds=broken)
    with pytest.raises(ValueError, match="must be finite"):
        Cost(usd=broken, provenance=CostProvenance.REPORTED, price_table=None)
    with pytest.raises(ValueError, match="must be finite"):
        a_judgment(a_run(), stated_total=broken)
    with pytest.raises(ValueError, match="must be finite"):
        CriterionScore(criterion="c", weight=broken, score=None, evidence=None)
    with pytest.raises(ValueError, match="must be finite"):
        Milestone(name="m", weight=broken, achieved=True)
    with pytest.raises(ValueError, match="must be finite"):
        AlignedAction(name="a", alignment=0.5, weight=broken)
    with pytest.raises(ValueError, match="must be finite"):
        Step(
            index=1,
            source=StepSource.AGENT,
            message=None,
            tool_calls=(),
            usage=None,
            cost_usd=broken,
            duration_seconds=1,
        )


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        a_run().attempt = 2  # type: ignore[misc]


ADDED_LATER = {"low_usd", "high_usd", "simulated_user"}
"""Fields of which None means that earlier releases did not say."""

STATED_BY_TASKS = {"weight": 1.0}
"""Fields that are no measurement, with what held in earlier releases."""


def test_no_measured_field_has_a_default() -> None:
    run = a_run()

    for stored in (run, run.trial, run.usage, run.cost, run.agent, a_check(), a_judgment(run), a_judgment(run).judge):
        defaults = stored.__struct_defaults__
        later = stored.__struct_fields__[len(stored.__struct_fields__) - len(defaults) :]
        measured = {field: value for field, value in zip(later, defaults, strict=True) if field not in STATED_BY_TASKS}
        assert set(measured) <= ADDED_LATER
        assert set(measured.values()) <= {None}


def test_a_check_has_weight_one_where_nothing_else_is_stated() -> None:
    assert {field: getattr(a_check(), field) for field in STATED_BY_TASKS} == STATED_BY_TASKS


def test_a_cost_is_null_exactly_when_it_is_unknown() -> None:
    with pytest.raises(ValueError, match="exactly when"):
        Cost(usd=0.0, provenance=CostProvenance.UNKNOWN, price_table=None)
    with pytest.raises(ValueError, match="exactly when"):
        Cost(usd=None, provenance=CostProvenance.METERED, price_table=None)


def test_a_priced_cost_names_its_table_and_no_other_does() -> None:
    with pytest.raises(ValueError, match="price_table"):
        Cost(usd=1.0, provenance=CostProvenance.PRICED, price_table=None)
    with pytest.raises(ValueError, match="price_table"):
        Cost(usd=1.0, provenance=CostProvenance.REPORTED, price_table="list")


def test_a_check_cannot_pass_more_cases_than_it_has() -> None:
    with pytest.raises(ValueError, match="impossible"):
        a_check(cases_passed=4, cases_total=3)
    with pytest.raises(ValueError, match="both"):
        a_check(cases_passed=4)


@pytest.mark.parametrize(("passed", "cases"), [(True, 0), (False, 10)])
def test_a_check_cannot_contradict_its_own_cases(passed: bool, cases: int) -> None:
    with pytest.raises(ValueError, match="yet"):
        a_check(passed=passed, cases_passed=cases, cases_total=10)


def test_a_record_survives_the_round_trip() -> None:
    run = a_run(extra={"b": [1, {"c": None}], "a": "x"})
    judgment = a_judgment(run)

    assert decode(encode(run)) == run
    assert decode(encode(judgment)) == judgment


@pytest.mark.parametrize(
    ("field", "value"),
    [("attempt", 0), ("duration_seconds", -1), ("status", "finished"), ("started_at", "2026-01-01T00:00:00")],
)
def test_a_value_outside_its_range_is_refused(field: str, value: object) -> None:
    raw = msgspec.json.decode(encode(a_run())) | {field: value}

    with pytest.raises(msgspec.ValidationError, match=field):
        decode(msgspec.json.encode(raw))
