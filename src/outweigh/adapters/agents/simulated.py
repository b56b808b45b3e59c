"""The numbers that a scripted attempt reports: drawn, never measured."""

from dataclasses import dataclass

from outweigh.adapters.agents.dice import Dice
from outweigh.adapters.agents.script import Behaviour, Factors
from outweigh.record.usage import Usage

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What an attempt took; what the script does not state is unknown."""

    duration_seconds: float | None
    usage: Usage
    cost_usd: float | None
    step_count: int | None
    tool_call_count: int | None


def simulate(behaviour: Behaviour, factors: Factors, dice: Dice) -> Simulated:
    """Draw every quantity that the script states."""

    def drawn(name: str, factor: float) -> float | None:
        quantity = getattr(behaviour, name)
        return None if quantity is None else factor * dice.draw(name, quantity)

    def counted(name: str, factor: float) -> int | None:
        amount = drawn(name, factor)
        return None if amount is None else round(amount)

    return Simulated(
        duration_seconds=drawn("duration_seconds", factors.duration),
        usage=Usage(**{name: counted(name, factors.tokens) for name in _TOKENS}),
        cost_usd=drawn("cost_usd", factors.cost),
        step_count=counted("step_count", factors.steps),
        tool_call_count=counted("tool_call_count", factors.steps),
    )


def chance(behaviour: Behaviour, factors: Factors) -> float:
    """The chance to solve, its odds multiplied by the arm's factor."""
    probability = 1.0 if behaviour.solve_probability is None else behaviour.solve_probability
    return factors.solve_odds * probability / (1 - probability + factors.solve_odds * probability)
