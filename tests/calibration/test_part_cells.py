"""Parts with known effects: what the cells of the study measure, on twenty fixed draws with recorded counts."""

import numpy as np
import pytest
from calibration.cells import Readings
from calibration.part_cells import (
    KNOWN_EFFECTS,
    NO_EFFECTS,
    PARTS,
    draw_tasks,
    interval_readings,
    screen_cost,
    screen_readings,
    word_readings,
)

from outweigh.stats.designs import leave_one_out, plackett_burman

DRAWS, SEED = 20, 19


def counts(readings: Readings) -> dict[str, float]:
    """In how many draws each thing happened; of single intervals, in how many on average."""
    return {name: round(DRAWS * reading.value, 3) for name, reading in readings.items() if name != "cost"}


def test_intervals_of_known_effects_hold_the_truth() -> None:
    assert counts(interval_readings(KNOWN_EFFECTS, leave_one_out(PARTS), 20, 3, DRAWS, SEED)) == {
        "each interval": 18.875,
        "all together": 20,
        "some effect at 5 %": 7,
    }


def test_intervals_of_a_screen_without_effects_hold_zero() -> None:
    assert counts(interval_readings(NO_EFFECTS, plackett_burman(PARTS), 20, 3, DRAWS, SEED)) == {
        "each interval": 18.875,
        "all together": 18,
        "some effect at 5 %": 2,
    }


@pytest.mark.parametrize("size", [(20, 3), (40, 5)])
def test_no_part_is_called_where_none_has_an_effect(size: tuple[int, int]) -> None:
    assert counts(word_readings(NO_EFFECTS, *size, DRAWS, SEED)) == {
        "keep or hurts": 0,
        "keep": 0,
        "hurts": 0,
        "drop": 0,
    }


@pytest.mark.parametrize(("effect", "found", "by_leave_one_out"), [(0.25, 20, 20), (-0.25, 18, 16)])
def test_a_screen_finds_a_part_worth_25_points(effect: float, found: int, by_leave_one_out: int) -> None:
    seen = counts(screen_readings(effect, 40, 5, DRAWS, SEED))

    assert (seen["found"], seen["found by leave-one-out"]) == (found, by_leave_one_out)
    assert (seen["on the shortlist"], seen["others called"]) == (20, 0)


def test_the_screen_costs_three_fifths_of_leaving_out_every_part() -> None:
    """By hand: 12 arms once and 3 arms five times are 27 runs of a task; 9 arms five times are 45."""
    assert screen_cost(plackett_burman(PARTS), 5) == pytest.approx(27 / 45)


def test_chances_of_the_drawn_tasks_leave_room_for_every_effect() -> None:
    drawn = draw_tasks(KNOWN_EFFECTS, 2_000, np.random.default_rng(1))
    every = drawn.base + drawn.effects.sum(axis=1)

    assert ((every > 0) & (every < 1)).mean() > 0.999
    assert drawn.effects.mean(axis=0) == pytest.approx(KNOWN_EFFECTS, abs=0.002)
