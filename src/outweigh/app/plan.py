"""Plan the next experiment by simulating the rule that will decide it: from a pilot's runs, from a suite that has not
run, or from variances that are known.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from math import log1p

import msgspec
import numpy as np

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.evidence import EvidenceRequest, compare_candidates
from outweigh.app.plan_options import parse_components, parse_effects, state_components
from outweigh.app.plan_prices import Priced, stated_prices, suite_prices
from outweigh.app.suite_selection import read_suite
from outweigh.compare.comparison import Comparison
from outweigh.compare.pilot import Pilot, price_pilot, read_pilot
from outweigh.engine.load_suite import repeats_by_arm
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.suite import PolicySpec
from outweigh.prices import price_tables
from outweigh.score.composite import OBJECTIVE_FIRST
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import (
    COST_OF_PASS,
    CURRENT_VERSION,
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    PASS_RATE,
    EffectScale,
    EvidenceSettings,
    evidence_settings,
)
from outweigh.verdict.experiment_plan import ExperimentPlanner
from outweigh.verdict.pilot_gates import PlannedGates, gates_of_pilot, gates_without_pilot, pilot_runs
from outweigh.verdict.planned_experiment import ExperimentPlan, OfferedSizes, PlanGoal, cheapest
from outweigh.verdict.possible_populations import PossiblePopulations, populations_of_pilot
from outweigh.verdict.public_variation import LOG_DELTAS, LOG_RUNS, PASS_DELTAS, PASS_RUNS, public_populations
from outweigh.verdict.rule_on_arrays import rule_of_version
from outweigh.verdict.task_population import TaskPopulation

MOST_SIMULATED_RUNS = 50_000


PUBLIC_CAVEAT = (
    "the variation is that of public records of agents, not of these tasks, and a range goes from the little that a "
    "small change of a set-up shows to the much that different agents show; a pilot gives better figures."
)
JUDGED_CAVEAT = (
    "how far scores of judges vary is not known yet: they are taken to vary like passes and failures in public records "
    "of agents, and scores between 0 and 1 mostly vary less; a pilot gives better figures."
)
OTHERS_CAVEAT = "only the variances of {metric} are stated; the other gates vary as in public records of agents."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What to plan for. `pilot` is what to read where there is one, `components` are known variances as they were
    written, `effect` the effects as they were written. No metric means the one that the suite decides by, no effect a
    gain of its margin. `gates` are those that will decide; None means the suite's, or all that are usual. `version` is
    that of the rule; None means the one that the pilot was run under or the suite asks for, else the current one.
    """

    pilot: EvidenceRequest
    arms: ArmChoice
    suite: str | None
    components: str | None
    metric: str | None
    effect: str | None
    gates: tuple[str, ...] | None
    version: int | None
    power: float
    tasks: tuple[int, ...]
    repeats: tuple[int, ...]
    task_cost: float
    run_cost: float | None
    seed: int


def plan(request: PlanRequest) -> ExperimentPlan:
    """How often the next experiment would be decided, and what it would cost."""
    if max(request.tasks) * max(request.repeats) > MOST_SIMULATED_RUNS:
        raise UsageError(
            f"--tasks and --repeats ask for {max(request.tasks) * max(request.repeats):,} runs per arm; at most "
            f"{MOST_SIMULATED_RUNS:,} can be simulated. Leave out the largest."
        )
    if request.suite is not None:
        return _from_suite(request, request.suite)
    if request.components is not None:
        return _from_components(request, request.components)
    return _from_pilot(request)


def _from_pilot(request: PlanRequest) -> ExperimentPlan:
    stores = request.pilot.stores
    if not stores.stores:
        raise UsageError("name the pilot's RUNS, or state its variances with --components true=X,runs=Y.")
    policies = [found.policy for found in stores.experiments()]
    metric = request.metric or _default_metric(request, policies)
    arms = msgspec.structs.replace(request.arms, profile=OBJECTIVE_FIRST.name)  # a plan makes no composite
    several = "plan takes one --candidate; plan for each separately."
    compared = compare_candidates(request.pilot, arms, refuse_several=several)
    comparison = compared.comparisons[0]
    gated = GATED_METRICS[metric]
    pilot = read_pilot(comparison, gated.metric, logs=gated.scale is EffectScale.RATIO)
    version = _version_of_pilot(request, policies, compared.evidence.policy_versions)
    settings = _settings(request, policies[0] if len(policies) == 1 else None, version)
    gates = gates_of_pilot(comparison, settings, metric)
    prices, doubts = price_pilot(comparison, request.task_cost)
    if request.run_cost is not None:
        prices, doubts = stated_prices(request.run_cost, request.task_cost)
    populations = _populations_of(comparison, gates, request.seed)
    if not populations.estimate.separated and 1 not in request.repeats:
        raise EvidenceError(
            "the pilot ran every task once, so it shows what 1 repeat would do and nothing else. Add 1 to --repeats, "
            "or run every task at least twice."
        )
    source = _Source(
        gates=gates,
        populations=populations,
        version=settings.version,
        prices=prices,
        notes=(*pilot.warnings, *gates.notes, *doubts, *_older_version(settings.version)),
        pilot=pilot,
        components=pilot.components,
        simulated=comparison.simulated and request.run_cost is None,
    )
    return _plan(request, metric, source)


