"""The decision about one request: an answer of the model, and the troubles on its way."""

from dataclasses import dataclass

from outweigh.testing.model_server.ledger import Ending
from outweigh.testing.model_server.reply import Failure, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is to be sent. `rule` names the part of the script it comes from, `problem` what could not be done."""

    rule: str
    reply: Reply
    refusal: Failure | None = None
    breakdown: Failure | None = None
    cut: bool = False
    delay_seconds: float = 0.0
    problem: str | None = None

    @property
    def ending(self) -> Ending:
        """How the ledger calls it; a `breakdown` is a refusal after the stream has begun."""
        if self.refusal is not None or self.breakdown is not None:
            return Ending.REFUSED
        return Ending.CUT if self.cut else Ending.ANSWERED
