"""Preflight: whether a task's checks fail before any work and pass once the work is done.

Three tries, each with its own workspace and sandbox: the untouched workspace, the same again (the checks must give
the same result twice), and the task's own solution. None of them costs money.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.evaluate import CHECK_ENVIRONMENT, evaluate_checks
from outweigh.engine.sandbox_request import RunEgress, build_sandbox_request, watch_disk_quota
from outweigh.model.preflight_result import (
    CheckResults,
    FindingKind,
    PreflightResult,
    findings_after_solution,
    findings_before_work,
    make_finding,
)
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from outweigh.ports.workspaces import Workspaces

SOLUTION_FOLDER = ".outweigh-solution"
SOLUTION_SCRIPT = "solve.sh"
_SHOWN_OUTPUT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightContext:
    """What preflight needs: sandboxes, workspaces, a scratch folder, and settings of suite and engine.

    `judged` says that the suite has judges, so that a task may have no checks.
    """

    sandboxes: SandboxProvider
    workspaces: Workspaces
    scratch: Path
    sandbox: SandboxSpec
    label: str
    solution_timeout_seconds: float
    cancel: Event
    environment: Mapping[str, str] = field(default_factory=lambda: CHECK_ENVIRONMENT)
    egress: RunEgress = field(default_factory=lambda: RunEgress(None))
    judged: bool = False

    def environment_in(self, sandbox: Sandbox) -> dict[str, str]:
        """What solution and checks are given, in a sandbox with this way out."""
        return {**self.environment, **self.egress.variables(sandbox)}


def preflight(task: Task, context: PreflightContext) -> PreflightResult:
    """Try a task without an agent. A sandbox that breaks is a finding, not an exception."""
    try:
        pristine = context.workspaces.prepare(task)
        untouched = _try_task(task, context, pristine, "untouched")
        noop = _try_task(task, context, pristine, "noop")
        oracle, problem = _try_solution(task, context, pristine)
    except (SandboxError, untrusted_files.UnsafePathError, OSError) as fault:
        return _broken_sandbox_result(task, context, fault)
    return PreflightResult(
        task_id=task.id,
        task_checksum=task.checksum,
        sandbox=context.sandboxes.name,
        untouched=untouched,
        noop=noop,
        oracle=oracle,
        findings=(
            *findings_before_work(task, untouched, noop, judged=context.judged),
            *findings_after_solution(oracle, problem),
        ),
    )


def _broken_sandbox_result(task: Task, context: PreflightContext, fault: Exception) -> PreflightResult:
    return PreflightResult(
        task_id=task.id,
        task_checksum=task.checksum,
        sandbox=context.sandboxes.name,
        untouched=None,
        noop=None,
        oracle=None,
        findings=(make_finding(FindingKind.SANDBOX_FAILED, f"The task could not be tried: {fault}"),),
    )


def _try_task(task: Task, context: PreflightContext, pristine: Path, name: str) -> CheckResults:
    with (
        _private_sandbox_request(task, context, pristine, name) as request,
        context.sandboxes.open(request) as sandbox,
    ):
        return evaluate_checks(task, sandbox, pristine, answer="", environment=context.environment_in(sandbox)).results


def _try_solution(task: Task, context: PreflightContext, pristine: Path) -> tuple[CheckResults | None, str | None]:
    """The check results after the solution, and how its script failed if it did."""
    if task.solution_folder is None or not Path(task.solution_folder, SOLUTION_SCRIPT).is_file():
        return None, None
    with _private_sandbox_request(task, context, pristine, "oracle") as request:
        with context.sandboxes.open(request) as sandbox:
            done = _solve(task, Path(task.solution_folder), sandbox, context)
        # As in a trial, checks run in a new sandbox, when every process of the work has ended.
        with context.sandboxes.open(_fresh_home(request)) as sandbox:
            output, environment = done.stdout.decode(errors="replace"), context.environment_in(sandbox)
            results = evaluate_checks(task, sandbox, pristine, answer=output, environment=environment).results
    return results, _failure_text(done)


def _solve(task: Task, solution: Path, sandbox: Sandbox, context: PreflightContext) -> CompletedCommand:
    root, inside = sandbox.host_workspace, f"{sandbox.workspace}/{SOLUTION_FOLDER}"
    script = f'chmod +x "$OUTWEIGH_SOLUTION/{SOLUTION_SCRIPT}" && exec "$OUTWEIGH_SOLUTION/{SOLUTION_SCRIPT}"'
    try:
        untrusted_files.replace_folder(root, SOLUTION_FOLDER, solution)
        return sandbox.exec(
            ["sh", "-c", script],
            environment={**context.environment_in(sandbox), "OUTWEIGH_SOLUTION": inside},
            timeout_seconds=task.timeout_seconds or context.solution_timeout_seconds,
        )
    finally:
        untrusted_files.remove_path(root, SOLUTION_FOLDER)


def _failure_text(done: CompletedCommand) -> str | None:
    if done.ending is CommandEnding.EXITED and done.exit_code == 0:
        return None
    ended = (
        f"ended with exit code {done.exit_code}" if done.ending is CommandEnding.EXITED else f"was {done.ending.value}"
    )
    output = (done.stderr or done.stdout)[-_SHOWN_OUTPUT:].decode("utf-8", "replace").strip()
    return f"{ended.replace('_', ' ')} and said: {output}" if output else ended.replace("_", " ")


@contextmanager
def _private_sandbox_request(
    task: Task, context: PreflightContext, pristine: Path, name: str
) -> Iterator[SandboxRequest]:
    """A request for a sandbox with a private workspace and an empty home, both removed afterwards."""
    with (
        TemporaryDirectory(prefix="preflight-", dir=context.scratch, ignore_cleanup_errors=True) as folder,
        context.workspaces.lay_out(pristine, Path(folder, "workspace")) as workspace,
        watch_disk_quota(Path(folder), context.sandbox.disk_mb, context.cancel) as quota,
    ):
        home = Path(folder, "home")
        home.mkdir()
        label = f"{context.label}:preflight/{task.id}/{name}"
        yield build_sandbox_request(
            context.sandbox,
            workspace=workspace,
            home=home,
            label=label,
            cancel=quota.cancel,
            ports=context.egress.ports,
        )
        if (too_much := quota.exceeded()) is not None:
            raise SandboxError(too_much)


def _fresh_home(request: SandboxRequest) -> SandboxRequest:
    home = request.home.with_name("checks-home")
    home.mkdir()
    return replace(request, home=home)
