"""`outweigh doctor`: what works here, and whether a suite's tasks can show anything."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.cli.agents_here import arms_to_try, look_at_agents
from outweigh.cli.arguments import Parser, add_format_option, show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.harbor_here import look_at_harbor
from outweigh.cli.judges_here import look_at_judges
from outweigh.cli.machine import look_around, look_at_prices, look_at_sandboxes
from outweigh.cli.suite_choice import read_suite
from outweigh.cli.trying import PREFLIGHT_FILE, keep_preflight, try_tasks
from outweigh.errors import UsageError
from outweigh.report.doctor_view import Examination, Part, Remark, TriedTask, doctor_report
from outweigh.run.loading import LoadedSuite
from outweigh.run.preflight_findings import PreflightResult
from outweigh.task.suite import Executor, SandboxSpec


def main(arguments: Sequence[str]) -> int:
    """Look at everything, try every task, and say what is in the way."""
    options = _parser().parse_args(arguments)
    if options.output is not None and options.suite is None:
        raise UsageError("-o keeps what the tasks of a suite showed; name the suite with -c.")
    suite = None if options.suite is None else read_suite(options.suite)
    if _is_for_harbor(suite) and (options.try_agents or options.output is not None):
        raise UsageError("--try-agents and -o are about sandboxes of this machine; the suite is run through Harbor.")
    parts = _parts(options, suite)
    if options.try_agents:
        parts = (*parts, *_tries(suite))
    results = None if suite is None else _try_tasks(suite, parts)
    if options.output is not None and suite is not None and results is not None:
        keep_preflight(Path(options.output), suite, results)
    examination = Examination(
        suite=None if suite is None else suite.spec.name,
        parts=parts,
        tasks=None if results is None else tuple(map(_tried, results)),
    )
    show(doctor_report(examination), options.format)
    return ExitCode.NOT_SATISFIED if examination.blocked else ExitCode.SATISFIED


def _parts(options: argparse.Namespace, suite: LoadedSuite | None) -> tuple[Part, ...]:
    store = Path(options.output or "outweigh-runs")
    if suite is not None and _is_for_harbor(suite):
        return (*look_around(store), *look_at_harbor(suite), *look_at_judges(suite), look_at_prices())
    machine = (*look_around(store), *look_at_sandboxes(suite))
    return (*machine, *look_at_agents(suite), *look_at_judges(suite), look_at_prices())


def _is_for_harbor(suite: LoadedSuite | None) -> bool:
    """Nothing of it runs in sandboxes of this machine."""
    return suite is not None and suite.spec.executor is Executor.HARBOR


def _tries(suite: LoadedSuite | None) -> Iterator[Part]:
    from outweigh.cli.trying_arms import try_arms  # noqa: PLC0415 - brings a gateway and a model along

    arms = arms_to_try(suite)
    if sys.stderr.isatty():
        print(f"trying {len(arms)} agents …", file=sys.stderr)
    spec = SandboxSpec() if suite is None else suite.spec.sandbox
    yield from try_arms(arms, {} if suite is None else suite.overlays, spec, required=suite is not None)


def _try_tasks(suite: LoadedSuite, parts: Sequence[Part]) -> list[PreflightResult] | None:
    """Preflight needs the sandbox and git, but no agent and no secret."""
    if _is_for_harbor(suite) or any(part.blocks for part in parts if part.kind in ("git", "sandbox")):
        return None
    if sys.stderr.isatty():
        print(f"trying {len(suite.tasks)} tasks …", file=sys.stderr)
    return try_tasks(suite)


def _tried(result: PreflightResult) -> TriedTask:
    return TriedTask(
        task_id=result.task_id,
        untouched=result.untouched,
        noop=result.noop,
        oracle=result.oracle,
        remarks=tuple(
            Remark(kind=finding.kind.value, blocking=finding.blocking, message=finding.message)
            for finding in result.findings
        ),
    )


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh doctor",
        description="What works here; with a suite, whether its tasks fail untouched and pass when solved. Nothing is "
        "paid.",
        allow_abbrev=False,
    )
    parser.add_argument("-c", "--suite", metavar="SUITE", help="a suite.toml, or the folder it is in")
    parser.add_argument("-o", "--output", metavar="DIR", help=f"keep what the tasks showed in DIR/{PREFLIGHT_FILE}")
    parser.add_argument(
        "--try-agents",
        action="store_true",
        help="start every agent once, with a suite every arm, in the sandbox and against a scripted model that is free",
    )
    add_format_option(parser)
    return parser
