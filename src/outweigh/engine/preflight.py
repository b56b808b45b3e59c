"""Preflight: whether a task's checks fail before any work and pass once the work is done.

Three tries, each with its own workspace and sandbox: the untouched workspace, the same again (the checks must give
the same result twice), and the task's own solution. None of them costs money. The test cases that the solved try
reports are expected of every run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from outweigh.engine.cheats import TEST_FILES
from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.evaluate import CaseNames, CheckEvaluation, CheckSubject, evaluate_checks
from outweigh.engine.checks.unchanged_check import check_unchanged
from outweigh.engine.preflight_output import findings_about_output
from outweigh.engine.run_agent import show_solution
from outweigh.engine.sandbox_request import RunEgress, build_sandbox_request, limit_to_task, watch_disk_quota
from outweigh.engine.stages import (
    ServedSandbox,
    WorkSetting,
    around_work,
    check_environment,
    command_environment,
)
from outweigh.model.failure import detail_line
from outweigh.model.preflight_result import (
    FindingKind,
    PreflightFinding,
    PreflightResult,
    all_required_pass,
    findings_about_names,
    findings_after_solution,
    findings_before_work,
    make_finding,
)
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task, UnchangedCheck
from outweigh.ports.agents import SOLUTION_MOUNT
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    ReadyImage,
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

    `judged` says that the suite has judges, so that a task may have no checks. `images` are those of tasks that run in
    their own.
    """

    sandboxes: SandboxProvider
    workspaces: Workspaces
    scratch: Path
    sandbox: SandboxSpec
    label: str
    solution_timeout_seconds: float
    cancel: Event
    egress: RunEgress = field(default_factory=lambda: RunEgress(None))
    judged: bool = False
    images: Mapping[str, ReadyImage] = field(default_factory=dict)

    def environment_in(self, sandbox: Sandbox, task: Task) -> dict[str, str]:
        """What a solution is given, in a sandbox with this way out."""
        image = self.images.get(task.id)
        own = {} if image is None or task.image is None else task.image.solution_variables
        return {**command_environment(image), **self.egress.variables(sandbox), **task.work.environment, **own}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTries:
    """What preflight found, and what the checks showed in every try: before any work, and after the solution."""

    result: PreflightResult
    untouched: tuple[CheckEvaluation, ...] = ()
    solved: tuple[CheckEvaluation, ...] = ()


def preflight(task: Task, context: PreflightContext) -> PreflightResult:
    """Try a task without an agent. A sandbox that breaks is a finding, not an exception."""
    return try_task(task, context).result


def try_task(task: Task, context: PreflightContext, *, solved_tries: int = 1) -> TaskTries:
    """Preflight with what it is based on. The solution is tried as often as wanted, each time in a new workspace."""
    try:
        pristine = context.workspaces.prepare(task)
        untouched = _try_untouched(task, context, pristine, "untouched")
        noop = _try_untouched(task, context, pristine, "noop")
        solved = _try_solution(task, context, pristine)
        more = [_try_solution(task, context, pristine) for _ in range(solved_tries - 1)] if solved is not None else []
    except (SandboxError, untrusted_files.UnsafePathError, OSError) as fault:
        return TaskTries(result=_broken_sandbox_result(task, context, fault))
    return TaskTries(
        result=_result(task, context, untouched, noop, solved),
        untouched=(untouched, noop),
        solved=tuple(each.evaluation for each in (solved, *more) if each is not None),
    )


def _result(
    task: Task,
    context: PreflightContext,
    untouched: CheckEvaluation,
    noop: CheckEvaluation,
    solved: "_SolvedTry | None",
) -> PreflightResult:
    oracle = None if solved is None else solved.evaluation.results
    names = {} if solved is None else _expected_cases(solved, untouched.case_names)
    return PreflightResult(
        task_id=task.id,
        task_checksum=task.checksum,
        sandbox=context.sandboxes.name,
        untouched=untouched.results,
        noop=noop.results,
        oracle=oracle,
        case_names=names,
        findings=(
            *findings_before_work(task, untouched.results, noop.results, judged=context.judged),
            *findings_after_solution(oracle, None if solved is None else solved.problem),
            *_findings_about_output(solved, in_image=task.id in context.images),
            *findings_about_names(task, names),
        ),
    )


def _findings_about_output(solved: "_SolvedTry | None", *, in_image: bool) -> Iterator[PreflightFinding]:
    if solved is not None and not solved.passes:
        yield from findings_about_output(solved.printed, solved.evaluation, in_image=in_image)


def _broken_sandbox_result(task: Task, context: PreflightContext, fault: Exception) -> PreflightResult:
    return PreflightResult(
        task_id=task.id,
        task_checksum=task.checksum,
        sandbox=context.sandboxes.name,
        untouched=None,
        noop=None,
        oracle=None,
        case_names={},
        findings=(make_finding(FindingKind.SANDBOX_FAILED, f"The task could not be tried: {detail_line(str(fault))}"),),
    )


def _try_untouched(task: Task, context: PreflightContext, pristine: Path, name: str) -> CheckEvaluation:
    with private_sandbox_request(task, context, pristine, name) as (request, untouched):
        return evaluate_workspace(task, context, request, CheckSubject(untouched=untouched, answer=""))


def evaluate_workspace(
    task: Task, context: PreflightContext, request: SandboxRequest, subject: CheckSubject
) -> CheckEvaluation:
    """Run a task's checks over a workspace, as a trial does; a new folder beside it has what checks need."""
    with open_check_sandbox(check_sandbox_request(task, context, request)) as sandbox:
        return evaluate_checks(task, sandbox, subject)


