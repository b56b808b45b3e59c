"""An agent that does nothing: what a suite scores without any work."""

from outweigh.adapters.agents.outcome import outcome
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import AgentIdentity, AgentKind
from outweigh.record.usage import Usage
from outweigh.task.arm import Arm

IDENTITY = AgentIdentity(kind=AgentKind.SCRIPTED, name="noop", version=None, model=None)
NOTHING_USED = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


class Noop:
    """Leaves the workspace as it is. A task that passes then has checks that ask nothing."""

    name = "noop"

    def missing(self, arm: Arm) -> str | None:  # noqa: ARG002 - nothing can be missing
        """Nothing ever is."""
        return None

    def uses_model(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """It never does."""
        return False

    def read_only(self, arm: Arm) -> tuple[str, ...]:  # noqa: ARG002 - the port's signature
        """Nothing beyond what every sandbox shows."""
        return ()

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:  # noqa: ARG002
        """Say that nothing was done; its zeros are measured, not missing."""
        return outcome(
            IDENTITY,
            duration_seconds=0.0,
            usage=NOTHING_USED,
            cost=reported_cost(0.0),
            step_count=0,
            tool_call_count=0,
            artifacts={"stdout.txt": b""},
        )
