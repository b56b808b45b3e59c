"""The decision about one request: an answer of the model, and the troubles on its way."""

from dataclasses import dataclass

from outweigh.testing.model_server.ledger import Ending
from outweigh.testing.model_server.position import Place
from outweigh.testing.model_server.reply import Failure, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is to be sent. `rule` names the part of the script it comes from, `problem` what could not be done.

    A `refusal` comes in place of the answer, a `breakdown` in the middle of it.
    """

    rule: str
    place: Place
    reply: Reply
    refusal: Failure | None
    breakdown: Failure | None
    cut: bool
    delay_seconds: float
    problem: str | None

    @property
    def ending(self) -> Ending:
        """How the ledger calls it."""
        if self.refusal is not None or self.breakdown is not None:
            return Ending.REFUSED
        return Ending.CUT if self.cut else Ending.ANSWERED
