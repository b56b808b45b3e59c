"""What one run may still take."""

from outweigh.gateway.charges import Charge


class Allowance:
    """The caps of a run and what counts against them: what is spent, and the least that is under way."""

    def __init__(self, budget_usd: float | None, tokens: int | None) -> None:
        self._budget_usd = budget_usd
        self._tokens = tokens
        self._spent = Charge(0.0, 0)
        self._held: dict[object, Charge] = {}

    @property
    def is_in_dollars(self) -> bool:
        """Whether prices must be known to keep it."""
        return self._budget_usd is not None

    def objection(self, least: Charge) -> str | None:
        """Why a request that takes at least so much must not be sent; None where it may."""
        taken = self._taken()
        if self._budget_usd is not None and taken.usd + least.usd >= self._budget_usd:
            return _sentence(f"${taken.usd:.4f}", f"${self._budget_usd:.4f}", "budget_usd")
        if self._tokens is not None and taken.tokens + least.tokens >= self._tokens:
            return _sentence(f"{taken.tokens} tokens", f"{self._tokens}", "tokens")
        return None

    def hold(self, request: object, least: Charge) -> None:
        """Count a request from the moment that it is sent."""
        self._held[request] = least

    def settle(self, request: object, charge: Charge) -> None:
        """Count what it really took."""
        del self._held[request]
        self._spent = Charge(self._spent.usd + charge.usd, self._spent.tokens + charge.tokens)

    def _taken(self) -> Charge:
        held = self._held.values()
        return Charge(
            self._spent.usd + sum(charge.usd for charge in held), self._spent.tokens + sum(one.tokens for one in held)
        )


def _sentence(taken: str, cap: str, key: str) -> str:
    return (
        f"This run has reached its cap: {taken} of {cap} are taken, and this request would take more than is left. "
        f"It was not sent. The cap is {key} under [limits] in the suite."
    )
