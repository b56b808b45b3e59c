"""Chance that repeats itself: what a trial draws depends on the trial and on nothing else."""

from math import exp
from random import Random

from outweigh.adapters.agents.script import Noise, Quantity
from outweigh.record.trial import Trial


class Dice:
    """The draws of one trial, a stream for each purpose.

    The streams are seeded with the trial's seed and coordinates, not with the attempt, so that a retry after an
    infrastructure error draws what the first attempt would have drawn, and the arms of an A/A pair differ by chance
    even where their trials share a seed. Separate streams keep one draw from shifting another: new noise in the
    tokens leaves who solves what as it was.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = f"{trial.seed or 0}/{trial.task_id}/{trial.arm}/{trial.repeat}"

    def happens(self, purpose: str, probability: float) -> bool:
        """Whether something with this probability happens."""
        return self._stream(purpose).random() < probability

    def draw(self, purpose: str, quantity: Quantity) -> float:
        """A number as it is, or one draw of its noise."""
        if not isinstance(quantity, Noise):
            return float(quantity)
        return quantity.median * exp(quantity.spread * self._stream(purpose).gauss(0.0, 1.0))

    def _stream(self, purpose: str) -> Random:
        return Random(f"{self._trial}/{purpose}")
