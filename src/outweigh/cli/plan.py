"""`outweigh plan`: how often the next experiment would be decided, and what it would cost."""

import argparse
import shlex
from collections.abc import Callable, Sequence

from outweigh.app.evidence import EvidenceRequest
from outweigh.app.plan import PlanRequest, plan
from outweigh.app.plan_options import parse_finite
from outweigh.app.this_folder import has_suite, stores_of_folder
from outweigh.cli.arguments import COMMON_OPTIONS, Parser, add_format_option, print_report
from outweigh.cli.defaults import choose_suite_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ArmOptions, ReadingOptions, add_reading_options
from outweigh.report.plan_page import plan_report, plan_summary
from outweigh.verdict.evidence_settings import COST_OF_PASS, CURRENT_VERSION, GATED_METRICS, MINIMUM_TASKS

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


class _Options(ReadingOptions, ArmOptions):
    reads_datasets: bool = True
    suite: str | None
    components: str | None
    metric: str | None
    effect: str | None
    gates: str | None
    policy_version: int | None
    power: float
    tasks: tuple[int, ...]
    repeats: tuple[int, ...]
    task_cost: float
    run_cost: float | None
    seed: int
    verbose: bool
    format: str

    def pilot_request(self) -> EvidenceRequest:
        """The pilot's runs: those that are named, else the last store, unless this folder has a suite to plan for."""
        if self.runs:
            return self.evidence_request()
        if self.suite is None and self.components is None:
            if has_suite():
                self.suite = choose_suite_file(None, self.command)
            elif stores_of_folder():
                return self.evidence_request()
        return self.named_request()


def main(arguments: Sequence[str]) -> int:
    """Print the plan."""
    options = build_parser().parse_command(arguments, _Options())
    request = PlanRequest(
        pilot=options.pilot_request(),
        arms=options.arm_choice(),
        suite=options.suite,
        components=options.components,
        metric=options.metric,
        effect=options.effect,
        gates=None if options.gates is None else tuple(name.strip() for name in options.gates.split(",")),
        version=options.policy_version,
        power=options.power,
        tasks=options.tasks,
        repeats=options.repeats,
        task_cost=options.task_cost,
        run_cost=options.run_cost,
        seed=options.seed,
    )
    made = plan(request)
    brief = options.format == "text" and not options.verbose
    whole = shlex.join([*options.command, "--verbose"])
    print_report(plan_summary(made, verbose_command=whole) if brief else plan_report(made), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh plan",
        description="See what an experiment could detect and what it would cost, by simulating the rule that decides.",
        examples=(
            "outweigh plan --tasks 10,20 --repeats 3,5",
            "outweigh plan outweigh-runs/demo --candidate better --effect 0.1",
        ),
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="run records of a pilot (default: the last store of this folder, if it has no suite)",
    )
    parser.add_argument(
        "-c", "--suite", metavar="SUITE", help="a suite that has not run yet, instead of RUNS (default: this folder's)"
    )
    parser.add_argument(
        "--components",
        metavar="true=X,runs=Y",
        help="known variances instead of RUNS: of true differences between tasks, and of single runs in each arm "
        "(or true=X,candidate=Y,baseline=Z); of logarithms for time, tokens and cost",
    )
    add_reading_options(parser)
    arms = parser.group("Arms")
    arms.add_argument("--baseline", metavar="ARM", help="the pilot's arm to compare with (default: the suite's)")
    arms.add_argument(
        "--candidate", metavar="ARM", action="append", help="the pilot's other arm (default: the only other arm)"
    )
    _add_question_options(parser)
    _add_size_options(parser)
    add_format_option(parser)
    parser.group(COMMON_OPTIONS).add_argument(
        "--verbose",
        action="store_true",
        help="print everything: all sizes, designs, planned looks, variances, notes and warnings",
    )
    return parser


def _add_question_options(parser: Parser) -> None:
    """What is to be detected, and by which rule."""
    group = parser.group("What to detect")
    group.add_argument(
        "--metric",
        choices=tuple(name for name in GATED_METRICS if name != COST_OF_PASS),
        help="the metric that improves (default: pass_rate, or judge_score where judges decide in the suite)",
    )
    group.add_argument(
        "--effect",
        metavar="X|NAME=X,…",
        help="the true effect of the candidate: a gain of the metric (points more, or a share less of time, tokens or "
        "cost), or changes by name such as pass_rate=0.05,cost=-0.1 (default: a gain of 0.05)",
    )
    group.add_argument(
        "--power",
        type=number_between(0.5, 0.999),
        default=0.8,
        metavar="P",
        help="how often the experiment should find the improvement (default: %(default)s)",
    )
    group.add_argument("--gates", metavar="NAME,…", help="the gates that decide (default: the suite's, or all known)")
    group.add_argument(
        "--policy-version",
        type=int,
        choices=range(1, CURRENT_VERSION + 1),
        metavar="N",
        help="the version of the rule (default: the one of the pilot or the suite)",
    )


def _add_size_options(parser: Parser) -> None:
    """How large the experiment may be, and what a part of it costs."""
    group = parser.group("Size and cost")
    group.add_argument(
        "--tasks",
        type=sizes_between(MINIMUM_TASKS, 20_000),
        default=(10, 20, 50, 100, 200),
        metavar="N,…",
        help="numbers of tasks to try (default: 10,20,50,100,200)",
    )
    group.add_argument(
        "--repeats",
        type=sizes_between(1, 1_000),
        default=(1, 3, 5, 10),
        metavar="N,…",
        help="numbers of repeats to try (default: 1,3,5,10)",
    )
    group.add_argument(
        "--task-cost",
        type=parse_amount,
        default=0.0,
        metavar="USD",
        help="what it costs to write one task (default: %(default)s)",
    )
    group.add_argument(
        "--run-cost",
        type=parse_amount,
        metavar="USD",
        help="what one run costs (default: each arm's mean in the pilot)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the simulation (default: %(default)s)")
