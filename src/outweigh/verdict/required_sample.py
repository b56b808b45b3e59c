"""What it would take to decide: tasks, repeats, dollars, found by simulating the rule on more tasks like these.

The tasks at hand stay, and further ones are drawn from among them in two ways: as if the arms were alike, with the
arms of a drawn task swapped by chance; and as if the effects were what they look like now, with weights that leave
open what the tasks at hand do not settle. For planning, never power after the fact.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.compare.comparison import Comparison
from outweigh.stats.distributions import normal_quantile
from outweigh.stats.means import suite_error
from outweigh.stats.variance import cluster_errors
from outweigh.verdict.decision import Decision, RequiredSample
from outweigh.verdict.evidence_settings import ERROR_RATES, MINIMUM_TASKS, EffectScale, EvidenceSettings, GateRole
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample
from outweigh.verdict.p_values import AnytimePValues
from outweigh.verdict.rule_on_arrays import (
    Counts,
    CriticalValue,
    GateLimits,
    GateMoments,
    SampleMoments,
    SimulatedDecisions,
    decide_by_moments,
    limits_of,
    t_critical_value,
    weights_in_sum,
)

Values = NDArray[np.float64]

POWER = 0.8
WANTED = normal_quantile(POWER)
MOST_TASKS = 2_000
EXPERIMENTS = 90
STEP = 2
HALVINGS = 3
REPEAT_FACTORS = (2, 4, 8)
MOST_REPEATS = 100


def required_sample(
    gates: Sequence[GateSample], comparison: Comparison, settings: EvidenceSettings
) -> RequiredSample | None:
    """Enough for a decision four times in five, whether the arms are alike or the effects are what they look like."""
    have = min((len(gate.benefits) for gate in gates), default=0)
    if any(gate.unknown is not None for gate in gates) or have < 2:
        # More tasks do not make a metric known; below the minimum they are the first thing to ask for.
        return _describe(_Need(tasks=MINIMUM_TASKS - have), comparison) if have < MINIMUM_TASKS else None
    if settings.fixed_suite:
        return _describe(_Need(repeats=_repeats_for_this_suite(gates, comparison)), comparison)
    tasks = _tasks_at_hand(gates)
    if not tasks:
        return None
    search = _Search(tasks, _critical_value(settings), np.random.default_rng(settings.seed))
    enough, as_seen = _tasks_for_a_decision(search, gates)
    need = _Need(
        tasks=enough,
        tasks_as_seen=as_seen,
        repeats=search.repeats_if_alike(comparison.fewest_repeats),
        in_the_way=search.in_the_way(),
    )
    return _describe(need, comparison)


def tasks_for_a_decision(gates: Sequence[GateSample], settings: EvidenceSettings) -> tuple[int | None, int | None]:
    """Tasks to add: enough whether the arms are alike or not, and enough if the effects are what they look like."""
    search = _Search(_tasks_at_hand(gates), _critical_value(settings), np.random.default_rng(settings.seed))
    return _tasks_for_a_decision(search, gates)


def _tasks_for_a_decision(search: "_Search", gates: Sequence[GateSample]) -> tuple[int | None, int | None]:
    have, spread = min(len(gate.benefits) for gate in gates), _family_effect(gates)
    as_seen, alike = search.tasks_as_seen(), search.tasks_if_alike()
    return _largest([alike, as_seen], spread, have), _largest([as_seen], spread, have)


class _Need(Struct, frozen=True, kw_only=True):
    tasks: int | None = None
    tasks_as_seen: int | None = None
    repeats: int | None = None
    in_the_way: str | None = None


def _largest(tasks: Sequence[int | None], spread: float, have: int) -> int | None:
    known = [ceil(spread * number) for number in tasks if number is not None]
    return max(*known, MINIMUM_TASKS - have) if len(known) == len(tasks) else None


def _describe(need: _Need, comparison: Comparison) -> RequiredSample | None:
    tasks = need.tasks if need.tasks is not None else need.tasks_as_seen
    if not tasks and not need.repeats:
        return None
    dollars = _price_of_a_task(comparison)
    cost = None if dollars is None or not tasks else tasks * dollars
    return RequiredSample(
        more_tasks=tasks or None,
        more_tasks_as_seen=need.tasks_as_seen,
        more_repeats=need.repeats,
        cost_usd=cost,
        in_the_way=need.in_the_way,
        detail="".join(_words(need, tasks or 0, cost)),
    )


def _words(need: _Need, tasks: int, cost: float | None) -> Iterator[str]:
    if not tasks:
        yield f"about {need.repeats} more repeats of every task"
        return
    price = "" if cost is None else f", about ${cost:,.2f} at this suite's prices"
    yield f"about {tasks} more tasks{price}"
    if need.tasks_as_seen is None and need.tasks is None:
        return
    if need.tasks is None:
        yield f", if the effects are what they look like now (if the arms are alike, over {MOST_TASKS:,} tasks)"
    elif need.tasks_as_seen is not None and need.tasks_as_seen < tasks:
        yield f", or {need.tasks_as_seen} if the effects are what they look like now"
    yield f", or {need.repeats} more repeats of every task" if need.repeats else "; more repeats alone would not do"
    yield f" (for a decision in {100 * POWER:g} % of such experiments"
    yield f"; {need.in_the_way} is most often in the way)" if need.in_the_way else ")"


def _price_of_a_task(comparison: Comparison) -> float | None:
    """Both arms' runs of one task, at the repeats and mean costs of this comparison."""
    arms = (comparison.baseline, comparison.candidate)
    costs = [arm.metrics["cost_usd"].mean for arm in arms]
    if any(cost is None for cost in costs):
        return None
    return sum((cost or 0.0) * arm.runs / arm.tasks for cost, arm in zip(costs, arms, strict=True))


