"""Several judges of one run as one score, and what makes two such scores comparable."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from outweigh.record.judgment import JudgeIdentity, Judgment
from outweigh.score.consensus import consensus, wants_another_pass
from outweigh.score.judged import judgment_score
from outweigh.score.jury import NO_RULES, JudgeRule, Jury
from outweigh.stats.quantity import Quantity, known, unknown

AS_OFTEN_AS_NEEDED = 0


class Seat(NamedTuple):
    """A judge and how many of its passes count. Two runs are comparable where the same seats are taken.

    A lost pass may be just the one that would have said something else, so it must not go unseen: where a rule says how
    often the judge is to answer, a seat that has fewer answers is not `complete`, and comparable with nothing. Where a
    judge is asked again until its answers settle, all runs that settled have the same seat.
    """

    judge: JudgeIdentity
    passes: int
    complete: bool = True


class PanelScore(NamedTuple):
    """The mean over judges of each judge's consensus, and who gave a valid answer how often."""

    score: Quantity
    seats: frozenset[Seat]


NOT_JUDGED = PanelScore(unknown("no valid judgment"), frozenset())


def panel_score(judgments: Iterable[Judgment], jury: Jury = NO_RULES) -> PanelScore:
    """Bring a judge's passes together first, then the judges, so that an extra pass does not outvote a colleague."""
    passes: dict[JudgeIdentity, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        passes[judgment.judge].append(judgment)
    opinions = {
        judge: opinion
        for judge, answers in passes.items()
        if (opinion := consensus(answers, jury.rule(judge).consensus).value) is not None
    }
    if not opinions:
        return NOT_JUDGED
    seats = frozenset(_seat(judge, passes[judge], jury.rules.get(judge.name)) for judge in opinions)
    return PanelScore(known(sum(opinions.values()) / len(opinions)), seats)


def _seat(judge: JudgeIdentity, answers: Sequence[Judgment], rule: JudgeRule | None) -> Seat:
    valid = {answer.pass_index for answer in answers if judgment_score(answer).value is not None}
    if rule is None:
        return Seat(judge, len(valid))
    if rule.most_passes is None or rule.most_passes == rule.passes:
        return Seat(judge, len(valid), complete=valid >= set(range(1, rule.passes + 1)))
    if _settled(answers, valid, rule, rule.most_passes):
        return Seat(judge, AS_OFTEN_AS_NEEDED)
    return Seat(judge, len(valid), complete=False)


def _settled(answers: Sequence[Judgment], valid: set[int], rule: JudgeRule, most_passes: int) -> bool:
    """Whether an adaptive judge was asked as often as its rule wants, and every answer could be used."""
    complete = valid == set(range(1, len(answers) + 1)) and len(answers) >= rule.passes
    return complete and (len(answers) >= most_passes or not wants_another_pass(answers))
