"""One list of prices that is asked often answers as one that was never asked."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from outweigh.prices import GenaiPrices

FIRST = datetime(2025, 8, 1, 0, 15, tzinfo=UTC)
MOMENTS = [FIRST + timedelta(hours=5 * number) for number in range(12)]
MOMENTS += [moment.astimezone(timezone(timedelta(hours=9))) for moment in MOMENTS]


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "deepseek-chat", "deepseek/deepseek-chat", "gpt-5", "nobody"])
def test_a_price_of_a_moment_does_not_depend_on_what_was_asked_before(model: str) -> None:
    often = GenaiPrices()
    assert [often.prices(model, moment) for moment in MOMENTS] == [
        GenaiPrices().prices(model, moment) for moment in MOMENTS
    ]