def _family_effect(gates: Sequence[GateSample]) -> float:
    """How many times the tasks it takes where tasks of a family are alike, on the gate where that is most."""
    ratios = [1.0]
    for gate in gates:
        if gate.families is not None and len(set(gate.families)) > 1 and float(gate.benefits.std()) > 0:
            error = cluster_errors(gate.benefits, gate.families).cr2
            ratios.append(error**2 * len(gate.benefits) / float(gate.benefits.var(ddof=1)))
    return max(ratios)


def _repeats_for_this_suite(gates: Sequence[GateSample], comparison: Comparison) -> int | None:
    """Repeats that would show every gate to be the same, if the arms are alike and only runs scatter."""
    wanted = 0.0
    for gate in gates:
        if gate.noise is None:
            return None
        variances, runs = (
            np.stack([getattr(arm, name).astype(np.float64) for arm in gate.noise]) for name in ("variances", "counts")
        )
        error, _ = suite_error(variances, runs)
        reach = normal_quantile(1 - ERROR_RATES.non_inferiority) + normal_quantile((1 + POWER) / 2)
        wanted = max(wanted, comparison.fewest_repeats * (reach * error / gate.limit) ** 2)
    more = ceil(wanted) - comparison.fewest_repeats
    return more if 0 < more <= MOST_REPEATS * comparison.fewest_repeats else None


def _critical_value(settings: EvidenceSettings) -> CriticalValue:
    """That of the test that will decide: wider where the data are looked at more than once."""
    planned = settings.planned_tasks
    if planned is None:
        return t_critical_value
    return lambda alpha, tasks: _anytime_critical_value(alpha, tasks, planned)


@cache
def _anytime_critical_value(alpha: float, tasks: int, planned: int) -> float:
    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        p_values = AnytimePValues(mean=middle / sqrt(tasks), deviation=1.0, tasks=tasks, planned_tasks=planned)
        p_value = p_values.above(0.0)
        low, high = (low, middle) if p_value is not None and p_value <= alpha else (middle, high)
    return high


class _TaskValues(Struct, frozen=True, kw_only=True, eq=False):
    """One gate's value for each kind of task: the benefit, and a resource's amounts in both arms."""

    limits: GateLimits
    benefits: Values
    amounts: tuple[Values, Values] | None
    run_share: float | None
    """The part of the variance of the benefits that is noise between runs."""

    def without_effect(self, scale: float = 1.0) -> "_TaskValues":
        """Every task twice, with its arms as they are and swapped, after the mean effect on a resource is taken out.

        `scale` brings the arms of a task closer to each other.
        """
        resource = self.limits.role is GateRole.RESOURCE
        benefits = scale * (self.benefits - self.benefits.mean() if resource else self.benefits)
        amounts = None
        if self.amounts is not None:
            before, after = self.amounts[0], self.amounts[1] * (self.amounts[0].mean() / self.amounts[1].mean())
            middle, half = (before + after) / 2, scale * (after - before) / 2
            ours, theirs = middle - half, middle + half
            amounts = np.concatenate([ours, theirs]), np.concatenate([theirs, ours])
        return replace(self, benefits=np.concatenate([benefits, -benefits]), amounts=amounts)

    def beside(self, other: "_TaskValues") -> "_TaskValues":
        """The kinds of task of both."""
        amounts = None
        if self.amounts is not None and other.amounts is not None:
            pairs = zip(self.amounts, other.amounts, strict=True)
            ours, theirs = (np.concatenate(pair) for pair in pairs)
            amounts = ours, theirs
        return replace(self, benefits=np.concatenate([self.benefits, other.benefits]), amounts=amounts)


