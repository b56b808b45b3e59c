"""Judgments find their runs: each answer once, and only about the very record it was given for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from outweigh.compare.pass_fact import PassFact, fact_of
from outweigh.compare.unsigned import may_be
from outweigh.errors import EvidenceError
from outweigh.record.digest import record_digest
from outweigh.record.judgment import Judgment
from outweigh.record.voice import voice_of
from outweigh.score.jury import Jury
from outweigh.score.score import Score, with_judgments

Coordinates = tuple[str, str, int]


class LocatedJudgment(NamedTuple):
    """A judgment and the line it was read from."""

    judgment: Judgment
    source: str
    line: int


@dataclass(slots=True, kw_only=True)
class Joined:
    """Scores with their judges' part, the digests and figures of the judgments by arm, and what found no place."""

    scores: dict[Coordinates, Score] = field(default_factory=dict)
    digests: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    facts: dict[str, list[PassFact]] = field(default_factory=lambda: defaultdict(list))
    orphans: int = 0
    stale: int = 0

    def warnings(self) -> tuple[str, ...]:
        """What was not used, and why."""
        notes = []
        if self.orphans:
            notes.append(f"{self.orphans} judgments name a run that is not in the records; they are not used.")
        if self.stale:
            notes.append(
                f"{self.stale} judgments were given for another record of their run (its hash differs); they are not "
                "used. Judge these runs again."
            )
        return tuple(notes)


def join_judgments(
    scores: Mapping[Coordinates, Score],
    digest_of: Mapping[Coordinates, bytes],
    judgments: Mapping[str, Sequence[LocatedJudgment]],
    jury: Jury,
) -> Joined:
    """Attach judgments to their runs, and count those that found none."""
    joined = Joined()
    if not judgments:
        return joined
    keys = _keys(scores, judgments)
    for run_id, located in judgments.items():
        if (key := keys.get(run_id)) is None:
            joined.orphans += len(located)
            continue
        sha256 = digest_of[key].hex()
        fresh = [one for one in located if one.judgment.run_sha256 in (None, sha256)]
        joined.stale += len(located) - len(fresh)
        answers = _distinct(fresh)
        if answers:
            joined.scores[key] = with_judgments(scores[key], answers, jury)
            joined.digests[key[1]].extend(map(record_digest, answers))
            joined.facts[key[1]].extend(_facts([one.judgment for one in fresh]))
    return joined


def _facts(tries: Sequence[Judgment]) -> Iterator[PassFact]:
    """All tries, as all were paid for; an unusable one is replaced by any later one and by any that could be used."""
    for place, one in enumerate(tries):
        others = (other for later, other in enumerate(tries) if later > place or other.invalid_reason is None)
        replaced = one.invalid_reason is not None and any(_same_question(one, other) for other in others)
        yield fact_of(one, replaced=replaced)


def _same_question(one: Judgment, other: Judgment) -> bool:
    same = (one.pass_index, one.judge.rubric_sha256) == (other.pass_index, other.judge.rubric_sha256)
    ours, theirs = voice_of(one.judge), voice_of(other.judge)
    return same and (may_be(ours, theirs) or may_be(theirs, ours))


def _keys(
    scores: Mapping[Coordinates, Score], judgments: Mapping[str, Sequence[LocatedJudgment]]
) -> dict[str, Coordinates]:
    keys: dict[str, Coordinates] = {}
    for key, score in scores.items():
        if (other := keys.setdefault(score.run_id, key)) != key and score.run_id in judgments:
            raise EvidenceError(
                f"run_id {score.run_id!r} names two runs: {scores[other].place} and {score.place}, so its "
                "judgments cannot be told apart. Give every run its own run_id."
            )
    return keys


def _distinct(answers: Iterable[LocatedJudgment]) -> list[Judgment]:
    """One answer per judge and pass. One that could not be used may be followed by another try; nothing else may."""
    seen: dict[tuple[object, int], LocatedJudgment] = {}
    for located in answers:
        judgment = located.judgment
        key = (judgment.judge, judgment.pass_index)
        twin = seen.get(key)
        if twin is not None and twin.judgment.invalid_reason is None:
            if judgment.invalid_reason is not None:  # a try that was written down late; the usable one stands
                continue
            raise EvidenceError(
                f"run {judgment.run_id!r} is judged twice by {judgment.judge.name!r}, pass {judgment.pass_index}: "
                f"{twin.source}:{twin.line} and {located.source}:{located.line}. Remove one, or number the passes."
            )
        seen[key] = located
    return [located.judgment for located in seen.values()]
