"""Outcomes of attempts: from the fields that an agent knows, or from how its program exited and what it reported."""

from collections.abc import Mapping
from dataclasses import replace

from outweigh.model.failure import Failure, FailureKind, Status, make_failure
from outweigh.model.run_record import AgentIdentity
from outweigh.model.task import Task
from outweigh.model.usage import reported_cost
from outweigh.ports.agents import AttemptOutcome, build_outcome
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, Sandbox, bare_sandbox
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.goal_progress import aligned_actions, reached_steps, shown_steps
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.trajectory_file import trajectory_json


def early_end(done: CompletedCommand) -> tuple[Status, str] | None:
    """How a command was stopped from outside; None when it ended by itself."""
    if done.ending is CommandEnding.TIMED_OUT:
        return Status.TIMEOUT, f"stopped after {done.duration_seconds:.1f} s"
    if done.ending is CommandEnding.CANCELLED:
        return Status.NOT_RUN, "cancelled before it had ended"
    return None


_LOOK_SECONDS = 60.0
_FIND_PROGRAM = 'case "$1" in */*) [ -x "$1" ];; *) command -v "$1" >/dev/null;; esac'


def missing_in_sandbox(sandbox: Sandbox, program: str, environment: Mapping[str, str]) -> str | None:
    """Why a program cannot be started in the sandbox; None when it can.

    Looked at before the start, while nothing in the sandbox is the agent's doing: afterwards, the exit codes 126 and
    127 tell nothing, because any program can end with them.
    """
    if program == "sh":
        return None
    done = bare_sandbox(sandbox).exec(
        ["/bin/sh", "-c", _FIND_PROGRAM, "sh", program], environment=environment, timeout_seconds=_LOOK_SECONDS
    )
    if done.ending is not CommandEnding.EXITED or done.exit_code == 0:
        return None
    return f"the program {program!r} was not found in the sandbox, or cannot be executed there; the agent never started"


TRANSCRIPT, STDERR, TRAJECTORY = "transcript.txt", "stderr.txt", "trajectory.json"
_STDERR_TAIL_LENGTH = 300


def outcome_from_report(
    identity: AgentIdentity, task: Task, done: CompletedCommand, report: AgentReport, collected: Mapping[str, bytes]
) -> AttemptOutcome:
    """The outcome of an attempt. How the program ended goes before its report, and no report is a failure."""
    status, detail, reason = _ending(done, report)
    shown = shown_steps(report)
    return build_outcome(
        identity,
        status,
        detail,
        duration_seconds=done.duration_seconds,
        usage=report.usage,
        cost=reported_cost(report.cost_usd),
        step_count=report.step_count,
        tool_call_count=report.tool_call_count,
        steps=record_steps(report.steps) if report.steps else None,
        reached_steps=reached_steps(task.expected_steps, shown),
        actions=aligned_actions(task.goal_actions, task.expected_steps, shown),
        failure=reason,
        retry_after_seconds=None if reason is None else reason.retry_after_seconds,
        request_count=report.request_count,
        loaded=report.loaded,
        warnings=(*report.warnings, *_truncation_warning(done)),
        artifacts={
            TRANSCRIPT: done.stdout,
            STDERR: done.stderr,
            TRAJECTORY: _trajectory(identity, report),
            **collected,
        },
    )


def explain_exit_code(
    report: AgentReport, done: CompletedCommand, exit_codes: Mapping[int, FailureKind]
) -> AgentReport:
    """The report with the failure that an exit code means, where the output names none."""
    kind = None if done.exit_code is None else exit_codes.get(done.exit_code)
    is_known = report.failure is not None and report.failure.kind is not FailureKind.NO_RESULT
    if kind is None or is_known:
        return report
    return replace(report, failure=make_failure(kind, f"exit code {done.exit_code}{_stderr_tail(done.stderr)}"))


def _trajectory(identity: AgentIdentity, report: AgentReport) -> bytes:
    """The trajectory file, with version and model from elsewhere where the output does not name them."""
    if not report.steps:
        return b""
    named = replace(report, version=report.version or identity.version, model=report.model or identity.model)
    return trajectory_json(named, identity.name or "")


def _ending(done: CompletedCommand, report: AgentReport) -> tuple[Status, str | None, Failure | None]:
    ended = early_end(done)
    if ended is not None:
        status, detail = ended
        return (
            status,
            detail,
            make_failure(FailureKind.TIMEOUT, detail) if done.ending is CommandEnding.TIMED_OUT else None,
        )
    reason = _failure(done, report)
    return (Status.COMPLETED, None, None) if reason is None else (reason.kind.status, reason.detail, reason)


def _failure(done: CompletedCommand, report: AgentReport) -> Failure | None:
    known = report.failure
    if known is not None and known.kind is not FailureKind.NO_RESULT:
        return known
    # Standard error is quoted but not classified: a tool server of the arm can be unreachable or reject a key with the
    # same message as a model, and that is the arm's own failure.
    stderr_tail = _stderr_tail(done.stderr)
    if done.exit_code != 0:
        return make_failure(FailureKind.CRASH, f"exit code {done.exit_code}{stderr_tail}")
    if known is not None or not report.finished:
        message = "it ended without a result" if known is None else known.detail
        return make_failure(FailureKind.NO_RESULT, f"{message}{stderr_tail}")
    return None


def _stderr_tail(stderr: bytes) -> str:
    text = stderr.decode(errors="replace").strip()
    return f": {text[-_STDERR_TAIL_LENGTH:]}" if text else ""


def _truncation_warning(done: CompletedCommand) -> tuple[str, ...]:
    return ("only the beginning of what the agent printed was kept",) if done.truncated else ()
