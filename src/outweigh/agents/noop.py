"""The base of agents that ask no model, and the agent that does nothing: what a suite scores without any work."""

from outweigh.model.arm import Arm
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import ZERO_USAGE, reported_cost
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import Sandbox

NOOP_IDENTITY = AgentIdentity(kind=AgentKind.SCRIPTED, name="noop", version=None, model=None)


class OfflineAgent:
    """Base of agents that ask no model and need no program."""

    def missing(self, arm: Arm) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing is missing."""
        return None

    def uses_model(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """Whether it asks a model: never."""
        return False

    def holds_conversations(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """Whether tasks with several turns suit it: it does the same whatever is said."""
        return True

    def read_only(self, arm: Arm) -> tuple[str, ...]:  # noqa: ARG002 - the port's signature
        """Nothing beyond what every sandbox has."""
        return ()


class NoopAgent(OfflineAgent):
    """Leaves the workspace as it is. A task that passes then has checks that require no work."""

    name = "noop"

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:  # noqa: ARG002
        """Report that nothing was done; the zeros are measured, not unknown."""
        return build_outcome(
            NOOP_IDENTITY,
            duration_seconds=0.0,
            usage=ZERO_USAGE,
            cost=reported_cost(0.0),
            step_count=0,
            tool_call_count=0,
            artifacts={"stdout.txt": b""},
        )
