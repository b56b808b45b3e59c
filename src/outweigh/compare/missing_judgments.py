"""Judge scores of runs for which an answer of one of their judges is missing.

Judges differ more from each other than arms do, so a run that its strict judge did not score would look better than it
is. Where all arms share two judges and few runs lack an answer, it is filled in by the additive model score = run +
judge. Where a judge fails on one arm more often than by chance, scores are unknown: those that are left flatter an arm.

Two arms are decided by `TWO_ARMS`. A ladder has many arms, and what one of them lacks may not hide all others:
`MANY_ARMS` leaves out the arm on which a judge fails, and the runs that nobody judged, and keeps the rest.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.compare.run_scores import has_any
from outweigh.model.judgment import JudgeIdentity, JudgeVersion, judge_version_of
from outweigh.score.judge_scores import JudgeCount
from outweigh.score.run_score import Score
from outweigh.stats.additive_model import fill_missing_ratings
from outweigh.stats.hypothesis_tests import adjust_holm, fisher_exact_p
from outweigh.stats.sample import Sample

FILLED_TOLERANCE = 0.05
"""The share of the judged runs that may lack an answer."""
FILLED_ANSWERS_TOLERANCE = 0.25
"""The share of all answers that may be missing from a ladder."""
ONE_SIDED_LEVEL = 0.01
FEWEST_SHARED_JUDGES = 2


class FillRule(Struct, frozen=True, kw_only=True):
    """When missing answers are filled in, and what becomes of those that are not.

    With `by_arm`, the tolerance is a share of all answers, one-sided failures are found at a level that holds for all
    arms together (Holm), and what cannot be filled in is left out by arm and by run. Otherwise the tolerance is a share
    of the runs, and the task is left out for every arm.
    """

    tolerance: float
    by_arm: bool


TWO_ARMS = FillRule(tolerance=FILLED_TOLERANCE, by_arm=False)
MANY_ARMS = FillRule(tolerance=FILLED_ANSWERS_TOLERANCE, by_arm=True)

Arms = Mapping[str, Sequence[Score]]
CountsOf = Callable[[Score], frozenset[JudgeCount]]
ExpectedCounts = Mapping[JudgeVersion, JudgeCount]


class CompletedJudging(Struct, frozen=True, kw_only=True):
    """The arms with what was filled in, and what to say about it.

    On `unknown_tasks` a judge that is shown failed on one arm more than on another, on `undecided_tasks` one that may
    decide.
    """

    arms: Arms
    unknown_tasks: frozenset[str] = frozenset()
    undecided_tasks: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def complete_judging(arms: Arms, rule: FillRule = TWO_ARMS) -> CompletedJudging:
    """Fill in missing answers of all judges that are shown, and again of those among them that may decide."""
    if not any(has_any(scores, "judge_opinions") for scores in arms.values()):
        return CompletedJudging(arms=arms)
    shown, unknown, notes = _complete(arms, lambda run: run.judge_counts, _with_shown_score, rule)
    decided, undecided, others = _complete(shown, lambda run: run.deciding_judge_counts, _with_deciding_score, rule)
    return CompletedJudging(
        arms=decided,
        unknown_tasks=unknown,
        undecided_tasks=undecided,
        notes=tuple(dict.fromkeys((*notes, *others))),
    )


def _with_shown_score(run: Score, score: float | None, counts: frozenset[JudgeCount]) -> Score:
    return msgspec.structs.replace(run, judge_score=score, judge_counts=counts)


def _with_deciding_score(run: Score, score: float | None, counts: frozenset[JudgeCount]) -> Score:
    return msgspec.structs.replace(run, deciding_judge_score=score, deciding_judge_counts=counts)


WithScore = Callable[[Score, float | None, frozenset[JudgeCount]], Score]


def _complete(
    arms: Arms, counts_of: CountsOf, with_score: WithScore, rule: FillRule
) -> tuple[Arms, frozenset[str], tuple[str, ...]]:
    panel = _tabulate([score for scores in arms.values() for score in scores if score.counted], counts_of)
    failures = tuple(_one_sided_failures(panel, tuple(arms), rule))
    if failures and not rule.by_arm:
        failing = {failure.judge for failure in failures}
        unknown = frozenset(task for task, counts in panel.expected.items() if failing & counts.keys())
        return arms, unknown, tuple(map(_describe, failures))
    failed_arms = {failure.arm for failure in failures}
    filled: dict[tuple[str, str, int], Score] = {
        _key(run): with_score(run, score, frozenset(panel.expected[run.task_id].values()))
        for run, score in _fill(panel, [arm for arm in arms if arm not in failed_arms], rule)
        if run.arm not in failed_arms
    }
    notes = [*map(_describe, failures), *_describe_filled(len(filled), panel, rule)]
    if rule.by_arm:
        left_out = {
            _key(run): with_score(run, None, frozenset())
            for run in _unfilled(arms, panel, counts_of, filled, failed_arms)
        }
        # Answers about an arm on which a judge fails are one-sided, and said so above.
        apart = sum(arm not in failed_arms for arm, _, _ in left_out)
        if apart:
            runs = "1 run has" if apart == 1 else f"{apart} runs have"
            notes.append(f"{runs} no judge score, because too few judges answered. Judge scores leave out such runs.")
        filled |= left_out
    if not filled:
        return arms, frozenset(), tuple(notes)
    completed = {
        arm: [filled.get((arm, score.task_id, score.repeat), score) for score in scores] for arm, scores in arms.items()
    }
    return completed, frozenset(), tuple(notes)


def _key(run: Score) -> tuple[str, str, int]:
    return run.arm, run.task_id, run.repeat


def _describe_filled(filled: int, panel: "_Panel", rule: FillRule) -> Iterator[str]:
    if not filled:
        return
    runs = len(panel.runs)
    note = (
        f"{filled:,} of {runs:,} judged runs ({100 * filled / runs:.1f} %) lack an answer of a judge. It is filled "
        "in from the run's other judges and from how the judges differ on all runs."
    )
    answers = panel.lacking.sum() / panel.asked.sum()
    if rule.by_arm and answers > FILLED_TOLERANCE:
        note += f" That is {100 * answers:.1f} % of all answers: judge the missing runs before you rely on composites."
    yield note


def _unfilled(
    arms: Arms, panel: "_Panel", counts_of: CountsOf, filled: Collection[tuple[str, str, int]], failed: Collection[str]
) -> Iterator[Score]:
    """Runs of judged tasks whose panel is not complete: those of arms on which a judge fails, and those nobody scored.

    Nothing where too much is missing to fill in: then tasks are left out as a whole, as they are for two arms.
    """
    if not filled and not failed and _lacking_share(panel) > 0 and not _may_fill(panel, tuple(arms), MANY_ARMS):
        return
    for scores in arms.values():
        for run in scores:
            counts = panel.expected.get(run.task_id)
            if counts is None or not run.counted or _key(run) in filled:
                continue
            if run.arm in failed or counts_of(run) != frozenset(counts.values()):
                yield run


class _Panel(Struct, frozen=True, kw_only=True):
    """Runs by judges: which of them were `asked`, and their complete answers, NaN where there is none.

    `expected` are the judges of each task. Tasks that a judge scored by different rubrics are not among them: nothing
    tells how these differ.
    """

    runs: Sequence[Score]
    judges: Sequence[JudgeVersion]
    expected: Mapping[str, ExpectedCounts]
    asked: NDArray[np.bool_]
    ratings: Sample

    @property
    def lacking(self) -> NDArray[np.bool_]:
        """Which answers are missing."""
        return self.asked & np.isnan(self.ratings)

    @property
    def cells(self) -> NDArray[np.intp]:
        """Which runs are repeats of one trial."""
        places: dict[tuple[str, str], int] = {}
        trials = [places.setdefault((run.arm, run.task_id), len(places)) for run in self.runs]
        return np.array(trials, dtype=np.intp)

    def of_arm(self, arm: str) -> NDArray[np.bool_]:
        """Which of the runs are of this arm."""
        return np.array([run.arm == arm for run in self.runs], dtype=bool)


def _tabulate(runs: Iterable[Score], counts_of: CountsOf) -> _Panel:
    runs = list(runs)
    expected = _expected_counts(runs, counts_of)
    judged = [run for run in runs if run.task_id in expected]
    judges = sorted({judge for counts in expected.values() for judge in counts}, key=str)
    columns = {judge: column for column, judge in enumerate(judges)}
    asked = np.zeros((len(judged), len(judges)), dtype=bool)
    ratings = np.full(asked.shape, np.nan)
    for row, run in enumerate(judged):
        scores = {opinion.judge_count: opinion.score for opinion in run.judge_opinions}
        for judge, judge_count in expected[run.task_id].items():
            asked[row, columns[judge]] = True
            ratings[row, columns[judge]] = scores.get(judge_count, np.nan)
    return _Panel(runs=judged, judges=judges, expected=expected, asked=asked, ratings=ratings)


def _expected_counts(runs: Iterable[Score], counts_of: CountsOf) -> dict[str, ExpectedCounts]:
    """The judges of every task that somebody judged, each with the passes that a complete answer of it has."""
    versions: dict[JudgeIdentity, JudgeVersion] = {}
    seen: dict[str, dict[JudgeVersion, set[JudgeCount]]] = defaultdict(lambda: defaultdict(set))
    for run in runs:
        for judge_count in counts_of(run):
            version = versions.setdefault(judge_count.judge, judge_version_of(judge_count.judge))
            seen[run.task_id][version].add(judge_count)
    expected: dict[str, ExpectedCounts] = {}
    for task, judges in seen.items():
        counts = {judge: _complete_count(found) for judge, found in judges.items()}
        known = {judge: judge_count for judge, judge_count in counts.items() if judge_count is not None}
        if len(known) == len(counts):
            expected[task] = known
    return expected


def _complete_count(found: set[JudgeCount]) -> JudgeCount | None:
    """The most passes of a complete answer; None where there is none, or answers are to different rubrics."""
    complete = [judge_count for judge_count in found if judge_count.complete]
    if not complete or len({judge_count.judge for judge_count in found}) > 1:
        return None
    return max(complete, key=lambda judge_count: judge_count.passes)


class _OneSidedFailure(Struct, frozen=True, kw_only=True):
    """A judge that lacks answers about one arm more often than about the others."""

    judge: JudgeVersion
    arm: str
    lacking: int
    runs: int
    others_lacking: int
    others: int
    p_value: float


def _one_sided_failures(panel: _Panel, arms: Sequence[str], rule: FillRule) -> Iterator[_OneSidedFailure]:
    candidates = list(_failures_above_others(panel, arms))
    p_values = [each.p_value for each in candidates]
    # Arms that lack nothing more than others were looked at, too.
    looks = len(arms) * len(panel.judges)
    adjusted = adjust_holm([*p_values, *[1.0] * (looks - len(p_values))]) if rule.by_arm else p_values
    for each, p_value in zip(candidates, adjusted, strict=False):
        if p_value <= ONE_SIDED_LEVEL:
            yield each


def _failures_above_others(panel: _Panel, arms: Sequence[str]) -> Iterator[_OneSidedFailure]:
    """Judges that lack a larger share of one arm's answers than of the others', whether or not by chance."""
    lacking = panel.lacking
    for column, judge in enumerate(panel.judges):
        for arm in arms if lacking[:, column].any() else ():
            mine = panel.of_arm(arm)
            ours, theirs = (panel.asked[:, column] & side for side in (mine, ~mine))
            missing, missing_elsewhere = (int(lacking[side, column].sum()) for side in (ours, theirs))
            runs, others = int(ours.sum()), int(theirs.sum())
            if missing * others > missing_elsewhere * runs:
                yield _OneSidedFailure(
                    judge=judge,
                    arm=arm,
                    lacking=missing,
                    runs=runs,
                    others_lacking=missing_elsewhere,
                    others=others,
                    p_value=fisher_exact_p(missing, runs, missing_elsewhere, others),
                )


def _describe(failure: _OneSidedFailure) -> str:
    return (
        f"judge {failure.judge.name!r} has no complete answer about {failure.lacking} of {failure.runs} runs of "
        f"{failure.arm}, and about {failure.others_lacking} of {failure.others} others, more than chance explains "
        f"(Fisher's exact test, p = {failure.p_value:.2g}). Judge scores are unknown until the missing runs are judged."
    )


def _fill(panel: _Panel, arms: Sequence[str], rule: FillRule) -> Iterator[tuple[Score, float]]:
    """Runs that lack an answer, with their completed scores; none where too many do, or too few judges are shared."""
    rows = np.flatnonzero(panel.lacking.any(axis=1)).tolist()
    if not rows or not _may_fill(panel, arms, rule):
        return
    filled = np.clip(fill_missing_ratings(panel.ratings, panel.cells if rule.by_arm else None), 0.0, 1.0)
    for row in rows:
        score = float(filled[row, panel.asked[row]].mean())
        if not np.isnan(score):
            yield panel.runs[row], score


def _may_fill(panel: _Panel, arms: Sequence[str], rule: FillRule) -> bool:
    share = _lacking_share(panel) if rule.by_arm else float(panel.lacking.any(axis=1).mean())
    return share <= rule.tolerance and _shared_judges(panel, arms) >= FEWEST_SHARED_JUDGES


def _lacking_share(panel: _Panel) -> float:
    asked = int(panel.asked.sum())
    return int(panel.lacking.sum()) / asked if asked else 0.0


def _shared_judges(panel: _Panel, arms: Sequence[str]) -> int:
    """How many judges gave complete answers about every arm."""
    answered = [(~np.isnan(panel.ratings[panel.of_arm(arm)])).any(axis=0) for arm in arms]
    return int(np.logical_and.reduce(answered).sum())
