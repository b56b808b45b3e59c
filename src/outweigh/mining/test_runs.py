"""Runs the tests of a candidate in sandboxes: the hidden ones before and after the change, and the base's own."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from outweigh.engine.checks.check_sandbox import CheckSandbox, open_check_sandbox
from outweigh.engine.checks.report_outcome import read_place
from outweigh.engine.checks.test_reports.reported_test import outcomes_by_name
from outweigh.engine.preflight import PreflightContext, check_sandbox_request, private_sandbox_request, solve
from outweigh.mining.runners.runner import Runner
from outweigh.mining.test_progress import SilenceWatch
from outweigh.mining.test_results import TestOutcome, TestResults
from outweigh.model.task import ReportFormat, Task
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, SandboxError


class SolutionFailedError(Exception):
    """The change cannot be applied to the workspace; the message is what git said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRuns:
    """Where the tests of one candidate are run: always in a new sandbox over a new copy of its workspace.

    `task` is a draft whose workspace is the base. `report` is the file that commands write, if they do.
    """

    __test__ = False

    task: Task
    context: PreflightContext
    runner: Runner
    report: str | None

    def run(self, command: str, *, solved: bool, timeout_seconds: float, silent_seconds: float) -> TestResults:
        """Run a command over the untouched workspace, or over the one with the change.

        It may take so long, and print nothing for so long where the runner shows its progress.
        """
        pristine = self.context.workspaces.prepare(self.task)
        with ExitStack() as stack:
            request, _ = stack.enter_context(private_sandbox_request(self.task, self.context, pristine, "tests"))
            if solved:
                _require_solved(solve(self.task, Path(self.task.solution_folder or ""), request, self.context))
            most_silent = silent_seconds if self.runner.shows_progress else timeout_seconds
            watch = SilenceWatch(most_silent, request.cancel)
            request = replace(request, cancel=watch.cancel)
            sandbox = stack.enter_context(open_check_sandbox(check_sandbox_request(self.task, self.context, request)))
            with watch.watching():
                done = sandbox.run(command, timeout_seconds, on_output=watch.hear)
            if done.ending is CommandEnding.CANCELLED and not watch.was_too_long:
                raise SandboxError("cancelled while its tests ran")
            stopped = {
                CommandEnding.TIMED_OUT: f"not done after {timeout_seconds:.0f} s",
                CommandEnding.CANCELLED: f"no test ended for {most_silent:.0f} s",
            }.get(done.ending, "")
            return replace(self._results(done, sandbox), stopped=stopped, silent_seconds=watch.longest())

    def _results(self, done: CompletedCommand, sandbox: CheckSandbox) -> TestResults:
        return TestResults(
            outcomes=None if self.report is None else self._outcomes(sandbox, self.report),
            exit_code=done.exit_code if done.ending is CommandEnding.EXITED else None,
            seconds=done.duration_seconds,
            output=b"\n".join((done.stdout, done.stderr)).decode(errors="replace"),
        )

    def _outcomes(self, sandbox: CheckSandbox, report: str) -> dict[str, TestOutcome]:
        """The tests of the report, as the check of the task reads it; none where it is missing or cannot be read."""
        stated = self.runner.report_format
        wanted = None if stated is None else ReportFormat(stated)
        return outcomes_by_name(read_place(sandbox.reports, report, wanted, sandbox.sandbox.workspace).tests or ())


def _require_solved(done: CompletedCommand) -> None:
    if done.ending is CommandEnding.CANCELLED:
        raise SandboxError("cancelled while the change was applied")
    if done.exit_code != 0:
        raise SolutionFailedError(done.stderr.decode(errors="replace").strip())
