"""Pairwise judging: which arm wins, pair by pair and in both orders, and how much the order of presentation decides."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.judge_agreement import total_cost
from outweigh.compare.judge_calls import match_anonymous_failures
from outweigh.errors import EvidenceError
from outweigh.model.codec import record_digest
from outweigh.model.evidence_hash import evidence_sha256_v1
from outweigh.model.judgment import Choice, JudgeVersion, Preference, judge_version_of
from outweigh.stats.estimate import Alternative, Estimate, Interval, Quantity, Significance, Unit, known, unknown
from outweigh.stats.hypothesis_tests import sign_test
from outweigh.stats.means import mean_interval

_SIGNS = {Choice.FIRST: 1.0, Choice.SECOND: -1.0, Choice.TIE: 0.0}


def preference_margin(preference: Preference) -> Quantity:
    """How far an answer leans to the run that was shown first; below 0 it leans to the second.

    From choices: Σ weight·(+1, 0, -1) / Σ weight over the criteria that apply. From scores: their difference.
    """
    if preference.invalid_reason is not None:
        return unknown(f"invalid answer: {preference.invalid_reason}")
    if preference.first_score is not None and preference.second_score is not None:
        return known(preference.first_score - preference.second_score)
    applying = [(item.weight, _SIGNS[item.choice]) for item in preference.criteria if item.choice is not None]
    weight = sum(item_weight for item_weight, _ in applying)
    if weight == 0:
        return unknown("no criterion with a weight applies")
    return known(sum(item_weight * sign for item_weight, sign in applying) / weight)


LEVEL = 0.95
DECIMALS = 9
SHOWN_REASONS = 5


class WinCounts(Struct, frozen=True, kw_only=True):
    """Pairs by who won."""

    wins: int
    ties: int
    losses: int


class PairwiseSummary(Struct, frozen=True, kw_only=True):
    """What one version of a judge prefers. A win is the candidate's.

    `tally` goes by the mean of both orders, in which the place cancels out. `agreed` counts a winner only where both
    orders name it. `first_share` is the share of answers that prefer what was shown first, ties counting half: .5
    without a bias. Pairs that lack a usable answer in one order are `incomplete` and in no figure.
    """

    judge: JudgeVersion
    tasks: int
    pairs: int
    tally: WinCounts
    agreed: WinCounts
    sign_test: Significance
    first_share: Estimate
    incomplete: int
    invalid: int
    cost_usd: Quantity


class Pairwise(Struct, frozen=True, kw_only=True):
    """All judges, by version, about two arms."""

    baseline: str
    candidate: str
    judges: tuple[PairwiseSummary, ...]
    evidence_sha256: str
    warnings: tuple[str, ...]


class _Pair(Struct, frozen=True, kw_only=True):
    """One pair by one judge: how far each order leans to the candidate, and to the first place."""

    task_id: str
    to_candidate: tuple[float, ...]
    to_first: tuple[float, ...]

    @property
    def advantage(self) -> float:
        return round(sum(self.to_candidate) / len(self.to_candidate), DECIMALS)

    @property
    def agreed(self) -> float:
        """+1 or -1 where every order has the same winner, else 0."""
        signs = set(np.sign(self.to_candidate).tolist())
        return float(signs.pop()) if len(signs) == 1 else 0.0


def compare_pairwise(preferences: Iterable[Preference], baseline: str, candidate: str) -> Pairwise:
    """Everything that judges said about these two arms side by side."""
    judge_versions: dict[JudgeVersion, list[Preference]] = defaultdict(list)
    for preference in preferences:
        if {preference.first.arm, preference.second.arm} == {baseline, candidate}:
            judge_versions[judge_version_of(preference.judge)].append(preference)
    has_answered = {
        judge_version: any(one.invalid_reason is None for one in answers)
        for judge_version, answers in judge_versions.items()
    }
    for silent, judge_version in match_anonymous_failures(has_answered).items():
        judge_versions[judge_version].extend(judge_versions.pop(silent))
    ordered = sorted(judge_versions.items(), key=lambda item: (item[0].name, item[0].sha256))
    return Pairwise(
        baseline=baseline,
        candidate=candidate,
        judges=tuple(_summary(judge_version, answers, candidate) for judge_version, answers in ordered),
        evidence_sha256=evidence_sha256_v1(
            record_digest(answer) for answers in judge_versions.values() for answer in answers
        ),
        warnings=tuple(_warnings(judge_versions)),
    )


def _summary(judge_version: JudgeVersion, answers: Sequence[Preference], candidate: str) -> PairwiseSummary:
    groups = _by_pair(answers)
    pairs = [pair for group in groups.values() if (pair := _pair(group, candidate)) is not None]
    by_task: dict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        by_task[pair.task_id].append(pair)
    return PairwiseSummary(
        judge=judge_version,
        tasks=len(by_task),
        pairs=len(pairs),
        tally=_count_wins([pair.advantage for pair in pairs]),
        agreed=_count_wins([pair.agreed for pair in pairs]),
        sign_test=_sign_test(by_task),
        first_share=_first_share(by_task),
        incomplete=len(groups) - len(pairs),
        invalid=len(_unusable(answers)),
        cost_usd=total_cost([answer.cost.usd for answer in answers]),
    )


def _unusable(answers: Sequence[Preference]) -> list[Preference]:
    """Answers that could not be used, and that no later try has mended."""
    mended = {_place(answer) for answer in answers if answer.invalid_reason is None}
    return [answer for answer in answers if answer.invalid_reason is not None and _place(answer) not in mended]


def _place(answer: Preference) -> tuple[str, str, int, str | None]:
    return answer.first.run_id, answer.second.run_id, answer.pass_index, answer.judge.rubric_sha256


def _by_pair(answers: Iterable[Preference]) -> dict[frozenset[str], list[Preference]]:
    groups: dict[frozenset[str], list[Preference]] = defaultdict(list)
    for answer in answers:
        groups[frozenset((answer.first.run_id, answer.second.run_id))].append(answer)
    return groups


def _pair(answers: Sequence[Preference], candidate: str) -> _Pair | None:
    """Both orders, each the mean of its passes; None where one of them has no usable answer."""
    orders: dict[bool, dict[tuple[int, str | None], float]] = {True: {}, False: {}}
    for answer in answers:
        candidate_first = answer.first.arm == candidate
        place = (answer.pass_index, answer.judge.rubric_sha256)
        if (leaning := preference_margin(answer).value) is None:
            continue
        if place in orders[candidate_first]:
            raise EvidenceError(
                f"{answer.judge.name!r} answered twice about {answer.first.run_id!r} before {answer.second.run_id!r}, "
                f"pass {answer.pass_index}. Remove one answer, or number the passes."
            )
        orders[candidate_first][place] = leaning
    # A pass in one order only would bring the place back in.
    shared = sorted(orders[True].keys() & orders[False].keys(), key=str)
    if not shared:
        return None
    ahead, behind = (_mean([orders[first][place] for place in shared]) for first in (True, False))
    return _Pair(task_id=answers[0].task_id, to_candidate=(ahead, -behind), to_first=(ahead, behind))


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), DECIMALS)


def _count_wins(advantages: Sequence[float]) -> WinCounts:
    wins, losses = sum(value > 0 for value in advantages), sum(value < 0 for value in advantages)
    return WinCounts(wins=wins, ties=len(advantages) - wins - losses, losses=losses)


def _sign_test(by_task: Mapping[str, Sequence[_Pair]]) -> Significance:
    """Over tasks, each with its balance of won and lost pairs: repeats of a task are not independent."""
    balances = [sum(float(np.sign(pair.advantage)) for pair in pairs) for pairs in by_task.values()]
    return sign_test(balances, alternative=Alternative.TWO_SIDED, unit=Unit.TASK)


def _first_share(by_task: Mapping[str, Sequence[_Pair]]) -> Estimate:
    shares = [
        float(np.mean([(1 + np.sign(order)) / 2 for pair in pairs for order in pair.to_first]))
        for pairs in by_task.values()
    ]
    return _within_share(mean_interval(shares, level=LEVEL, unit=Unit.TASK))


def _within_share(estimate: Estimate) -> Estimate:
    """A share lies between 0 and 1, and so does its interval."""
    interval = estimate.interval
    if interval is None:
        return estimate
    ends = Interval(
        low=max(0.0, interval.low), high=min(1.0, interval.high), level=interval.level, method=interval.method
    )
    return replace(estimate, interval=ends)


def _warnings(judge_versions: Mapping[JudgeVersion, Sequence[Preference]]) -> Iterator[str]:
    names = [judge_version.name for judge_version in judge_versions]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"judge {name!r} answered with different models, versions or prompts; each is counted by itself."
    reasons = Counter(
        answer.invalid_reason or "" for answers in judge_versions.values() for answer in _unusable(answers)
    )
    if reasons:
        shown = "; ".join(f"{why.rstrip('.')} ({times})" for why, times in reasons.most_common(SHOWN_REASONS))
        yield f"{reasons.total()} answers could not be used; --retry-invalid asks again: {shown}"
