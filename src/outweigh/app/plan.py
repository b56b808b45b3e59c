"""Plan the next experiment from a pilot's runs, from a suite that has not run, or from variances that are known."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite

from outweigh.app.evidence import ArmChoice, EvidenceRequest, compare_candidates
from outweigh.app.suite_selection import read_suite
from outweigh.compare.pilot import price_pilot, read_pilot
from outweigh.compare.sample_plan import OfferedSizes, PlanGoal, SamplePlan, plan_sample, state_components
from outweigh.engine.load_suite import effective_repeats
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.score.composite import OBJECTIVE_FIRST
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, MINIMUM_TASKS, PASS_RATE, EffectScale

# What two passes or failures, or two tasks' deltas, can vary at most; for logs, runs that differ by a factor of e^10.
LARGEST_OF_RATES = {"true": 2.0, "runs": 0.5, "candidate": 0.5, "baseline": 0.5}
LARGEST_OF_LOGS = 100.0
SMALLEST_VARIANCE = 1e-12
TYPICAL_VARIANCES = state_components(0.115, 0.06675, 0.06675)
"""Variances of pass rates that reproduce the published precision of 80 and 200 tasks with 1 to 10 repeats."""

TYPICAL_CAVEAT = "the variances are those of public benchmarks of agents, not of these tasks; a pilot would tell."
JUDGED_CAVEAT = (
    "how far scores of judges vary is not known yet: the variances are those of passes and failures in public "
    "benchmarks of agents, and scores between 0 and 1 mostly vary less; a pilot would tell."
)
COMPONENTS_FORM = "write true=X,runs=Y or true=X,candidate=Y,baseline=Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What to plan for. `pilot` is what to read where there is one, `components` are known variances as they were
    written. No metric means the one that the suite decides by, no effect its margin.
    """

    pilot: EvidenceRequest
    arms: ArmChoice
    suite: str | None
    components: str | None
    metric: str | None
    effect: float | None
    power: float
    alpha: float
    tasks: tuple[int, ...]
    repeats: tuple[int, ...]
    task_cost: float
    run_cost: float | None


def plan(request: PlanRequest) -> SamplePlan:
    """What the next experiment could detect, and what it would cost."""
    if request.suite is not None:
        return _from_suite(request, request.suite)
    if request.components is not None:
        return _from_components(request, request.components)
    return _from_pilot(request)


def _from_pilot(request: PlanRequest) -> SamplePlan:
    stores = request.pilot.stores
    if not stores.stores:
        raise UsageError("name the pilot's RUNS, or state its variances with --components true=X,runs=Y.")
    metric = request.metric or _default_metric(found.policy for found in stores.experiments())
    arms = replace(request.arms, profile=OBJECTIVE_FIRST.name)  # a plan makes no composite
    several = "plan takes one --candidate; plan for each by itself."
    compared = compare_candidates(request.pilot, arms, refuse_several=several)
    comparison = compared.comparisons[0]
    gated = GATED_METRICS[metric]
    pilot = read_pilot(comparison, gated.metric, logs=gated.scale is EffectScale.RATIO)
    prices, doubts = price_pilot(comparison, request.task_cost)
    if request.run_cost is not None:
        prices, doubts = _stated_prices(request)
    return plan_sample(_goal(request, metric), _offered_sizes(request), pilot.components, prices, pilot, doubts)


def _from_components(request: PlanRequest, components: str) -> SamplePlan:
    if given := _pilot_options(request):
        raise UsageError(f"--components stands in for a pilot; leave out {', '.join(given)}, or --components.")
    metric = request.metric or PASS_RATE
    prices, doubts = _stated_prices(request)
    variances = _parse_components(components, metric)
    return plan_sample(_goal(request, metric), _offered_sizes(request), variances, prices, None, doubts)


def _from_suite(request: PlanRequest, path: str) -> SamplePlan:
    """Before the first run: the suite's own size and caps, and variances as public benchmarks of agents show them."""
    if given := _pilot_options(request):
        raise UsageError(f"-c plans a suite that has not run; leave out {', '.join(given)}.")
    suite = read_suite(path)
    metric = request.metric or _default_metric([suite.spec.policy])
    if GATED_METRICS[metric].scale is not EffectScale.POINTS and request.components is None:
        raise UsageError(f"nothing is known yet about {metric}; state its variances with --components.")
    own_size = {len(suite.tasks)} - {1}  # nothing varies between tasks where there is one
    offer = OfferedSizes(
        tasks=tuple(sorted(own_size | {*request.tasks})),
        repeats=tuple(sorted({effective_repeats(suite), *request.repeats})),
        fewest_tasks=MINIMUM_TASKS,
    )
    cap = suite.spec.limits.budget_usd
    prices, doubts = _stated_prices(request)
    if request.run_cost is None and cap is not None:
        prices = DesignPrices(task_usd=request.task_cost, candidate_run_usd=cap, baseline_run_usd=cap)
        doubts = (f"dollars are the most it could cost: every run at its cap of ${cap:g}.",)
    goal = _goal(request, metric)
    if request.components is not None:
        return plan_sample(goal, offer, _parse_components(request.components, metric), prices, None, doubts)
    doubt = JUDGED_CAVEAT if metric == JUDGE_SCORE else TYPICAL_CAVEAT
    return plan_sample(goal, offer, TYPICAL_VARIANCES, prices, None, (*doubts, doubt))


def _default_metric(policies: Iterable[PolicySpec]) -> str:
    """What the suites decide by: the pass rate, or the judges where these decide in its place."""
    gates = [policy.gates or () for policy in policies]
    judged = bool(gates) and all(JUDGE_SCORE in named and PASS_RATE not in named for named in gates)
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


def _goal(request: PlanRequest, metric: str) -> PlanGoal:
    gated = GATED_METRICS[metric]
    return PlanGoal(
        metric=gated.name,
        relative=gated.scale is EffectScale.RATIO,
        effect=gated.margin if request.effect is None else request.effect,
        alpha=request.alpha,
        power=request.power,
    )


def _offered_sizes(request: PlanRequest) -> OfferedSizes:
    return OfferedSizes(tasks=request.tasks, repeats=request.repeats, fewest_tasks=MINIMUM_TASKS)


def _parse_components(text: str, metric: str) -> VarianceComponents:
    named = [_parse_component(part, text, metric) for part in text.split(",")]
    parts = dict(named)
    if len(parts) < len(named) or parts.keys() not in ({"true", "runs"}, {"true", "candidate", "baseline"}):
        raise UsageError(f"--components {text} does not name every variance once; {COMPONENTS_FORM}.")
    if sum(parts.values()) < SMALLEST_VARIANCE:
        raise UsageError(f"--components {text} leaves nothing to plan for: without variance no run errs.")
    runs = parts.get("runs", 0.0)
    return state_components(parts["true"], parts.get("candidate", runs), parts.get("baseline", runs))


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
