"""The chances of a verdict as forecasts: the sign of a difference on one half of the tasks, from the other half.

The sign that another half shows has noise of its own, so its forecast has the variance of both halves.
"""

import numpy as np

from outweigh.verdict.p_values import StudentPValues

TASKS, REPEATS, PAIRS = 20, 5, 24_000


def halves(spread: float, seed: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """Task deltas of many pairs of agents on two halves of their tasks; `spread` is that of true effects, in logits."""
    dice = np.random.default_rng(seed)
    ease = dice.normal(0.4, 1.6, (PAIRS, 2 * TASKS))
    effect = dice.normal(0.0, spread, (PAIRS, 1)) + dice.normal(0.0, 0.4, (PAIRS, 2 * TASKS))
    rates = [1 / (1 + np.exp(-logit)) for logit in (ease, ease + effect)]
    before, after = (dice.binomial(REPEATS, rate) / REPEATS for rate in rates)
    deltas = after - before
    return deltas[:, :TASKS], deltas[:, TASKS:]


def forecast(deltas: np.ndarray) -> float:
    """The chance that as many other tasks show a gain."""
    error = float(deltas.std(ddof=1) / np.sqrt(TASKS)) * np.sqrt(2)
    p_value = StudentPValues(mean=float(deltas.mean()), error=error, df=TASKS - 1).above(0.0)
    assert p_value is not None
    return 1 - p_value


def gaps(spread: float) -> list[float]:
    """By decile of the forecasts, how much more often a gain came than was forecast."""
    first, second = halves(spread)
    forecasts = np.array([forecast(deltas) for deltas in first])
    # An exact tie shows neither sign.
    came = np.where(second.mean(axis=1) == 0, 0.5, second.mean(axis=1) > 0)
    deciles = np.minimum((10 * forecasts).astype(int), 9)
    return [float((came - forecasts)[deciles == decile].mean()) for decile in range(10)]


def test_forecasts_come_true_as_often_as_they_say_where_agents_differ_as_much_as_agents_do() -> None:
    assert max(map(abs, gaps(spread=1.0))) <= 0.05


def test_forecasts_are_too_sure_among_agents_that_hardly_differ() -> None:
    found = gaps(spread=0.1)

    assert found[8] < -0.1
    assert found[1] > 0.1
