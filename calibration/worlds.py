"""Worlds with a known truth: tasks that differ, runs that scatter, arms that do or do not."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale, GateRole
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING, GateSample, total_benefits

Runs = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How tasks and runs behave. Effects are of the candidate; times and tokens are on the log scale."""

    name: str
    logit_mean: float
    logit_deviation: float
    effect: float
    effect_deviation: float
    log_time: float
    log_tokens: float
    correlation: float
    lost: float
    """The share of tasks that the candidate breaks."""
    lost_logit: float
    """The logit of the candidate's chance to pass a task that it broke."""
    collapsed: int
    """So many tasks always pass for the baseline and never for the candidate."""
    log_cost: float
    """What the candidate's dollars differ by beyond its time and tokens."""
    runaways: float
    """The share of the candidate's runs that take `runaway_factor` times as many dollars."""
    runaway_factor: float
    runaway_resources: bool
    """Whether runaways take as much more time and tokens, and not dollars alone."""
    skewed: float
    """The share of tasks whose time, tokens and dollars the candidate moves by `skew` on the log scale.

    The others move the other way by as little as keeps the mean where it was.
    """
    skew: float
    family_size: int
    """So many tasks form a family and share a part of what the candidate does to them; 0 where there are none."""
    family_deviation: float
    """How much the candidate's effect on the logit differs between families."""


def world(name: str, **changes: Any) -> World:
    """The world of the published operating characteristics, with some things changed."""
    usual: dict[str, Any] = {
        "logit_mean": 0.4,
        "logit_deviation": 1.6,
        "effect": 0.0,
        "effect_deviation": 0.4,
        "log_time": 0.0,
        "log_tokens": 0.0,
        "correlation": 0.0,
        "lost": 0.0,
        "lost_logit": -40.0,
        "collapsed": 0,
        "log_cost": 0.0,
        "runaways": 0.0,
        "runaway_factor": 20.0,
        "runaway_resources": False,
        "skewed": 0.0,
        "skew": 0.0,
        "family_size": 0,
        "family_deviation": 0.0,
    }
    return World(name=name, **(usual | changes))


NULLS = (
    world("identical arms"),
    world("identical arms, effects alike on all tasks", effect_deviation=0.0),
    world("identical arms, time and tokens correlated", correlation=0.9),
    world("identical arms, nearly all passing", logit_mean=5.0, logit_deviation=1.0, effect_deviation=0.0),
    world("identical arms, all passing", logit_mean=40.0, logit_deviation=0.0, effect_deviation=0.0),
    world("identical arms, nearly none passing", logit_mean=-5.0, logit_deviation=1.0, effect_deviation=0.0),
)
_TENTH_LESS = {"log_time": float(np.log(0.9)), "log_tokens": float(np.log(0.9))}
_FIFTH_LESS = {"log_time": float(np.log(0.8)), "log_tokens": float(np.log(0.8))}
SMALL_WIN = world("small win", effect=0.3, **_TENTH_LESS)
WIN = world("win", effect=0.8, **_FIFTH_LESS)
TRAP = world("trap: cheaper but worse", effect=-0.6, **_FIFTH_LESS)