def _tasks_at_hand(gates: Sequence[GateSample]) -> tuple[_TaskValues, ...]:
    """The tasks that every gate knows; nothing where there are not two of them."""
    samples = [gate for gate in gates if not gate.equal]
    parts = [part for gate in samples for part in (gate, gate.total) if part is not None]
    known = set.intersection(*(set(part.tasks) for part in parts)) if parts else set()
    names = [task for task in samples[0].tasks if task in known] if samples else []
    return tuple(_task_values(gate, names) for gate in samples) if len(names) > 1 else ()


def _task_values(gate: GateSample, names: Sequence[str]) -> _TaskValues:
    amounts, total = None, gate.total
    if total is not None and total.noise is not None:
        before, after = (_pick(total.tasks, arm.means, names) for arm in total.noise)
        amounts = before, after * float(np.exp(-total.benefits.mean()))
    return _TaskValues(
        limits=limits_of(gate),
        benefits=_pick(gate.tasks, gate.benefits, names),
        amounts=amounts,
        run_share=_run_share(gate),
    )


def _pick(tasks: Sequence[str], values: Values, names: Sequence[str]) -> Values:
    places = {task: place for place, task in enumerate(tasks)}
    return values[[places[task] for task in names]]


def _run_share(gate: GateSample) -> float | None:
    variance = float(gate.benefits.var(ddof=1))
    if gate.noise is None or not variance > 0 or min(int(arm.counts.min()) for arm in gate.noise) < 2:
        return None
    noise = sum(float(np.mean(arm.variances / arm.counts)) for arm in gate.noise)
    return min(1.0, noise / variance)


