"""Plan the next experiment by simulating the rule that will decide it: from a pilot's runs, from a suite that has not
run, or from variances that are known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite, log1p

import msgspec
import numpy as np

from outweigh.app.evidence import ArmChoice, EvidenceRequest, compare_candidates
from outweigh.app.suite_selection import read_suite
from outweigh.compare.comparison import Comparison
from outweigh.compare.pilot import Pilot, price_pilot, read_pilot
from outweigh.engine.load_suite import effective_repeats
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.suite import PolicySpec
from outweigh.score.composite import OBJECTIVE_FIRST
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import (
    COST_OF_PASS,
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    PASS_RATE,
    EffectScale,
    EvidenceSettings,
    evidence_settings,
)
from outweigh.verdict.experiment_plan import SETS, ExperimentPlanner
from outweigh.verdict.pilot_gates import PlannedGates, gates_of_pilot, gates_without_pilot, pilot_runs
from outweigh.verdict.planned_experiment import ExperimentPlan, OfferedSizes, PlanGoal
from outweigh.verdict.public_variation import LOG_DELTAS, LOG_RUNS, PASS_DELTAS, PASS_RUNS, public_population
from outweigh.verdict.task_population import TaskPopulation, fit_population

# What two passes or failures, or two tasks' deltas, can vary at most; for logs, runs that differ by a factor of e^10.
LARGEST_OF_RATES = {"true": 2.0, "runs": 0.25, "candidate": 0.25, "baseline": 0.25}
LARGEST_OF_LOGS = 100.0
SMALLEST_VARIANCE = 1e-12
MOST_SIMULATED_RUNS = 50_000

PUBLIC_CAVEAT = (
    "the variation is that of public records of agents, not of these tasks, and a range goes from the little that a "
    "small change of a set-up shows to the much that different agents show; a pilot would tell."
)
JUDGED_CAVEAT = (
    "how far scores of judges vary is not known yet: they are taken to vary like passes and failures in public records "
    "of agents, and scores between 0 and 1 mostly vary less; a pilot would tell."
)
OTHERS_CAVEAT = "only the variances of {metric} are stated; the other gates vary as in public records of agents."
COMPONENTS_FORM = "write true=X,runs=Y or true=X,candidate=Y,baseline=Z"
EFFECT_FORM = "write a number such as 0.05, or NAME=X,… such as pass_rate=0.05,cost=-0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What to plan for. `pilot` is what to read where there is one, `components` are known variances as they were
    written, `effect` the effects as they were written. No metric means the one that the suite decides by, no effect a
    gain of its margin. `gates` are those that will decide; None means the suite's, or all that are usual.
    """

    pilot: EvidenceRequest
    arms: ArmChoice
    suite: str | None
    components: str | None
    metric: str | None
    effect: str | None
    gates: tuple[str, ...] | None
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
    several = "plan takes one --candidate; plan for each by itself."
    comparison = compare_candidates(request.pilot, arms, refuse_several=several).comparisons[0]
    gated = GATED_METRICS[metric]
    pilot = read_pilot(comparison, gated.metric, logs=gated.scale is EffectScale.RATIO)
    settings = _settings(request, policies[0] if len(policies) == 1 else None)
    gates = gates_of_pilot(comparison, settings, metric)
    prices, doubts = price_pilot(comparison, request.task_cost)
    if request.run_cost is not None:
        prices, doubts = _stated_prices(request)
    population = _population_of(comparison, gates, request.seed)
    if not population.separated and 1 not in request.repeats:
        raise EvidenceError(
            "the pilot ran every task once, so it shows what 1 repeat would do and nothing else. Add 1 to --repeats, "
            "or run every task at least twice."
        )
    return _plan(request, metric, gates, population, prices, pilot, (*pilot.warnings, *gates.notes, *doubts))


def _population_of(comparison: Comparison, gates: PlannedGates, seed: int) -> TaskPopulation:
    runs = pilot_runs(comparison, gates.names)
    if runs.tasks < 2:
        raise EvidenceError(
            f"tasks with runs that know {', '.join(gates.names)} in both arms: {runs.tasks}. A plan takes at least 2. "
            "Name fewer with --gates, or run more tasks."
        )
    return fit_population(runs, 1 + SETS, np.random.default_rng(seed))


