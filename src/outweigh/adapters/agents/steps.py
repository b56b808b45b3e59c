"""Doing what a script says, for real, in the sandbox."""

from collections.abc import Sequence
from time import monotonic

from outweigh.adapters.agents.outcome import early_end
from outweigh.adapters.agents.script import AnyStep, Run, Sleep, Solution, Write
from outweigh.adapters.agents.solution import ENTRY, has_solution, run_solution
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.sandboxes import Completed, Sandbox
from outweigh.record.status import Status

_SHORTEST = 0.001


def perform(steps: Sequence[AnyStep], request: AttemptRequest, sandbox: Sandbox) -> tuple[Status, str | None]:
    """Do one step after the other within the time limit; the first that fails ends the attempt."""
    deadline = monotonic() + request.timeout_seconds
    for number, step in enumerate(steps, start=1):
        ended = _do(step, request, sandbox, max(deadline - monotonic(), _SHORTEST))
        if ended is not None:
            status, detail = ended
            return status, f"step {number} of the script: {detail}"
    return Status.COMPLETED, None


def _do(step: AnyStep, request: AttemptRequest, sandbox: Sandbox, seconds: float) -> tuple[Status, str] | None:
    if isinstance(step, Write):
        sandbox.write(step.path, step.content.encode(), executable=step.executable)
        return None
    if isinstance(step, Solution) and not has_solution(request.task):
        return Status.NOT_RUN, f"task {request.task.id!r} has no solution/{ENTRY} to run"
    done = _execute(step, request, sandbox, seconds)
    if done.exit_code == 0:
        return early_end(done)
    return early_end(done) or (Status.AGENT_ERROR, f"exit code {done.exit_code}")


def _execute(step: Run | Solution | Sleep, request: AttemptRequest, sandbox: Sandbox, seconds: float) -> Completed:
    if isinstance(step, Solution):
        return run_solution(request.task, sandbox, seconds)
    if isinstance(step, Sleep):
        command: Sequence[str] = ["sleep", f"{step.seconds:.3f}"]
    else:
        command = ["sh", "-c", step.command] if isinstance(step.command, str) else step.command
    environment = {**request.arm.environment, **request.environment}
    return sandbox.exec(command, environment=environment, timeout_seconds=seconds)