def _version_of_pilot(request: PlanRequest, policies: Iterable[PolicySpec], named: Set[int]) -> int | None:
    """The version that the pilot was run under; None where nothing names one."""
    stored = {policy.version or 1 for policy in policies if policy.name == "evidence"}
    if request.version is None and len(stored | named) > 1:
        raise UsageError("the pilot was run under different versions of the rule; choose one with --policy-version.")
    return next(iter(stored | named), None) if request.version is None else request.version


def _older_version(version: int) -> Iterator[str]:
    if version < CURRENT_VERSION:
        yield (
            f"this plans for version {version} of the rule; a new experiment takes version {CURRENT_VERSION} unless "
            f"its suite says otherwise, and --policy-version {CURRENT_VERSION} plans for that."
        )


def _populations_of(comparison: Comparison, gates: PlannedGates, seed: int) -> PossiblePopulations:
    runs = pilot_runs(comparison, gates.names)
    if runs.tasks < 2:
        raise EvidenceError(
            f"tasks with a known {', '.join(gates.names)} in both arms: {runs.tasks}. A plan takes at least 2. "
            "Name fewer with --gates, or run more tasks."
        )
    return populations_of_pilot(runs, np.random.default_rng(seed))


def _from_components(request: PlanRequest, components: str) -> ExperimentPlan:
    if given := _pilot_options(request):
        raise UsageError(f"--components replaces a pilot; leave out {', '.join(given)}, or --components.")
    metric = request.metric or PASS_RATE
    stated = parse_components(components, metric)
    return _without_pilot(request, metric, None, stated, request, stated_prices(request.run_cost, request.task_cost))


def _from_suite(request: PlanRequest, path: str) -> ExperimentPlan:
    """Before the first run: the suite's own size, gates and caps, and variation as in public records of agents."""
    if given := [option for option in _pilot_options(request) if option != "--prices"]:
        raise UsageError(f"-c plans a suite that has not run; leave out {', '.join(given)}.")
    from outweigh.app.run_stages import describe_stages  # noqa: PLC0415 - only where a suite is planned

    suite = read_suite(path)
    policy = suite.spec.policy
    metric = request.metric or _default_metric(request, [policy])
    repeats = repeats_by_arm(suite)[suite.spec.baseline]
    sized = replace(
        request,
        tasks=tuple(sorted({max(MINIMUM_TASKS, len(suite.tasks)), *request.tasks})),
        repeats=tuple(sorted({repeats, *request.repeats})),
    )
    prices, doubts = suite_prices(suite, request.run_cost, request.task_cost, price_tables(request.pilot.prices))
    priced = (prices, (*doubts, *(suite.notes if suite.designs else ()), *describe_stages(suite)))
    stated = None if request.components is None else parse_components(request.components, metric)
    return _without_pilot(sized, metric, policy, stated, request, priced, (len(suite.tasks), repeats))


def _without_pilot(
    request: PlanRequest,
    metric: str,
    policy: PolicySpec | None,
    stated: VarianceComponents | None,
    asked: PlanRequest,
    priced: Priced,
    suite_size: tuple[int, int] | None = None,
) -> ExperimentPlan:
    settings = _settings(asked, policy, asked.version if policy is None else asked.version or policy.version)
    names = gates_to_plan(settings, metric)
    gates = gates_without_pilot(names, settings)
    prices, doubts = priced
    if stated is None:
        caveat = JUDGED_CAVEAT if metric == JUDGE_SCORE else PUBLIC_CAVEAT
    else:
        caveat = OTHERS_CAVEAT.format(metric=metric)
    source = _Source(
        gates=gates,
        populations=public_populations(names, {} if stated is None else {metric: stated}),
        version=settings.version,
        prices=prices,
        notes=(*doubts, *([caveat] if stated is None or len(names) > 1 else [])),
        pilot=None,
        components=stated or _public_components(metric),
        suite_size=suite_size,
    )
    return _plan(request, metric, source)


