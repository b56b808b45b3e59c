"""Policy `composite`: per-task composite deltas and hard regressions, as seed 001 states them."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.compare.comparison import Comparison
from outweigh.compare.task_comparison import TaskComparison
from outweigh.errors import UsageError, quote_names
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.verdict.blockers import literal_blockers
from outweigh.verdict.configured_policy import ConfiguredPolicy, Policy, PolicyArguments, PolicyOpinion, refuse_gates
from outweigh.verdict.decision import Decision, Regression, RegressionKind, Verdict


class CompositeThresholds(Struct, frozen=True, kw_only=True):
    """Net gain that counts, per-task drop that is too much, and whether any lost check is one."""

    min_composite_gain: float = 0.01
    regression_composite_drop: float = 0.05
    objective_drop_is_regression: float = 1.0

    def __post_init__(self) -> None:
        """A threshold is a finite number of at least 0; the last is a switch."""
        for name, value in asdict(self).items():
            if not isfinite(value) or value < 0:
                raise UsageError(f"threshold {name} must be a number of at least 0, not {value}.")
        if self.objective_drop_is_regression not in (0, 1):
            raise UsageError("threshold objective_drop_is_regression is a switch: 1 (on) or 0 (off).")


DECIMALS = 6


def decide_by_composite(comparison: Comparison, thresholds: CompositeThresholds) -> Verdict:
    """Regressed on any hard regression, improved on a large enough net gain, else neutral; unknown never improves."""
    shared = [task for task in comparison.tasks if task.baseline.present and task.candidate.present]
    deltas = {task.task_id: delta for task in shared if (delta := composite_delta(task)) is not None}
    regressions = tuple(_regressions(comparison.tasks, deltas, thresholds))
    missing = (*_unknown(shared, thresholds), *_unequally_judged(comparison))
    gain = round(sum(deltas.values()), DECIMALS)
    vacuous = {task.task_id for task in shared if task.baseline.vacuous or task.candidate.vacuous}
    supported = round(sum(delta for task_id, delta in deltas.items() if task_id not in vacuous), DECIMALS)
    decision, reason = _decide(regressions, missing, gain, supported, thresholds)
    return Verdict(
        policy="composite",
        decision=decision,
        seed_wording=decision.value,
        reasons=(reason, *(item.detail for item in regressions), *missing),
        warnings=(*comparison.warnings, *comparison.composite_warnings, *_candidate_only(comparison)),
        gates=(),
        regressions=regressions,
        blockers=tuple(literal_blockers(comparison)),
        needs=None,
        settings=asdict(thresholds),
        evidence_sha256=comparison.evidence_sha256,
        evidence_sha256_v1=comparison.evidence_sha256_v1,
    )


def net_gain(comparison: Comparison) -> Quantity:
    """The sum of the composite deltas of all tasks that both arms have; unknown where one of them is."""
    shared = [task for task in comparison.tasks if task.baseline.present and task.candidate.present]
    deltas = [composite_delta(task) for task in shared]
    known_deltas = [delta for delta in deltas if delta is not None]
    if not known_deltas or len(known_deltas) < len(deltas):
        return unknown(f"the composite of {len(deltas) - len(known_deltas)} of {len(deltas)} tasks is unknown")
    return known(round(sum(known_deltas), DECIMALS))


def composite_delta(task: TaskComparison) -> float | None:
    """Candidate mean minus baseline mean, rounded before anything is compared with it."""
    return _difference(task.baseline.composite, task.candidate.composite)


def _decide(
    regressions: tuple[Regression, ...],
    unknown: tuple[str, ...],
    net_gain: float,
    supported: float,
    thresholds: CompositeThresholds,
) -> tuple[Decision, str]:
    needed = thresholds.min_composite_gain
    if regressions:
        return Decision.REGRESSED, f"{len(regressions)} hard regression(s); the net gain is {net_gain:+.2g}"
    if unknown:
        return Decision.INCONCLUSIVE, f"{len(unknown)} task score(s) are unknown, so the net gain is too"
    if net_gain <= needed:
        return Decision.NEUTRAL, f"the net gain of {net_gain:+.2g} does not exceed {needed:g}"
    if supported <= needed:
        return Decision.INCONCLUSIVE, (
            f"the net gain of {net_gain:+.2g} comes from tasks without checks; the others gain {supported:+.2g}"
        )
    return Decision.IMPROVED, f"the net gain of {net_gain:+.2g} exceeds {needed:g} and nothing regressed"


def _regressions(
    tasks: Sequence[TaskComparison], deltas: dict[str, float], thresholds: CompositeThresholds
) -> Iterator[Regression]:
    for task in tasks:
        if not task.candidate.present:
            yield _regression(RegressionKind.MISSING_TASK, task, "the candidate has no run of it")
            continue
        delta = deltas.get(task.task_id)
        if delta is not None and not isfinite(delta):
            yield _regression(RegressionKind.NON_FINITE_SCORE, task, "its composite is not a finite number")
        elif delta is not None and delta < -thresholds.regression_composite_drop:
            yield _regression(RegressionKind.COMPOSITE_DROP, task, f"its composite changed by {delta:+g}")
        if thresholds.objective_drop_is_regression and (drop := _objective_drop(task)):
            yield _regression(RegressionKind.OBJECTIVE_DROP, task, drop)


def _regression(kind: RegressionKind, task: TaskComparison, what: str) -> Regression:
    return Regression(kind=kind, task_id=task.task_id, detail=f"task {task.task_id!r}: {what}")


def _objective_drop(task: TaskComparison) -> str | None:
    """A drop in the checks passed per run, or in their share where the number of checks differs."""
    passed = _difference(task.baseline.checks_passed, task.candidate.checks_passed)
    share = _difference(task.baseline.objective, task.candidate.objective)
    if passed is not None and passed < 0:
        return f"checks passed per run changed by {passed:+g}"
    return f"the share of checks passed changed by {share:+g}" if share is not None and share < 0 else None


def _difference(before: Quantity, after: Quantity) -> float | None:
    if before.value is None or after.value is None:
        return None
    return round(after.value - before.value, DECIMALS)


def _unknown(shared: list[TaskComparison], thresholds: CompositeThresholds) -> Iterator[str]:
    names = ("composite", "objective") if thresholds.objective_drop_is_regression else ("composite",)
    for task in shared:
        for role, side in (("baseline", task.baseline), ("candidate", task.candidate)):
            reasons = [reason for name in names if (reason := getattr(side, name).reason) is not None]
            if reasons:
                yield f"task {task.task_id!r}: the {role}'s score is unknown, {reasons[0]}"


def _unequally_judged(comparison: Comparison) -> Iterator[str]:
    """A judge that failed on some runs may have failed on just those that would have changed the decision."""
    for task_id in comparison.unequally_judged:
        yield f"task {task_id!r}: its judge scores are unknown, because not every run has the same judges and passes"


def _candidate_only(comparison: Comparison) -> tuple[str, ...]:
    extra = [task.task_id for task in comparison.tasks if not task.baseline.present]
    return (f"only the candidate has {quote_names(extra)}: reported, and left out of the gain.",) if extra else ()


def composite_thresholds(margins: Mapping[str, float]) -> CompositeThresholds:
    """The thresholds with these margins in place of their defaults."""
    known = CompositeThresholds.__struct_fields__
    for name in margins:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy composite has no margin {name!r}; it has {', '.join(known)}.{hint}")
    return CompositeThresholds(**margins)


def _configure(arguments: PolicyArguments) -> ConfiguredPolicy:
    refuse_gates("composite", arguments)
    thresholds = composite_thresholds(arguments.margins)
    return ConfiguredPolicy(
        name="composite",
        decide=lambda comparisons: tuple(decide_by_composite(comparison, thresholds) for comparison in comparisons),
        opinion=lambda comparison: _opinion(comparison, thresholds),
    )


def _opinion(comparison: Comparison, thresholds: CompositeThresholds) -> PolicyOpinion:
    verdict = decide_by_composite(comparison, thresholds)
    # This policy is inconclusive only where a score is unknown or asserts nothing.
    obstacle = verdict.reasons[0] if verdict.decision is Decision.INCONCLUSIVE else None
    return PolicyOpinion(decision=verdict.decision, obstacle=obstacle)


COMPOSITE = Policy(name="composite", infers=False, configure=_configure)
