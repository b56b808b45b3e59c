"""`outweigh plan`: what the next experiment could detect, and what it would cost."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from math import isfinite

from outweigh.app.suite_selection import read_suite
from outweigh.cli.arguments import Parser, add_format_option, arms_to_compare, gather_evidence, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.comparison import compare_arms
from outweigh.compare.pilot import price_pilot, read_pilot
from outweigh.compare.sample_plan import OfferedSizes, PlanGoal, SamplePlan, plan_sample, state_components
from outweigh.engine.load_suite import effective_repeats
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.report.plan_page import plan_report
from outweigh.stats.power import DesignPrices
from outweigh.stats.variance import VarianceComponents
from outweigh.store.store import experiments_of
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, MINIMUM_TASKS, PASS_RATE, EffectScale

MAX_SIZES = 20


def number_between(low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers in that range."""

    def read(text: str) -> float:
        number = parse_finite(text)
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
        return number

    return read


def parse_amount(text: str) -> float:
    """Dollars."""
    number = parse_finite(text)
    if number is None or not 0 <= number <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount from 0 to 1,000,000 dollars")
    return number


def sizes_between(fewest: int, most: int) -> Callable[[str], tuple[int, ...]]:
    """A reader of lists of whole numbers in that range, sorted."""

    def read(text: str) -> tuple[int, ...]:
        parts = [part.strip() for part in text.split(",")]
        numbers = {int(part) for part in parts if part.isdecimal() and len(part) < 10}
        if len(parts) > MAX_SIZES or len(numbers) < len(parts) or not fewest <= min(numbers) <= max(numbers) <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a list of up to {MAX_SIZES} different whole numbers from {fewest} to {most:,}"
            )
        return tuple(sorted(numbers))

    return read


def parse_finite(text: str) -> float | None:
    """The number that a text is; None where it is none, or none that could be reckoned with."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


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


def main(arguments: Sequence[str]) -> int:
    """Print the plan."""
    options = _parser().parse_intermixed_args(arguments)
    if options.suite is not None:
        plan = _from_suite(options)
    else:
        plan = _from_pilot(options) if options.components is None else _from_components(options)
    print_report(plan_report(plan), options.format)
    return ExitCode.SATISFIED


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh plan",
        description="What the next experiment could see and what it would cost, from a pilot or from known variances.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs", nargs="*", metavar="RUNS", help="the pilot's run records, as every reading verb takes them"
    )
    parser.add_argument("-c", "--suite", metavar="SUITE", help="a suite that has not run yet, instead of RUNS")
    parser.add_argument("--skip-invalid", action="store_true", help="go on without lines that cannot be read")
    parser.add_argument("--prices", metavar="FILE", help="your own prices (TOML); they win over the bundled ones")
    parser.add_argument("--baseline", metavar="ARM", help="the pilot's arm to compare with")
    parser.add_argument("--candidate", metavar="ARM", action="append", help="the pilot's arm that may replace it")
    parser.add_argument(
        "--components",
        metavar="true=X,runs=Y",
        help="known variances instead of RUNS: of true task deltas, and of single runs in each arm "
        "(or true=X,candidate=Y,baseline=Z); of logs for time, tokens and cost",
    )
    parser.add_argument(
        "--metric",
        choices=tuple(GATED_METRICS),
        help="what to measure (default: pass_rate, or judge_score where the suite goes by its judges)",
    )
    parser.add_argument(
        "--effect",
        type=number_between(0.0001, 1.0),
        metavar="X",
        help="the effect to see: points, or a relative change for time, tokens and cost (default: 0.05)",
    )
    parser.add_argument(
        "--power",
        type=number_between(0.5, 0.999),
        default=0.8,
        metavar="P",
        help="how surely to see it (default: %(default)s)",
    )
    parser.add_argument(
        "--alpha",
        type=number_between(0.001, 0.4),
        default=0.05,
        metavar="A",
        help="how often to see what is not there, two-sided (default: %(default)s)",
    )
    parser.add_argument(
        "--tasks",
        type=sizes_between(2, 100_000),
        default=(10, 20, 50, 100, 200),
        metavar="N,…",
        help="rows of the table (default: 10,20,50,100,200)",
    )
    parser.add_argument(
        "--repeats",
        type=sizes_between(1, 1_000),
        default=(1, 3, 5, 10),
        metavar="N,…",
        help="its columns, and what may be bought (default: 1,3,5,10)",
    )
    parser.add_argument(
        "--task-cost",
        type=parse_amount,
        default=0.0,
        metavar="USD",
        help="making one task, once (default: %(default)s)",
    )
    parser.add_argument(
        "--run-cost", type=parse_amount, metavar="USD", help="one run (default: the mean of each arm of the pilot)"
    )
    add_format_option(parser)
    return parser


def _from_pilot(options: argparse.Namespace) -> SamplePlan:
    if not options.runs:
        raise UsageError("name the pilot's RUNS, or state its variances with --components true=X,runs=Y.")
    options.metric = options.metric or _default_metric(found.policy for found in experiments_of(options.runs))
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence)
    if len(candidates) > 1:
        raise UsageError("plan takes one --candidate; plan for each by itself.")
    comparison = compare_arms(evidence, baseline, candidates[0])
    gated = GATED_METRICS[options.metric]
    pilot = read_pilot(comparison, gated.metric, logs=gated.scale is EffectScale.RATIO)
    prices, doubts = price_pilot(comparison, options.task_cost)
    if options.run_cost is not None:
        prices, doubts = _stated_prices(options)
    return plan_sample(_planning_goal(options), _offered_sizes(options), pilot.components, prices, pilot, doubts)


def _from_components(options: argparse.Namespace) -> SamplePlan:
    if given := [option for option, value in _pilot_options(options).items() if value]:
        raise UsageError(f"--components stands in for a pilot; leave out {', '.join(given)}, or --components.")
    options.metric = options.metric or PASS_RATE
    prices, doubts = _stated_prices(options)
    return plan_sample(
        _planning_goal(options), _offered_sizes(options), _parse_components(options), prices, None, doubts
    )


def _from_suite(options: argparse.Namespace) -> SamplePlan:
    """Before the first run: the suite's own size and caps, and variances as public benchmarks of agents show them."""
    if given := [option for option, value in _pilot_options(options).items() if value]:
        raise UsageError(f"-c plans a suite that has not run; leave out {', '.join(given)}.")
    suite = read_suite(options.suite)
    options.metric = options.metric or _default_metric([suite.spec.policy])
    if GATED_METRICS[options.metric].scale is not EffectScale.POINTS and options.components is None:
        raise UsageError(f"nothing is known yet about {options.metric}; state its variances with --components.")
    own_size = {len(suite.tasks)} - {1}  # nothing varies between tasks where there is one
    offer = OfferedSizes(
        tasks=tuple(sorted(own_size | {*options.tasks})),
        repeats=tuple(sorted({effective_repeats(suite), *options.repeats})),
        fewest_tasks=MINIMUM_TASKS,
    )
    cap = suite.spec.limits.budget_usd
    prices, doubts = _stated_prices(options)
    if options.run_cost is None and cap is not None:
        prices = DesignPrices(task_usd=options.task_cost, candidate_run_usd=cap, baseline_run_usd=cap)
        doubts = (f"dollars are the most it could cost: every run at its cap of ${cap:g}.",)
    if options.components is not None:
        return plan_sample(_planning_goal(options), offer, _parse_components(options), prices, None, doubts)
    doubt = JUDGED_CAVEAT if options.metric == JUDGE_SCORE else TYPICAL_CAVEAT
    return plan_sample(_planning_goal(options), offer, TYPICAL_VARIANCES, prices, None, (*doubts, doubt))