def _from_components(request: PlanRequest, components: str) -> ExperimentPlan:
    if given := _pilot_options(request):
        raise UsageError(f"--components stands in for a pilot; leave out {', '.join(given)}, or --components.")
    metric = request.metric or PASS_RATE
    return _without_pilot(request, metric, None, _parse_components(components, metric), request, ())


def _from_suite(request: PlanRequest, path: str) -> ExperimentPlan:
    """Before the first run: the suite's own size, gates and caps, and variation as in public records of agents."""
    if given := _pilot_options(request):
        raise UsageError(f"-c plans a suite that has not run; leave out {', '.join(given)}.")
    suite = read_suite(path)
    policy = suite.spec.policy
    metric = request.metric or _default_metric(request, [policy])
    sized = replace(
        request,
        tasks=tuple(sorted({max(MINIMUM_TASKS, len(suite.tasks)), *request.tasks})),
        repeats=tuple(sorted({effective_repeats(suite), *request.repeats})),
    )
    cap = suite.spec.limits.budget_usd
    doubts: tuple[str, ...] = ()
    if request.run_cost is None and cap is not None:
        sized = replace(sized, run_cost=cap)
        doubts = (f"dollars are the most it could cost: every run at its cap of ${cap:g}.",)
    stated = None if request.components is None else _parse_components(request.components, metric)
    return _without_pilot(sized, metric, policy, stated, request, doubts)


def _without_pilot(
    request: PlanRequest,
    metric: str,
    policy: PolicySpec | None,
    stated: VarianceComponents | None,
    asked: PlanRequest,
    doubts: tuple[str, ...],
) -> ExperimentPlan:
    settings = _settings(asked, policy)
    names = settings.gates or tuple(name for name, gated in GATED_METRICS.items() if not gated.only_when_named)
    names = tuple(dict.fromkeys((*(name for name in names if name != COST_OF_PASS), metric)))
    if metric == JUDGE_SCORE and settings.gates is None:
        names = tuple(name for name in names if name != PASS_RATE)
    gates = gates_without_pilot(names, settings)
    prices, unpriced = _stated_prices(request)
    if stated is None:
        caveat = JUDGED_CAVEAT if metric == JUDGE_SCORE else PUBLIC_CAVEAT
    else:
        caveat = OTHERS_CAVEAT.format(metric=metric)
    population = public_population(names, {} if stated is None else {metric: stated})
    notes = (*doubts, *unpriced, *([caveat] if stated is None or len(names) > 1 else []))
    return _plan(request, metric, gates, population, prices, None, notes, stated)


def _plan(
    request: PlanRequest,
    metric: str,
    gates: PlannedGates,
    population: TaskPopulation,
    prices: DesignPrices | None,
    pilot: Pilot | None,
    notes: tuple[str, ...],
    stated: VarianceComponents | None = None,
) -> ExperimentPlan:
    goal = _goal(request, metric, gates)
    effects, cut = _possible_effects(goal, population)
    planner = ExperimentPlanner(population, gates.limits, effects, prices, request.seed)
    sizes = planner.sizes(OfferedSizes(tasks=request.tasks, repeats=request.repeats))
    start = (request.tasks[0], request.repeats[0]) if pilot is None else (pilot.tasks, pilot.repeats)
    designs = planner.designs(sizes, goal.power)
    hidden = () if population.separated else (NO_REPEATS,)
    missing = () if designs else (f"no offered number of repeats is enough for {100 * goal.power:g} %.",)
    return ExperimentPlan(
        goal=goal,
        gates=gates.names,
        pilot=pilot,
        components=pilot.components if pilot is not None else stated or _public_components(metric),
        prices=prices,
        sizes=sizes,
        designs=designs,
        doubling=planner.doubling(max(MINIMUM_TASKS, start[0]), start[1]),
        warnings=(*notes, *cut, *hidden, *missing),
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
    baseline = float(population.variations[population.gates.index(PASS_RATE)].baseline[0])
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
        effects=_parse_effects(request.effect or "", metric, gates) if effects is None else effects,
        power=request.power,
    )


