"""The evidence policy's rule, on nothing but task-level deltas: non-inferior everywhere and superior somewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.stats.multiplicity import adjust_holm
from outweigh.verdict.evidence_settings import PROMISED, ErrorRates
from outweigh.verdict.gate_sample import GateSample, tails_of
from outweigh.verdict.gated_metric import Scale
from outweigh.verdict.tails import Tails
from outweigh.verdict.verdict import Decision


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateTest:
    """The four questions about one gate, as one-sided p-values; None means that the data cannot say."""

    sample: GateSample
    tails: Tails
    non_inferior: float | None
    superior: float | None
    equivalent: float | None
    alarm: float | None

    @property
    def unknown(self) -> bool:
        """Whether the gate cannot be judged at all."""
        return self.non_inferior is None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finding:
    """What the rule says about one candidate, before anything outside the deltas is looked at."""

    decision: Decision
    tests: tuple[GateTest, ...]
    superior: tuple[str, ...]
    alarms: tuple[str, ...]


def examine(sample: GateSample, *, fixed_suite: bool = False, planned_tasks: int | None = None) -> GateTest:
    """Ask all four questions about one gate."""
    tails = tails_of(sample, fixed_suite=fixed_suite, planned_tasks=planned_tasks)
    not_worse, not_better = tails.above(-sample.limit), tails.below(sample.limit)
    # Any loss of passes is a loss; a resource is only overspent beyond its margin.
    harm = 0.0 if sample.gated.scale is Scale.POINTS else -sample.limit
    return GateTest(
        sample=sample,
        tails=tails,
        non_inferior=not_worse,
        superior=tails.above(0.0),
        equivalent=None if not_worse is None or not_better is None else max(not_worse, not_better),
        alarm=tails.below(harm),
    )


def find(candidates: Sequence[Sequence[GateTest]], rates: ErrorRates = PROMISED) -> tuple[Finding, ...]:
    """Decide about all candidates of one baseline together, so that many tries do not make a lucky one.

    What speaks for a candidate is corrected over all of them. What speaks against one is not: company is no excuse.
    """
    superior = _superior(candidates, rates.superiority)
    not_worse = adjust_holm([_weakest([test.non_inferior for test in tests]) for tests in candidates])
    return tuple(
        _finding(tests, superior[index], not_worse[index] <= rates.non_inferiority, rates)
        for index, tests in enumerate(candidates)
    )


def alarms_of(tests: Sequence[GateTest], rates: ErrorRates = PROMISED) -> tuple[str, ...]:
    """The gates on which one candidate is shown to be worse."""
    passes = _rejected(tests, Scale.POINTS, rates.pass_rate_alarm)
    return (*passes, *_rejected(tests, Scale.RATIO, rates.resource_alarm))


def _finding(tests: Sequence[GateTest], superior: tuple[str, ...], not_worse: bool, rates: ErrorRates) -> Finding:
    alarms = alarms_of(tests, rates)
    return Finding(
        decision=_decide(tests, bool(superior) and not_worse, alarms, rates),
        tests=tuple(tests),
        superior=superior,
        alarms=alarms,
    )


def _decide(tests: Sequence[GateTest], improved: bool, alarms: tuple[str, ...], rates: ErrorRates) -> Decision:
    if any(test.unknown for test in tests):
        return Decision.INCONCLUSIVE
    if alarms:
        return Decision.REGRESSED
    if improved:
        return Decision.IMPROVED
    same = _weakest([test.equivalent for test in tests])
    return Decision.NEUTRAL if same is not None and same <= rates.non_inferiority else Decision.INCONCLUSIVE


def _superior(candidates: Sequence[Sequence[GateTest]], alpha: float) -> list[tuple[str, ...]]:
    """The gates of each candidate whose gain survives Holm's correction over all gates of all candidates."""
    asked = [(index, test) for index, tests in enumerate(candidates) for test in tests]
    found: list[list[str]] = [[] for _ in candidates]
    adjusted = adjust_holm([test.superior for _, test in asked]) if asked else ()
    for (index, test), p_value in zip(asked, adjusted, strict=True):
        if p_value <= alpha:
            found[index].append(test.sample.gated.name)
    return [tuple(names) for names in found]


def _rejected(tests: Sequence[GateTest], scale: Scale, alpha: float) -> tuple[str, ...]:
    asked = [test for test in tests if test.sample.gated.scale is scale]
    adjusted = adjust_holm([test.alarm for test in asked]) if asked else ()
    return tuple(test.sample.gated.name for test, p in zip(asked, adjusted, strict=True) if p <= alpha)


def _weakest(p_values: Sequence[float | None]) -> float | None:
    """All must be shown, so the largest p-value speaks for all; one that is unknown silences them."""
    known = [p_value for p_value in p_values if p_value is not None]
    return max(known) if known and len(known) == len(p_values) else None
