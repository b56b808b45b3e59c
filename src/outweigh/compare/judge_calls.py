"""Judge calls and the runs they belong to: each answer counts once, and only for the record it was given for.

A failed call often has no judge version. It is attributed to the only judge it can belong to, if there is just one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from outweigh.errors import EvidenceError
from outweigh.model.codec import record_digest
from outweigh.model.judgment import JudgeIdentity, JudgeVersion, Judgment, judge_version_of
from outweigh.model.run_record import TrialKey
from outweigh.score.judge_scores import JudgeRules, judgment_score, stated_gap
from outweigh.score.run_score import Score, with_judgments


class JudgeCallFact(NamedTuple):
    """One pass of one judge over one run, without its words. `score` is None where it could not be used.

    `replaced` marks a try that another one took the place of: it was paid for, and says nothing any more.
    """

    run_id: str
    task_id: str
    judge: JudgeIdentity
    pass_index: int
    score: float | None
    invalid: bool
    gap: float | None
    cost_usd: float | None
    flagged: bool
    replaced: bool


def judge_call_fact(judgment: Judgment, task_id: str, *, replaced: bool = False) -> JudgeCallFact:
    """Keep the figures, leave the words."""
    return JudgeCallFact(
        run_id=judgment.run_id,
        task_id=task_id,
        judge=judgment.judge,
        pass_index=judgment.pass_index,
        score=judgment_score(judgment).value,
        invalid=judgment.invalid_reason is not None,
        gap=stated_gap(judgment).value,
        cost_usd=judgment.cost.usd,
        flagged=bool(judgment.warnings),
        replaced=replaced,
    )


def match_anonymous_failures(has_answered: Mapping[JudgeVersion, bool]) -> dict[JudgeVersion, JudgeVersion]:
    """Assign failures without a version to the one version of that judge that answered, if there is just one."""
    found = {}
    for silent in (judge_version for judge_version, answered in has_answered.items() if not answered):
        kin = [
            judge_version
            for judge_version, answered in has_answered.items()
            if answered and could_be_same_judge(silent, judge_version)
        ]
        if len(kin) == 1:
            found[silent] = kin[0]
    return found


def could_be_same_judge(silent: JudgeVersion, other: JudgeVersion) -> bool:
    """Whether two versions differ only in what the one without answers did not report."""
    same = silent.name == other.name and silent.prompt_sha256 == other.prompt_sha256
    return same and silent.model in (None, other.model) and silent.version in (None, other.version)


class LocatedJudgment(NamedTuple):
    """A judgment and the line it was read from."""

    judgment: Judgment
    source: str
    line: int


class JoinedJudgments(Struct, kw_only=True):
    """Scores with their judges' part, the digests and figures of the judgments by arm, and what found no place."""

    scores: dict[TrialKey, Score] = field(default_factory=dict)
    digests: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    facts: dict[str, list[JudgeCallFact]] = field(default_factory=lambda: defaultdict(list))
    orphans: int = 0
    stale: int = 0

    def warnings(self) -> tuple[str, ...]:
        """What was not used, and why."""
        return tuple(unused_warnings(self.orphans, self.stale))


def unused_warnings(orphans: int, stale: int) -> Iterator[str]:
    """Why so many judgments are not used."""
    if orphans:
        yield f"{orphans} judgments name a run that is not in the records; they are not used."
    if stale:
        yield (
            f"{stale} judgments were given for another record of their run (its hash differs); they are not used. "
            "Judge these runs again."
        )


def join_judgments(
    scores: Mapping[TrialKey, Score],
    digest_of: Mapping[TrialKey, bytes],
    judgments: Mapping[str, Sequence[LocatedJudgment]],
    judge_rules: JudgeRules,
) -> JoinedJudgments:
    """Attach judgments to their runs, and count those that found none."""
    joined = JoinedJudgments()
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
            joined.scores[key] = with_judgments(scores[key], answers, judge_rules)
            joined.digests[key[1]].extend(map(record_digest, answers))
            joined.facts[key[1]].extend(_facts([one.judgment for one in fresh], key[0]))
    return joined


def _facts(tries: Sequence[Judgment], task_id: str) -> Iterator[JudgeCallFact]:
    """All tries, as all were paid for; an unusable one is replaced by any later one and by any that could be used."""
    for place, one in enumerate(tries):
        others = (other for later, other in enumerate(tries) if later > place or other.invalid_reason is None)
        replaced = one.invalid_reason is not None and any(_same_question(one, other) for other in others)
        yield judge_call_fact(one, task_id, replaced=replaced)


def _same_question(one: Judgment, other: Judgment) -> bool:
    same = (one.pass_index, one.judge.rubric_sha256) == (other.pass_index, other.judge.rubric_sha256)
    ours, theirs = judge_version_of(one.judge), judge_version_of(other.judge)
    return same and (could_be_same_judge(ours, theirs) or could_be_same_judge(theirs, ours))


def _keys(scores: Mapping[TrialKey, Score], judgments: Mapping[str, Sequence[LocatedJudgment]]) -> dict[str, TrialKey]:
    keys: dict[str, TrialKey] = {}
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