def _parse_effects(text: str, metric: str, gates: PlannedGates) -> Mapping[str, float]:
    """A number is a gain of the metric: points more, or so much less of a resource. Named ones have a sign."""
    number = parse_finite(text)
    if number is not None:
        relative = GATED_METRICS[metric].scale is EffectScale.RATIO
        return {metric: _check_effect(metric, -number if relative else number, text)}
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        change = parse_finite(value)
        if change is None or name not in gates.names or name in found:
            known = ", ".join(gates.names)
            raise UsageError(f"--effect {text}: {part!r} is not an effect on one of {known}; {EFFECT_FORM}.")
        found[name] = _check_effect(name, change, text)
    return found


def _check_effect(name: str, change: float, text: str) -> float:
    relative = GATED_METRICS[name].scale is EffectScale.RATIO
    low, high = (-0.99, 9.0) if relative else (-0.99, 0.99)
    if not low <= change <= high:
        raise UsageError(f"--effect {text}: {change:g} is no change of {name} from {low:g} to {high:g}; {EFFECT_FORM}.")
    return change


def _settings(request: PlanRequest, policy: PolicySpec | None) -> EvidenceSettings:
    """The rule that new experiments of the suite are decided by."""
    if policy is None or policy.name != "evidence":
        return evidence_settings(gates=request.gates)
    kept = policy.gates if request.gates is None else request.gates
    return evidence_settings(
        gates=kept,
        margins={name: margin for name, margin in policy.margins.items() if kept is None or name in kept},
        tolerances={name: limit for name, limit in policy.tolerances.items() if kept is None or name in kept},
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


def _stated_prices(request: PlanRequest) -> tuple[DesignPrices | None, tuple[str, ...]]:
    if request.run_cost is None:
        return None, ("dollars are unknown: nobody said what a run costs; --run-cost USD does.",)
    run_usd = request.run_cost
    return DesignPrices(task_usd=request.task_cost, candidate_run_usd=run_usd, baseline_run_usd=run_usd), ()


def _public_components(metric: str) -> VarianceComponents:
    if GATED_METRICS[metric].scale is EffectScale.RATIO:
        return _state_components(LOG_DELTAS[0], LOG_RUNS[0], LOG_RUNS[0])
    return _state_components(PASS_DELTAS[0], PASS_RUNS[0], PASS_RUNS[0])


def _state_components(true_deltas: float, candidate_runs: float, baseline_runs: float) -> VarianceComponents:
    return VarianceComponents(
        true_deltas=true_deltas,
        candidate_runs=candidate_runs,
        baseline_runs=baseline_runs,
        observed_deltas=None,
        tasks=0,
        warnings=(),
    )


def _parse_components(text: str, metric: str) -> VarianceComponents:
    named = [_parse_component(part, text, metric) for part in text.split(",")]
    parts = dict(named)
    if len(parts) < len(named) or parts.keys() not in ({"true", "runs"}, {"true", "candidate", "baseline"}):
        raise UsageError(f"--components {text} does not name every variance once; {COMPONENTS_FORM}.")
    if sum(parts.values()) < SMALLEST_VARIANCE:
        raise UsageError(f"--components {text} leaves nothing to plan for: without variance no run errs.")
    runs = parts.get("runs", 0.0)
    return _state_components(parts["true"], parts.get("candidate", runs), parts.get("baseline", runs))


def _parse_component(part: str, whole: str, metric: str) -> tuple[str, float]:
    name, _, text = part.strip().partition("=")
    number = parse_finite(text)
    if name not in LARGEST_OF_RATES or number is None or number < 0:
        raise UsageError(f"--components {whole}: {part!r} is not a variance; {COMPONENTS_FORM}.")
    rate = GATED_METRICS[metric].scale is EffectScale.POINTS
    largest = LARGEST_OF_RATES[name] if rate else LARGEST_OF_LOGS
    if number > largest:
        unit = "a rate from 0 to 1" if rate else "logs"
        raise UsageError(
            f"--components {whole}: {metric} is measured as {unit}, so the variance {name} is at most {largest:g}, "
            f"not {number:g}."
        )
    return name, number


def parse_finite(text: str) -> float | None:
    """The number that a text is; None where it is none, or none that could be reckoned with."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