def _default_metric(policies: Iterable[PolicySpec]) -> str:
    """What the suites decide by: the pass rate, or the judges where these decide in its place."""
    gates = [policy.gates or () for policy in policies]
    judged = bool(gates) and all(JUDGE_SCORE in named and PASS_RATE not in named for named in gates)
    return JUDGE_SCORE if judged else PASS_RATE


def _pilot_options(options: argparse.Namespace) -> dict[str, object]:
    return {
        "RUNS": options.runs,
        "--baseline": options.baseline,
        "--candidate": options.candidate,
        "--prices": options.prices,
        "--skip-invalid": options.skip_invalid,
    }


def _stated_prices(options: argparse.Namespace) -> tuple[DesignPrices | None, tuple[str, ...]]:
    if options.run_cost is None:
        return None, ("dollars are unknown: nobody said what a run costs; --run-cost USD does.",)
    run_usd = options.run_cost
    return DesignPrices(task_usd=options.task_cost, candidate_run_usd=run_usd, baseline_run_usd=run_usd), ()


def _planning_goal(options: argparse.Namespace) -> PlanGoal:
    gated = GATED_METRICS[options.metric]
    return PlanGoal(
        metric=gated.name,
        relative=gated.scale is EffectScale.RATIO,
        effect=gated.margin if options.effect is None else options.effect,
        alpha=options.alpha,
        power=options.power,
    )


def _offered_sizes(options: argparse.Namespace) -> OfferedSizes:
    return OfferedSizes(tasks=options.tasks, repeats=options.repeats, fewest_tasks=MINIMUM_TASKS)


def _parse_components(options: argparse.Namespace) -> VarianceComponents:
    named = [_parse_component(part, options) for part in options.components.split(",")]
    parts = dict(named)
    if len(parts) < len(named) or parts.keys() not in ({"true", "runs"}, {"true", "candidate", "baseline"}):
        raise UsageError(f"--components {options.components} does not name every variance once; {COMPONENTS_FORM}.")
    if sum(parts.values()) < SMALLEST_VARIANCE:
        raise UsageError(f"--components {options.components} leaves nothing to plan for: without variance no run errs.")
    runs = parts.get("runs", 0.0)
    return state_components(parts["true"], parts.get("candidate", runs), parts.get("baseline", runs))


def _parse_component(part: str, options: argparse.Namespace) -> tuple[str, float]:
    name, _, text = part.strip().partition("=")
    number = parse_finite(text)
    if name not in LARGEST_OF_RATES or number is None or number < 0:
        raise UsageError(f"--components {options.components}: {part!r} is not a variance; {COMPONENTS_FORM}.")
    rate = GATED_METRICS[options.metric].scale is EffectScale.POINTS
    largest = LARGEST_OF_RATES[name] if rate else LARGEST_OF_LOGS
    if number > largest:
        unit = "a rate from 0 to 1" if rate else "logs"
        raise UsageError(
            f"--components {options.components}: {options.metric} is measured as {unit}, so the variance {name} is at "
            f"most {largest:g}, not {number:g}."
        )
    return name, number
