"""An inconclusive verdict names the gate in the way."""

from collections.abc import Mapping

from outweigh.verdict.decision import Chances, Gate, GateEvidence, GateState
from outweigh.verdict.gate_result import find_obstacle

SHOWN = {"non_inferior": 0.01, "tolerable": 0.01, "equivalent": 0.04}


def gate(
    name: str,
    p_values: Mapping[str, float | None],
    *,
    state: GateState = GateState.NOT_SHOWN,
    low: float | None = -0.08,
    high: float | None = 0.4,
) -> Gate:
    points = name == "pass_rate"
    evidence = GateEvidence(
        scale="points" if points else "ratio",
        margin=0.05,
        tolerance=None if points else 0.25,
        effect=0.02,
        low=low,
        high=high,
        geometric_means=None,
        total=None,
        chances=Chances(better=None, worse_beyond_margin=None, gain_if_repeated=None),
        tasks=20,
        p_values={**SHOWN, **p_values},
    )
    return Gate(name=name, state=state, baseline=0.5, candidate=0.52, detail="as it is", evidence=evidence)


def test_the_gate_that_is_least_shown_is_in_the_way() -> None:
    found = find_obstacle([gate("pass_rate", {"tolerable": 0.2}), gate("cost", {"tolerable": 0.3})])

    assert found is not None
    assert found.gate == "cost"
    assert found.detail == "cost may be 40 % more; it must be shown to be less than 25 % more"


def test_quality_is_held_to_its_margin() -> None:
    found = find_obstacle([gate("pass_rate", {"tolerable": 0.4}), gate("cost", {"tolerable": 0.3})])

    assert found is not None
    assert found.detail == "pass_rate may be 8 points worse; it must be shown to be less than 5 points worse"


def test_version_1_holds_resources_to_their_margins() -> None:
    found = find_obstacle([gate("pass_rate", {}), gate("cost", {"non_inferior": 0.3})], by_margin=True)

    assert found is not None
    assert found.detail.endswith("it must be shown to be less than 5 % more")


def test_where_every_condition_holds_the_gain_is_what_is_not_shown() -> None:
    found = find_obstacle([gate("pass_rate", {"equivalent": 0.3}), gate("cost", {"equivalent": 0.2})])

    assert found is not None
    assert found.gate == "pass_rate"
    assert found.detail.startswith("no gain beyond chance is shown")


def test_an_unknown_gate_is_in_the_way_before_all_others() -> None:
    found = find_obstacle([gate("pass_rate", {"tolerable": 0.9}), gate("cost", {}, state=GateState.UNKNOWN)])

    assert found is not None
    assert (found.gate, found.detail) == ("cost", "cost is unknown: as it is")


def test_a_trade_off_that_is_not_settled_waits_for_its_worth() -> None:
    found = find_obstacle([gate("pass_rate", {}), gate("cost", {}, state=GateState.WORSE)])

    assert found is not None
    assert found.gate == "worth"


def test_a_gate_without_an_interval_is_named_without_one() -> None:
    found = find_obstacle([gate("cost", {"tolerable": None}, low=None, high=None)])

    assert found is not None
    assert "has no interval" in found.detail
