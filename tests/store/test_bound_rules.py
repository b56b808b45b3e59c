"""The rules of a store are tied to its records, so that an edit shows."""

from typing import Any

import pytest
from msgspec.structs import replace

from outweigh.model.look_plan import plan_even_looks
from outweigh.model.suite import PolicySpec
from outweigh.store.experiment_file import ExperimentFile, fits_rules, rules_sha256


def an_experiment(**fields: Any) -> ExperimentFile:
    said: dict[str, Any] = {
        "schema": "outweigh.experiment/1",
        "suite": "s",
        "baseline": "a",
        "seed": 1,
        "profile": "objective_first",
        "policy": PolicySpec(),
        "arms": {},
        "tiers": {},
        "tasks": {},
        "looked_at": None,
    }
    return ExperimentFile(**(said | fields))


@pytest.mark.parametrize(
    "edit",
    [
        {"policy": PolicySpec(name="gates")},
        {"policy": PolicySpec(gates=["pass_rate"])},
        {"policy": PolicySpec(margins={"duration": 0.5})},
        {"profile": "even"},
        {"reuse_max_age": "7d"},
    ],
)
def test_every_rule_that_decides_is_in_it(edit: dict[str, Any]) -> None:
    assert not fits_rules(an_experiment(**edit), rules_sha256(an_experiment()))


@pytest.mark.parametrize("edited", [None, "30d"])
def test_the_age_of_stale_runs_can_be_neither_raised_nor_taken_away(edited: str | None) -> None:
    assert not fits_rules(an_experiment(reuse_max_age=edited), rules_sha256(an_experiment(reuse_max_age="7d")))


def test_what_decides_nothing_is_not_in_it() -> None:
    assert rules_sha256(an_experiment(notes=("x",), planned_runs=7, seed=2)) == rules_sha256(an_experiment())


def test_a_look_that_was_planned_cannot_be_taken_back_and_may_be_planned_later() -> None:
    before, looking = an_experiment(), an_experiment(looked_at=8)

    assert fits_rules(looking, rules_sha256(before))
    assert fits_rules(looking, rules_sha256(looking))
    assert not fits_rules(before, rules_sha256(looking))
    assert not fits_rules(replace(looking, looked_at=9), rules_sha256(looking))


def test_the_plan_of_looks_cannot_be_changed_either() -> None:
    looks = plan_even_looks([f"t{number}" for number in range(8)], 5)
    planned = an_experiment(looked_at=8, looks=looks)

    assert fits_rules(planned, rules_sha256(planned))
    assert fits_rules(planned, rules_sha256(an_experiment()))
    for edit in ({"order": looks.order[::-1]}, {"sizes": (8,)}, {"repeats": 4}, {"exponent": 1.0}):
        assert not fits_rules(replace(planned, looks=replace(looks, **edit)), rules_sha256(planned))
    assert not fits_rules(replace(planned, looks=None), rules_sha256(planned))
