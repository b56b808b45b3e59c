"""An agent that runs the task's own solution: what a suite scores when every task is solved."""

from outweigh.agents.noop import OfflineAgent
from outweigh.agents.outcomes import early_end
from outweigh.agents.private_folder import SOLUTION_SCRIPT, has_solution, run_solution
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import ZERO_USAGE, reported_cost
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import CompletedCommand, Sandbox

# Scripted, so that knowing the solution can never lead to a promotion.
ORACLE_IDENTITY = AgentIdentity(kind=AgentKind.SCRIPTED, name="oracle", version=None, model=None)


class OracleAgent(OfflineAgent):
    """Runs the task's own solution. A task that then fails is broken, or its checks are."""

    name = "oracle"
    runs_solution = True

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Run the solution; a task without one is not run, which is not a failure."""
        if not has_solution(request.task):
            return build_outcome(
                ORACLE_IDENTITY, Status.NOT_RUN, f"task {request.task.id!r} has no solution/{SOLUTION_SCRIPT} to run"
            )
        done = run_solution(request, sandbox)
        status, detail = early_end(done) or _ending(done)
        return build_outcome(
            ORACLE_IDENTITY,
            status,
            detail,
            duration_seconds=done.duration_seconds,
            usage=ZERO_USAGE,
            cost=reported_cost(0.0),
            reached_steps=frozenset(step.name for step in request.task.expected_steps),
            artifacts={"stdout.txt": done.stdout, "stderr.txt": done.stderr},
        )


def _ending(done: CompletedCommand) -> tuple[Status, str | None]:
    if done.exit_code == 0:
        return Status.COMPLETED, None
    return Status.AGENT_ERROR, f"solution/{SOLUTION_SCRIPT} ended with exit code {done.exit_code}"
