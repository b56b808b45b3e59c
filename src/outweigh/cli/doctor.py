"""`outweigh doctor`: what works on this machine, and whether a suite's tasks can tell arms apart."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.app.doctor import (
    arms_to_smoke_test,
    probe_agents,
    probe_harbor,
    probe_judges,
    probe_machine,
    probe_prices,
    probe_sandboxes,
)
from outweigh.app.preflight_suite import PREFLIGHT_FILE, preflight_tasks, store_preflight
from outweigh.app.suite_selection import read_suite
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.preflight_result import PreflightResult
from outweigh.model.suite import Executor, SandboxSpec
from outweigh.report.doctor_page import CheckedTask, DoctorResult, RunRequirement, TaskFinding, doctor_report


def main(arguments: Sequence[str]) -> int:
    """Look at everything, try every task, and say what is in the way."""
    options = _parser().parse_args(arguments)
    if options.output is not None and options.suite is None:
        raise UsageError("-o keeps what the tasks of a suite showed; name the suite with -c.")
    suite = None if options.suite is None else read_suite(options.suite)
    if _is_for_harbor(suite) and (options.try_agents or options.output is not None):
        raise UsageError("--try-agents and -o are about sandboxes of this machine; the suite is run through Harbor.")
    parts = _probe_parts(options, suite)
    if options.try_agents:
        parts = (*parts, *_smoke_test_arms(suite))
    results = None if suite is None else _preflight_tasks(suite, parts)
    if options.output is not None and suite is not None and results is not None:
        store_preflight(Path(options.output), suite, results)
    examination = DoctorResult(
        suite=None if suite is None else suite.spec.name,
        parts=parts,
        tasks=None if results is None else tuple(map(_tried_task, results)),
    )
    print_report(doctor_report(examination), options.format)
    return ExitCode.NOT_SATISFIED if examination.blocked else ExitCode.SATISFIED


def _probe_parts(options: argparse.Namespace, suite: LoadedSuite | None) -> tuple[RunRequirement, ...]:
    store = Path(options.output or "outweigh-runs")
    if suite is not None and _is_for_harbor(suite):
        return (*probe_machine(store), *probe_harbor(suite), *probe_judges(suite), probe_prices())
    machine = (*probe_machine(store), *probe_sandboxes(suite))
    return (*machine, *probe_agents(suite), *probe_judges(suite), probe_prices())


def _is_for_harbor(suite: LoadedSuite | None) -> bool:
    """Nothing of it runs in sandboxes of this machine."""
    return suite is not None and suite.spec.executor is Executor.HARBOR


def _smoke_test_arms(suite: LoadedSuite | None) -> Iterator[RunRequirement]:
    from outweigh.app.smoke_test import smoke_test_arms  # noqa: PLC0415 - brings a gateway and a model along

    arms = arms_to_smoke_test(suite)
    if sys.stderr.isatty():
        print(f"trying {len(arms)} agents …", file=sys.stderr)
    spec = SandboxSpec() if suite is None else suite.spec.sandbox
    yield from smoke_test_arms(arms, {} if suite is None else suite.overlays, spec, required=suite is not None)


def _preflight_tasks(suite: LoadedSuite, parts: Sequence[RunRequirement]) -> list[PreflightResult] | None:
    """Preflight needs the sandbox and git, but no agent and no secret."""
    if _is_for_harbor(suite) or any(part.blocks for part in parts if part.kind in ("git", "sandbox")):
        return None
    if sys.stderr.isatty():
        print(f"trying {len(suite.tasks)} tasks …", file=sys.stderr)
    return preflight_tasks(suite)


def _tried_task(result: PreflightResult) -> CheckedTask:
    return CheckedTask(
        task_id=result.task_id,
        untouched=result.untouched,
        noop=result.noop,
        oracle=result.oracle,
        remarks=tuple(
            TaskFinding(kind=finding.kind.value, blocking=finding.blocking, message=finding.message)
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