# A fifth cheaper, and on the pass rate worse by exactly the margin of five points: `improved` would be a mistake.
ON_THE_MARGIN = (
    world("a little worse on every task", effect=-0.29236, **_FIFTH_LESS),
    world("one task in twenty lost, else all pass", logit_mean=40.0, logit_deviation=0.0, lost=0.05, **_FIFTH_LESS),
)
# The same loss, but made of a few tasks that break altogether beside small gains on all others. A sample that has met
# none of the breaks shows gains alone, and no test can know better.
BREAKS_BESIDE_GAINS = world("small gains, one task in six breaks", effect=0.3, lost=0.159187, **_FIFTH_LESS)
FAMILIES = world("identical arms, tasks in families of five", logit_mean=0.0, family_size=5, family_deviation=0.6)
# Equal on average by symmetry, although the candidate helps on half of the tasks and hurts on the other half.
MIXED_EFFECTS = world("equal on average, effects differ by task", logit_mean=0.0, effect_deviation=1.5)
PURE_GAIN = world("pure gain", effect=0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draw:
    """One experiment: runs × tasks for both arms (baseline first); times, tokens and costs as logs."""

    passes: tuple[Runs, Runs]
    times: tuple[Runs, Runs]
    tokens: tuple[Runs, Runs]
    costs: tuple[Runs, Runs]
    families: tuple[str, ...] | None

    def gates(self, *, with_cost: bool = False, unknown: Collection[str] = ()) -> tuple[GateSample, ...]:
        """The three gates of the published table, and the fourth where it is asked for; some of them unknown."""
        measured = {"pass_rate": self.passes, "duration": self.times, "non_cache_tokens": self.tokens}
        if with_cost:
            measured["cost"] = self.costs
        gates = [_gate(name, *arms, self.families) for name, arms in measured.items()]
        return tuple(replace(gate, unknown="not measured") if gate.gated.name in unknown else gate for gate in gates)

    def of_tasks(self, places: Sequence[int] | NDArray[np.int_]) -> "Draw":
        """The same experiment on some of its tasks, in this order."""
        chosen = np.asarray(places)
        families = self.families
        return Draw(
            passes=(self.passes[0][:, chosen], self.passes[1][:, chosen]),
            times=(self.times[0][:, chosen], self.times[1][:, chosen]),
            tokens=(self.tokens[0][:, chosen], self.tokens[1][:, chosen]),
            costs=(self.costs[0][:, chosen], self.costs[1][:, chosen]),
            families=None if families is None else tuple(families[place] for place in chosen.tolist()),
        )


def draw(world: World, tasks: int, repeats: int, dice: Generator) -> Draw:
    """Run one experiment in a world."""
    (only,) = draw_company(world, tasks, repeats, 1, dice)
    return only


def draw_company(world: World, tasks: int, repeats: int, candidates: int, dice: Generator) -> tuple[Draw, ...]:
    """Run one experiment with several candidates of the same kind, each against the same runs of one baseline."""
    return draw_on_tasks(world, draw_logits(world, tasks, dice), repeats, candidates, dice)


def draw_logits(world: World, tasks: int, dice: Generator) -> Runs:
    """How easy tasks are for the baseline."""
    return dice.normal(world.logit_mean, world.logit_deviation, tasks)


def draw_on_tasks(world: World, easiness: Runs, repeats: int, candidates: int, dice: Generator) -> tuple[Draw, ...]:
    """The same on tasks that are this easy for the baseline, which other arms may have run too."""
    logits, tasks = easiness.copy(), len(easiness)
    logits[: world.collapsed] = 40.0
    chances = [logits, *(_moved(world, logits, dice) for _ in range(candidates))]
    passes = [(dice.random((repeats, tasks)) < 1 / (1 + np.exp(-chance))).astype(np.float64) for chance in chances]
    used = [_scatter(world, tasks, repeats, dice) for _ in range(candidates + 1)]
    sizes = dice.normal(0, 0.5, (2, tasks))
    resources = [_with_cost(time + sizes[0], token + sizes[1], dice) for time, token in used]
    before, after = resources[0], [_use(world, each, dice) for each in resources[1:]]
    families = tuple(str(task // world.family_size) for task in range(tasks)) if world.family_size else None
    return tuple(
        Draw(
            passes=(passes[0], mine),
            times=(before[0], times),
            tokens=(before[1], tokens),
            costs=(before[2], costs),
            families=families,
        )
        for mine, (times, tokens, costs) in zip(passes[1:], after, strict=True)
    )


_Resources = tuple[Runs, Runs, Runs]


def _moved(world: World, logits: Runs, dice: Generator) -> Runs:
    """What a candidate makes of the tasks' chances."""
    moved = logits + dice.normal(world.effect, world.effect_deviation, len(logits))
    if world.family_size:
        families = dice.normal(0, world.family_deviation, -(-len(logits) // world.family_size))
        moved = moved + np.repeat(families, world.family_size)[: len(logits)]
    moved = np.where(dice.random(len(logits)) < world.lost, world.lost_logit, moved)
    moved[: world.collapsed] = -40.0
    return moved


def _scatter(world: World, tasks: int, repeats: int, dice: Generator) -> tuple[Runs, Runs]:
    """Task-by-arm and run-by-run scatter of two log resources, correlated as the world says."""
    # One row for what a task's runs have in common, and one row per run.
    first, second = dice.normal(size=(2, 1 + repeats, tasks))
    second = world.correlation * first + np.sqrt(1 - world.correlation**2) * second
    return 0.15 * first[0] + 0.4 * first[1:], 0.15 * second[0] + 0.4 * second[1:]


def _with_cost(times: Runs, tokens: Runs, dice: Generator) -> _Resources:
    """Log dollars: time and tokens in equal parts, and a little of their own."""
    return times, tokens, (times + tokens) / 2 + dice.normal(0, 0.2, times.shape)


def _use(world: World, resources: _Resources, dice: Generator) -> _Resources:
    """What a candidate makes of the log resources of its runs."""
    times, tokens, costs = resources
    times, tokens = times + world.log_time, tokens + world.log_tokens
    costs = costs + (world.log_time + world.log_tokens) / 2 + world.log_cost
    if world.skewed:
        back = -world.skewed * world.skew / (1 - world.skewed)
        shift = np.where(dice.random(times.shape[1]) < world.skewed, world.skew, back)
        times, tokens, costs = times + shift, tokens + shift, costs + shift
    if world.runaways:
        more = np.log(world.runaway_factor) * (dice.random(costs.shape) < world.runaways)
        costs = costs + more
        if world.runaway_resources:
            times, tokens = times + more, tokens + more
    return times, tokens, costs


def _gate(name: str, before: Runs, after: Runs, families: tuple[str, ...] | None) -> GateSample:
    gated = GATED_METRICS[name]
    sign = 1.0 if gated.scale is EffectScale.POINTS else -1.0
    benefits = sign * (after.mean(axis=0) - before.mean(axis=0))
    sample = GateSample(
        gated=gated,
        margin=gated.margin,
        tolerance=gated.tolerance,
        tasks=tuple(map(str, range(before.shape[1]))),
        benefits=np.where(np.abs(benefits) < BENEFIT_ROUNDING, 0.0, benefits),
        families=families,
        noise=None,
        unknown=None,
    )
    if gated.role is not GateRole.RESOURCE:
        return sample
    means = (np.exp(arm).mean(axis=0) for arm in (before, after))
    return replace(sample, total=replace(sample, benefits=total_benefits(*means)))
