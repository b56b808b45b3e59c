"""Tasks that a model may have been trained on are told apart by the day that its maker states."""

from datetime import date

import pytest

from outweigh.mining.training_cutoff import training_cutoff


@pytest.mark.parametrize(
    ("model", "day"),
    [
        ("claude-sonnet-4-5", date(2025, 7, 31)),
        ("claude-sonnet-4-5-20250929", date(2025, 7, 31)),
        ("claude-opus-4-20250514", date(2025, 3, 31)),
        ("gpt-5-codex", date(2024, 9, 30)),
        ("gpt-5-mini-2025-08-07", date(2024, 5, 31)),
    ],
)
def test_a_dated_or_varied_name_has_the_day_of_its_model(model: str, day: date) -> None:
    assert training_cutoff(model) == day


@pytest.mark.parametrize("model", ["claude-opus-4-9", "gpt-5.9", "gpt-55", "my-own-model", "claude-sonnet"])
def test_another_version_or_an_unknown_model_has_no_day(model: str) -> None:
    assert training_cutoff(model) is None