def check_sandbox_request(task: Task, context: PreflightContext, request: SandboxRequest) -> CheckSandboxRequest:
    """What the checks of a task need over the workspace of a request."""
    return CheckSandboxRequest(
        provider=context.sandboxes,
        sandbox=request,
        folder=request.home.with_name("checks"),
        tests=task.tests_folder,
        environment=check_environment(task, request),
        egress=context.egress,
        stage=task.checking,
        work=task.work,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SolvedTry:
    """What the checks showed after the solution, and how its script failed if it did.

    `evaluation` is the first, `names` are the test cases that two evaluations both reported, and `tests_kept` says that
    the solution left the workspace's own tests alone. `printed` is the output of its script.
    """

    evaluation: CheckEvaluation
    names: Mapping[str, tuple[str, ...]]
    tests_kept: bool
    problem: str | None
    printed: tuple[bytes, ...]

    @property
    def passes(self) -> bool:
        """Whether the solution ended well and all required checks passed."""
        return self.problem is None and all_required_pass(self.evaluation.results)


def _try_solution(task: Task, context: PreflightContext, pristine: Path) -> _SolvedTry | None:
    """None where the task has no solution."""
    if task.solution_folder is None or not Path(task.solution_folder, SOLUTION_SCRIPT).is_file():
        return None
    with private_sandbox_request(task, context, pristine, "oracle") as (request, untouched):
        done = solve(task, Path(task.solution_folder), request, context)
        tests = UnchangedCheck(name="tests", paths=list(TEST_FILES))
        tests_kept = check_unchanged(tests, request.workspace, untouched, {}).passed is True
        # As in a trial, checks run in a new sandbox, when every process of the work has ended.
        subject = CheckSubject(untouched=untouched, answer=done.stdout.decode(errors="replace"))
        first = evaluate_workspace(task, context, request, subject)
        names = {}
        if first.case_names:
            # Names may contain the path of the tests, so that they must be at the same place.
            request.home.with_name("checks").rename(request.home.with_name("checks-before"))
            again = evaluate_workspace(task, context, request, subject).case_names
            names = {check: _common(cases, again.get(check, ())) for check, cases in first.case_names.items()}
    return _SolvedTry(
        evaluation=first,
        names=names,
        tests_kept=tests_kept,
        problem=_failure_text(done),
        printed=(done.stdout, done.stderr),
    )


def _expected_cases(solved: _SolvedTry, untouched: CaseNames) -> dict[str, tuple[str, ...]]:
    """The cases that every run must report. Tests that the solution wrote are its own: others may write others."""
    names = solved.names
    if not solved.tests_kept:
        names = {check: _common(cases, untouched.get(check, ())) for check, cases in names.items()}
    return {check: cases for check, cases in names.items() if cases}


def _common(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted((Counter(first) & Counter(second)).elements()))


def solve(task: Task, solution: Path, request: SandboxRequest, context: PreflightContext) -> CompletedCommand:
    """Run the solution as an agent would work. Its files are in the workspace meanwhile, or where Harbor has them."""
    is_mounted = request.task_image is not None
    request = show_solution(request, task)
    with context.sandboxes.open(request) as opened:
        sandbox = ServedSandbox(opened, task.work.services) if task.work.services else opened
        root = sandbox.host_workspace
        inside = SOLUTION_MOUNT if is_mounted else f"{sandbox.workspace}/{SOLUTION_FOLDER}"
        script = f'chmod +x "$OUTWEIGH_SOLUTION/{SOLUTION_SCRIPT}" && exec "$OUTWEIGH_SOLUTION/{SOLUTION_SCRIPT}"'
        try:
            if not is_mounted:
                untrusted_files.replace_folder(root, SOLUTION_FOLDER, solution)
            return sandbox.exec(
                ["sh", "-c", script],
                environment={**context.environment_in(sandbox, task), "OUTWEIGH_SOLUTION": inside},
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
def private_sandbox_request(
    task: Task, context: PreflightContext, pristine: Path, name: str
) -> Iterator[tuple[SandboxRequest, Path]]:
    """A request for a sandbox with a private workspace as the task's setup leaves it, and that workspace untouched.

    Everything is removed afterwards.
    """
    image = context.images.get(task.id)
    spec = limit_to_task(context.sandbox, task, image)
    with (
        TemporaryDirectory(prefix="preflight-", dir=context.scratch, ignore_cleanup_errors=True) as folder,
        context.workspaces.lay_out(pristine, Path(folder, "workspace")) as workspace,
    ):
        home = Path(folder, "home")
        home.mkdir()
        request = build_sandbox_request(
            spec,
            workspace=workspace,
            home=home,
            label=f"{context.label}:preflight/{task.id}/{name}",
            cancel=context.cancel,
            ports=context.egress.ports,
            image=image,
            task=task,
        )
        setting = WorkSetting(
            stage=task.work,
            provider=context.sandboxes,
            request=request,
            workspaces=context.workspaces,
            egress=context.egress,
        )
        with (
            around_work(setting, pristine) as untouched,
            watch_disk_quota(Path(folder), spec.disk_mb, context.cancel) as quota,
        ):
            yield replace(request, cancel=quota.cancel), untouched
            if (too_much := quota.exceeded()) is not None:
                raise SandboxError(too_much)
