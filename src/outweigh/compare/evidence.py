"""Records gathered by arm: each trial once, each judgment with its run, everything hashed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from sys import intern

from outweigh.errors import EvidenceError, UsageError
from outweigh.record.codec import InvalidLine, Located
from outweigh.record.digest import evidence_sha256, record_digest
from outweigh.record.judgment import Judgment
from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.score.changes import Change
from outweigh.score.score import Score, score_run, with_judgments


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Scores by arm in order of first appearance, with what was set aside on the way."""

    arms: Mapping[str, Sequence[Score]]
    digests: Mapping[str, Sequence[bytes]]
    changes: Mapping[str, Sequence[Change]]
    skipped: Sequence[InvalidLine]
    warnings: tuple[str, ...]

    def arm(self, name: str) -> Sequence[Score]:
        """The scores of one arm; an unknown name is answered with the nearest one."""
        if name not in self.arms:
            near = get_close_matches(name, self.arms, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"there is no arm {name!r}; the records hold {_listed(self.arms)}.{hint}")
        return self.arms[name]

    def sha256(self, *names: str) -> str:
        """The fingerprint of everything recorded about these arms."""
        return evidence_sha256(digest for name in names for digest in self.digests[name])


def gather(
    records: Iterable[Located],
    *,
    prices: FirstKnown,
    changes: Iterable[Change] = (),
    skipped: Sequence[InvalidLine] = (),
) -> Evidence:
    """Score every run as it is read, keep the last attempt of each trial, and join the judgments."""
    trials = _Trials()
    judgments: dict[str, list[Located]] = defaultdict(list)
    for located in records:
        if isinstance(located.record, RunRecord):
            trials.add(located, located.record, prices)
        else:
            judgments[located.record.run_id].append(located)
    if not trials.scores:
        raise EvidenceError("the records hold no run; there is nothing to compare.")
    orphans = trials.join(judgments) if judgments else 0
    return Evidence(
        arms=trials.by_arm(),
        digests=trials.digests,
        changes=_by_arm(changes),
        # `skipped` fills while the records are read, so it is copied only now.
        skipped=tuple(skipped),
        warnings=_warnings(trials.retried, orphans, len(skipped)),
    )


class _Trials:
    """The runs read so far, one per (task, arm, repeat)."""

    def __init__(self) -> None:
        self.scores: dict[tuple[str, str, int], Score] = {}
        self.digests: dict[str, list[bytes]] = defaultdict(list)
        self.retried = 0

    def add(self, located: Located, run: RunRecord, prices: FirstKnown) -> None:
        arm = intern(run.trial.arm)
        key = (intern(run.trial.task_id), arm, run.trial.repeat)
        self.digests[arm].append(record_digest(run))
        score = score_run(located, run, prices)
        if (earlier := self.scores.get(key)) is not None:
            score = self._last_attempt(earlier, score)
        self.scores[key] = score

    def _last_attempt(self, one: Score, other: Score) -> Score:
        first, last = sorted((one, other), key=lambda score: score.attempt)
        if first.attempt == last.attempt or first.counted:
            raise EvidenceError(
                f"task {one.task_id!r}, arm {one.arm!r}, repeat {one.repeat} is recorded twice: {one.place} and "
                f"{other.place}. Remove one, or number the repeats; only an infrastructure failure may be retried."
            )
        self.retried += 1
        return last

    def join(self, judgments: Mapping[str, list[Located]]) -> int:
        """Attach judgments to their runs; returns how many found none."""
        keys: dict[str, tuple[str, str, int]] = {}
        for key, score in self.scores.items():
            if (other := keys.setdefault(score.run_id, key)) != key and score.run_id in judgments:
                raise EvidenceError(
                    f"run_id {score.run_id!r} names two runs: {self.scores[other].place} and {score.place}, so its "
                    "judgments cannot be told apart. Give every run its own run_id."
                )
        for run_id in judgments.keys() & keys.keys():
            key = keys[run_id]
            answers = _distinct(judgments[run_id])
            self.scores[key] = with_judgments(self.scores[key], answers)
            self.digests[key[1]].extend(map(record_digest, answers))
        return sum(len(answers) for run_id, answers in judgments.items() if run_id not in keys)

    def by_arm(self) -> dict[str, list[Score]]:
        arms: dict[str, list[Score]] = defaultdict(list)
        for (_, arm, _), score in self.scores.items():
            arms[arm].append(score)
        return dict(arms)


def _distinct(answers: Iterable[Located]) -> list[Judgment]:
    seen: dict[tuple[object, int], Located] = {}
    for located in answers:
        judgment = located.record
        if not isinstance(judgment, Judgment):
            raise TypeError("only judgments are joined")
        if (twin := seen.setdefault((judgment.judge, judgment.pass_index), located)) is not located:
            raise EvidenceError(
                f"run {judgment.run_id!r} is judged twice by {judgment.judge.name!r}, pass {judgment.pass_index}: "
                f"{twin.source}:{twin.line} and {located.source}:{located.line}. Remove one, or number the passes."
            )
    return [located.record for located in seen.values() if isinstance(located.record, Judgment)]


def _by_arm(changes: Iterable[Change]) -> dict[str, list[Change]]:
    arms: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        arms[change.arm].append(change)
    return dict(arms)


def _warnings(retried: int, orphans: int, skipped: int) -> tuple[str, ...]:
    notes = (
        (retried, "attempts were superseded by a later attempt at the same trial"),
        (orphans, "judgments name a run that is not in the records; they are not used"),
        (skipped, "lines could not be read and were skipped; evidence with skipped lines never promotes"),
    )
    return tuple(f"{count} {text}." for count, text in notes if count)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
