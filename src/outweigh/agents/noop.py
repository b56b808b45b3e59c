"""An agent that does nothing: what a suite scores without any work."""

from outweigh.model.arm import Arm
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import Sandbox

NOOP_IDENTITY = AgentIdentity(kind=AgentKind.SCRIPTED, name="noop", version=None, model=None)
ZERO_USAGE = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


class NoopAgent:
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
        return build_outcome(
            NOOP_IDENTITY,
            duration_seconds=0.0,
            usage=ZERO_USAGE,
            cost=reported_cost(0.0),
            step_count=0,
            tool_call_count=0,
            artifacts={"stdout.txt": b""},
        )