class _Search:
    """The smallest sizes at which simulated experiments are decided often enough.

    An experiment is how often it has each kind of task, so that its size costs no time.
    """

    def __init__(self, tasks: tuple[_TaskValues, ...], critical: CriticalValue, random: Generator) -> None:
        self._tasks, self._critical, self._random = tasks, critical, random
        self._size = len(tasks[0].benefits)
        self._unequal: Mapping[str, float] = {}

    def tasks_if_alike(self) -> int | None:
        """Tasks to add if the arms are alike: drawn from those at hand, the arms of each swapped by chance."""
        kinds = [gate.beside(gate.without_effect()) for gate in self._tasks]
        chances = np.full(2 * self._size, 1 / (2 * self._size))

        def draw(more: int) -> Counts:
            drawn = self._random.multinomial(more, chances, EXPERIMENTS)
            return np.concatenate([np.ones((EXPERIMENTS, self._size), dtype=np.int64), drawn], axis=1)

        return self._tasks_needed(kinds, draw)

    def tasks_as_seen(self) -> int | None:
        """Tasks to add if the effects are as they look, with weights under which a mean varies as its t interval."""
        weights = self._random.dirichlet(np.full(self._size, max(1.0, self._size - 2) / self._size), EXPERIMENTS)

        def draw(more: int) -> Counts:
            return 1 + self._random.multinomial(more, weights)

        return self._tasks_needed(self._tasks, draw)

    def _tasks_needed(self, kinds: Sequence[_TaskValues], draw: Callable[[int], Counts]) -> int | None:
        more, last = max(2, self._size // 4), (0, -6.0)
        while self._size + more <= MOST_TASKS:
            decisions = self._decide(kinds, draw(more))
            reached = _decided_quantile(decisions)
            if reached >= WANTED:
                return self._narrow(kinds, draw, last, (more, reached))
            self._unequal = {name: float(flags.mean()) for name, flags in decisions.unequal.items()}
            last, more = (more, reached), STEP * more
        return None

    def _narrow(
        self,
        kinds: Sequence[_TaskValues],
        draw: Callable[[int], Counts],
        low: tuple[int, float],
        high: tuple[int, float],
    ) -> int:
        """Halve the span between a size that is too small and one that is enough, and read off the rest."""
        for _ in range(HALVINGS):
            middle = (low[0] + high[0]) // 2
            if middle in (low[0], high[0]):
                break
            found = middle, _decided_quantile(self._decide(kinds, draw(middle)))
            low, high = (low, found) if found[1] >= WANTED else (found, high)
        return _between(low, high)

    def repeats_if_alike(self, repeats: int) -> int | None:
        """Repeats to add at the tasks at hand; None where the tasks differ too much for that to help."""
        if any(gate.run_share is None for gate in self._tasks) or self._decided_by_repeats(REPEAT_FACTORS[-1]) < WANTED:
            return None
        last = (0, -6.0)
        for factor in REPEAT_FACTORS:
            found = repeats * (factor - 1), self._decided_by_repeats(factor)
            if found[1] >= WANTED:
                return _between(last, found)
            last = found
        return last[0]

    def _decided_by_repeats(self, factor: int) -> float:
        kinds = [gate.without_effect(sqrt(1 - (gate.run_share or 0.0) * (1 - 1 / factor))) for gate in self._tasks]
        chances = np.full(2 * self._size, 1 / (2 * self._size))
        return _decided_quantile(self._decide(kinds, self._random.multinomial(self._size, chances, EXPERIMENTS)))

    def in_the_way(self) -> str | None:
        """The gate that undecided experiments most often failed to show the same."""
        return max(self._unequal, key=lambda name: self._unequal[name], default=None)

    def _decide(self, kinds: Sequence[_TaskValues], counts: Counts) -> SimulatedDecisions:
        tasks, table = int(counts[0].sum()), counts.astype(np.float64)
        gates = [_gate_moments(kind, table, tasks) for kind in kinds]
        weights = np.stack([weights_in_sum(gate.typical) for gate in gates], axis=1)
        values = np.stack([kind.benefits for kind in kinds])
        return decide_by_moments(gates, _sum_moments(values, weights, table, tasks), critical=self._critical)


def _gate_moments(kind: _TaskValues, counts: Values, tasks: int) -> GateMoments:
    counted = kind.limits.scale is EffectScale.POINTS
    typical = _weighted(kind.benefits, counts, tasks)
    if counted:
        gains, losses = (counts @ (sign * kind.benefits > BENEFIT_ROUNDING) for sign in (1, -1))
        typical = replace(typical, gains=gains.astype(np.int64), losses=losses.astype(np.int64))
    if kind.amounts is None:
        return GateMoments(limits=kind.limits, typical=typical, total=None)
    before, after = kind.amounts
    ours, theirs = counts @ before / tasks, counts @ after / tasks
    squares = (
        counts @ after**2 / theirs**2 - 2 * (counts @ (before * after)) / (ours * theirs) + counts @ before**2 / ours**2
    )
    total = SampleMoments(
        tasks=tasks, mean=-np.log(theirs / ours), deviation=np.sqrt(np.maximum(squares, 0.0) / (tasks - 1))
    )
    return GateMoments(limits=kind.limits, typical=typical, total=total)


def _weighted(values: Values, counts: Values, tasks: int) -> SampleMoments:
    mean = counts @ values / tasks
    spread = np.maximum(counts @ values**2 - tasks * mean**2, 0.0) / (tasks - 1)
    return SampleMoments(tasks=tasks, mean=mean, deviation=np.sqrt(spread))


def _sum_moments(values: Values, weights: Values, counts: Values, tasks: int) -> SampleMoments:
    """Of the gates' values (gates × kinds), added up with each experiment's own weights."""
    means = counts @ values.T / tasks
    products = np.einsum("ek,gk,hk->egh", counts, values, values, optimize=True)
    spreads = (products - tasks * means[:, :, None] * means[:, None, :]) / (tasks - 1)
    variance = np.einsum("eg,egh,eh->e", weights, spreads, weights)
    return SampleMoments(tasks=tasks, mean=(weights * means).sum(axis=1), deviation=np.sqrt(np.maximum(variance, 0.0)))


def _decided_quantile(decisions: SimulatedDecisions) -> float:
    """How often anything was decided, as a normal quantile."""
    undecided = decisions.decided[Decision.INCONCLUSIVE]
    return normal_quantile((len(undecided) - float(undecided.sum()) + 0.5) / (len(undecided) + 1))


def _between(low: tuple[int, float], high: tuple[int, float]) -> int:
    """The size between two at which experiments are decided as often as wanted."""
    share = (WANTED - low[1]) / max(high[1] - low[1], 1e-9)
    return ceil(low[0] + min(1.0, share) * (high[0] - low[0]))
