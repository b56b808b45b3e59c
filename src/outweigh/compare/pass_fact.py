"""What is kept of a judgment once its run is scored: enough to say how far judges can be trusted."""

from typing import NamedTuple

from outweigh.record.judgment import JudgeIdentity, Judgment
from outweigh.score.judged import judgment_score, stated_gap


class PassFact(NamedTuple):
    """One pass of one judge over one run, without its words. `score` is None where it could not be used.

    `replaced` marks a try that another one took the place of: it was paid for, and says nothing any more.
    """

    run_id: str
    judge: JudgeIdentity
    pass_index: int
    score: float | None
    invalid: bool
    gap: float | None
    cost_usd: float | None
    flagged: bool
    replaced: bool


def fact_of(judgment: Judgment, *, replaced: bool = False) -> PassFact:
    """Keep the figures, leave the words."""
    return PassFact(
        run_id=judgment.run_id,
        judge=judgment.judge,
        pass_index=judgment.pass_index,
        score=judgment_score(judgment).value,
        invalid=judgment.invalid_reason is not None,
        gap=stated_gap(judgment).value,
        cost_usd=judgment.cost.usd,
        flagged=bool(judgment.warnings),
        replaced=replaced,
    )
