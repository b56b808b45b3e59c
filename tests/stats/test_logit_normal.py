"""Pass rates whose logits are normal: checked by drawing them."""

import numpy as np
import pytest

from outweigh.stats.logit_normal import logistic, mean_of_logits, spread_of_effects, spread_of_logits

DRAWS = 400_000


def test_logits_without_spread_are_those_of_the_rate() -> None:
    found = mean_of_logits(np.array([0.5, 0.9]), np.zeros(2))

    assert found == pytest.approx([0.0, np.log(9)], abs=1e-6)


@pytest.mark.parametrize(("rate", "variance"), [(0.5, 0.05), (0.85, 0.04), (0.1, 0.02)])
def test_drawn_logits_give_back_the_mean_and_the_variance_of_the_rates(rate: float, variance: float) -> None:
    deviation = spread_of_logits(np.array([rate]), np.array([variance]))
    mean = mean_of_logits(np.array([rate]), deviation)

    rates = logistic(np.random.default_rng(1).normal(mean[0], deviation[0], DRAWS))

    assert rates.mean() == pytest.approx(rate, abs=0.003)
    assert rates.var() == pytest.approx(variance, rel=0.02)


def test_drawn_effects_give_back_the_variance_of_effects_on_the_rate() -> None:
    rate, level = np.array([0.6]), np.array([1.6])
    effect = spread_of_effects(rate, level, np.array([0.01]))
    random, mean = np.random.default_rng(2), mean_of_logits(rate, level)
    kept = np.sqrt(level[0] ** 2 - effect[0] ** 2 / 4)
    logits, halves = random.normal(mean[0], kept, DRAWS), effect[0] / 2 * random.standard_normal(DRAWS)

    changes = logistic(logits + halves) - logistic(logits - halves)

    assert changes.var() == pytest.approx(0.01, rel=0.02)


def test_rates_that_do_not_vary_have_logits_that_do_not() -> None:
    nothing = np.zeros(1)

    assert spread_of_logits(np.array([0.7]), nothing)[0] == 0.0
    assert spread_of_effects(np.array([0.7]), np.array([1.0]), nothing)[0] == 0.0
