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
    """Decide about all candidates of one baseline together, so that many tries do not make a lucky one."""
    superior = _rejected(candidates, "superior", rates.superiority, (Scale.POINTS, Scale.RATIO))
    passes = _rejected(candidates, "alarm", rates.pass_rate_alarm, (Scale.POINTS,))
    resources = _rejected(candidates, "alarm", rates.resource_alarm, (Scale.RATIO,))
    return tuple(
        _finding(tests, superior[index], (*passes[index], *resources[index]), rates)
        for index, tests in enumerate(candidates)
    )


def _finding(
    tests: Sequence[GateTest], superior: tuple[str, ...], alarms: tuple[str, ...], rates: ErrorRates
) -> Finding:
    return Finding(
        decision=_decide(tests, superior, alarms, rates), tests=tuple(tests), superior=superior, alarms=alarms
    )


def _decide(
    tests: Sequence[GateTest], superior: tuple[str, ...], alarms: tuple[str, ...], rates: ErrorRates
) -> Decision:
    if any(test.unknown for test in tests):
        return Decision.INCONCLUSIVE
    if alarms:
        return Decision.REGRESSED
    if superior and all(_shown(test.non_inferior, rates.non_inferiority) for test in tests):
        return Decision.IMPROVED
    if all(_shown(test.equivalent, rates.non_inferiority) for test in tests):
        return Decision.NEUTRAL
    return Decision.INCONCLUSIVE


def _rejected(
    candidates: Sequence[Sequence[GateTest]], question: str, alpha: float, scales: tuple[Scale, ...]
) -> list[tuple[str, ...]]:
    """The gates of each candidate whose p-value survives Holm's correction over all of them."""
    asked = [
        (index, test) for index, tests in enumerate(candidates) for test in tests if test.sample.gated.scale in scales
    ]
    found: list[list[str]] = [[] for _ in candidates]
    adjusted = adjust_holm([getattr(test, question) for _, test in asked]) if asked else ()
    for (index, test), p_value in zip(asked, adjusted, strict=True):
        if p_value <= alpha:
            found[index].append(test.sample.gated.name)
    return [tuple(names) for names in found]


def _shown(p_value: float | None, alpha: float) -> bool:
    return p_value is not None and p_value <= alpha