def gates_to_plan(settings: EvidenceSettings, metric: str) -> tuple[str, ...]:
    """The gates that decide where there is no pilot: those that are named, else all that are usual."""
    names = settings.gates or tuple(name for name, gated in GATED_METRICS.items() if not gated.only_when_named)
    names = tuple(dict.fromkeys((*(name for name in names if name != COST_OF_PASS), metric)))
    if metric == JUDGE_SCORE and settings.gates is None:
        return tuple(name for name in names if name != PASS_RATE)
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a plan rests on, from a pilot or without one."""

    gates: PlannedGates
    populations: PossiblePopulations
    version: int
    prices: DesignPrices | None
    notes: tuple[str, ...]
    pilot: Pilot | None
    components: VarianceComponents
    suite_size: tuple[int, int] | None = None
    simulated: bool = False


def _plan(request: PlanRequest, metric: str, source: _Source) -> ExperimentPlan:
    goal = _goal(request, metric, source.gates)
    effects, cut = _possible_effects(goal, source.populations.estimate)
    rule = rule_of_version(source.version)
    planner = ExperimentPlanner(source.populations, source.gates.limits, effects, rule, source.prices, request.seed)
    sizes = planner.sizes(OfferedSizes(tasks=request.tasks, repeats=request.repeats))
    pilot = source.pilot
    start = (request.tasks[0], request.repeats[0]) if pilot is None else (pilot.tasks, pilot.repeats)
    designs = planner.designs(sizes, goal.power)
    hidden = () if source.populations.estimate.separated else (NO_REPEATS,)
    missing = () if designs else (f"no offered number of repeats is enough for {100 * goal.power:g} %.",)
    target = cheapest(designs)
    return ExperimentPlan(
        goal=goal,
        version=source.version,
        gates=source.gates.names,
        pilot=pilot,
        components=source.components,
        prices=source.prices,
        sizes=sizes,
        designs=designs,
        looks=None if target is None else planner.looks(target),
        doubling=planner.doubling(max(MINIMUM_TASKS, start[0]), start[1]),
        warnings=(*source.notes, *cut, *hidden, *missing),
        suite_tasks=None if source.suite_size is None else source.suite_size[0],
        visible=None
        if source.suite_size is None or source.suite_size[0] < MINIMUM_TASKS
        else planner.visible(metric, *source.suite_size, goal.power),
        simulated=source.simulated,
    )


NO_REPEATS = "nothing is said about more than 1 repeat: a pilot with 1 does not show what more would do."


def _possible_effects(goal: PlanGoal, population: TaskPopulation) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """The effects where they are simulated, and what to know where a pass rate cannot rise or fall so far."""
    effects = {
        name: log1p(change) if GATED_METRICS[name].scale is EffectScale.RATIO else change
        for name, change in goal.effects.items()
    }
    wanted = effects.get(PASS_RATE, 0.0)
    if not wanted or PASS_RATE not in population.gates:
        return effects, ()
    baseline = population.variations[population.gates.index(PASS_RATE)].baseline
    if 0 < baseline + wanted < 1:
        return effects, ()
    note = (
        f"the baseline passes {100 * baseline:.0f} %, so its pass rate cannot change by {100 * wanted:+.0f} points; "
        "as much as is left is planned for. State a smaller --effect."
    )
    return effects, (note,)


def _goal(request: PlanRequest, metric: str, gates: PlannedGates) -> PlanGoal:
    relative = GATED_METRICS[metric].scale is EffectScale.RATIO
    margin = GATED_METRICS[metric].margin
    effects = {metric: -margin if relative else margin} if request.effect is None else None
    return PlanGoal(
        metric=metric,
        relative=relative,
        effects=parse_effects(request.effect or "", metric, gates.names) if effects is None else effects,
        power=request.power,
    )


def _settings(request: PlanRequest, policy: PolicySpec | None, version: int | None) -> EvidenceSettings:
    """The rule that the next experiment is decided by."""
    if policy is None or policy.name != "evidence":
        return evidence_settings(gates=request.gates, version=version)
    kept = policy.gates if request.gates is None else request.gates
    tolerances = {} if version == 1 else policy.tolerances
    return evidence_settings(
        gates=kept,
        margins={name: margin for name, margin in policy.margins.items() if kept is None or name in kept},
        tolerances={name: limit for name, limit in tolerances.items() if kept is None or name in kept},
        version=version,
    )


def _default_metric(request: PlanRequest, policies: Iterable[PolicySpec]) -> str:
    """What the suites decide by: the pass rate, or the judges where these decide in its place."""
    gates = [request.gates or policy.gates or () for policy in policies] or [request.gates or ()]
    judged = all(JUDGE_SCORE in named and PASS_RATE not in named for named in gates)
    return JUDGE_SCORE if judged else PASS_RATE


def _pilot_options(request: PlanRequest) -> list[str]:
    """What was said about a pilot, where there is to be none."""
    given = {
        "RUNS": request.pilot.stores.stores,
        "--baseline": request.arms.baseline,
        "--candidate": request.arms.candidates,
        "--prices": request.pilot.prices,
        "--skip-invalid": request.pilot.skip_invalid,
    }
    return [option for option, value in given.items() if value]


def _public_components(metric: str) -> VarianceComponents:
    if GATED_METRICS[metric].scale is EffectScale.RATIO:
        return state_components(LOG_DELTAS[0], LOG_RUNS[0], LOG_RUNS[0])
    return state_components(PASS_DELTAS[0], PASS_RUNS[0], PASS_RUNS[0])
