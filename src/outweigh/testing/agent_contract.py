"""What every adapter of an agent must do, claimed with the real program against a scripted model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from outweigh.adapters.workspaces.git import git
from outweigh.ports.agents import Agent, AttemptOutcome
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.record.status import Status
from outweigh.record.usage import Usage
from outweigh.task.arm import Arm
from outweigh.testing.agent_setting import MODEL_DOOR, an_attempt, door_to
from outweigh.testing.model_server import ErrorSpec, LedgerEntry, ModelServer, Script, Tokens, Turn, UsageSpec
from outweigh.testing.model_server.tokens import NO_TOKENS
from outweigh.testing.sandbox_setting import a_request
from outweigh.transcript.failure import FailureKind

ANSWER = "answer.txt"
KEY = "run-key-1"
PATIENCE_SECONDS = 300.0
SOON_SECONDS = 10.0
ENDLESS_SECONDS = 3600.0
KEPT_BODY_BYTES = 2**20
FIRST_USAGE = UsageSpec(input_tokens=1000, output_tokens=100, cache_read_tokens=30, reasoning_tokens=7)
LAST_USAGE = UsageSpec(input_tokens=2000, output_tokens=200, cache_read_tokens=60)


@dataclass(frozen=True, slots=True)
class Attempted:
    """An attempt: what the adapter says, what the model was asked, and what became of the workspace."""

    outcome: AttemptOutcome
    requests: tuple[LedgerEntry, ...]
    workspace: Path

    @property
    def told(self) -> str:
        """What to show when a claim fails."""
        kept = self.outcome.artifacts
        return "\n".join(
            [str(self.outcome.status), str(self.outcome.status_detail)]
            + [str(replace(entry, body=None)) for entry in self.requests]
            + [f"--- {name}\n{kept[name].decode(errors='replace')[-3000:]}" for name in sorted(kept)]
        )


class AgentContract(ABC):
    """Claims about an agent that works with a model, in a sandbox with a door to that model."""

    _solutions: ClassVar[dict[type, Attempted]] = {}

    @abstractmethod
    def agent(self) -> Agent:
        """The adapter under test."""

    @abstractmethod
    def arm(self) -> Arm:
        """An arm of it that names a model."""

    @abstractmethod
    def sandboxes(self) -> SandboxProvider:
        """Where it runs."""

    @abstractmethod
    def folder(self) -> Path:
        """An empty folder of the host for this test."""

    def turns(self) -> list[Turn]:
        """What the model says so that this agent writes 42 to answer.txt and ends; override for one without a shell."""
        return [Turn(run=f"echo 42 >{ANSWER}", usage=FIRST_USAGE), Turn(text="Done.", usage=LAST_USAGE)]

    def counts(self, entry: LedgerEntry) -> bool:
        """Whether the agent's own figures cover an answer; override for one that leaves some out."""
        return entry.tokens is not None

    def usage_of(self, tokens: Tokens) -> Usage:
        """How the agent tells the tokens of its answers; override for one that does not tell all kinds."""
        return tokens.usage

    def attempted(
        self,
        turns: Sequence[Turn],
        arm: Arm | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_seconds: float = PATIENCE_SECONDS,
    ) -> Attempted:
        """An attempt against a model that says these things, over a workspace of these files."""
        arm = arm or self.arm()
        room = replace(a_request(self.folder(), "agents"), read_only=self.agent().read_only(arm))
        _commit_once(room.workspace)
        with ModelServer(Script(turn=list(turns)), kept_body_bytes=KEPT_BODY_BYTES) as server:
            with self.sandboxes().open(replace(room, doors=(door_to(server.port),))) as sandbox:
                for path, content in (files or {}).items():
                    sandbox.write(path, content)
                access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(MODEL_DOOR)}", key=KEY)
                request = an_attempt(arm, timeout_seconds=timeout_seconds, model_access=access)
                outcome = self.agent().attempt(request, sandbox)
            return Attempted(outcome, server.ledger, room.workspace)

    def solved(self) -> Attempted:
        """An attempt at which all goes well; several claims are about one, because real agents take their time."""
        if type(self) not in self._solutions:
            self._solutions[type(self)] = self.attempted(self.turns())
        return self._solutions[type(self)]

    def test_does_what_the_model_says_and_nothing_else_to_the_workspace(self) -> None:
        """The work is done, and nothing but the work is left."""
        done = self.solved()

        assert (done.outcome.status, done.outcome.status_detail) == (Status.COMPLETED, None), done.told
        assert (done.workspace / ANSWER).read_text() == "42\n", done.told
        assert sorted(path.name for path in done.workspace.iterdir()) == [".git", ANSWER], done.told

    def test_tells_who_it_is_and_what_was_handed_out(self) -> None:
        """Its figures are those of the answers that it counts, in our units."""
        done = self.solved()

        counted = [entry.tokens for entry in done.requests if self.counts(entry) and entry.tokens is not None]
        assert done.outcome.usage == self.usage_of(sum(counted, NO_TOKENS)), done.told
        assert done.outcome.request_count in (None, len(counted)), done.told
        assert done.outcome.agent.name == self.arm().agent
        assert done.outcome.agent.version is not None, done.told
        assert done.outcome.agent.model is not None, done.told
        assert "trajectory.json" in done.outcome.artifacts, done.told

    def test_sends_the_runs_key_and_no_other(self) -> None:
        """The key is how a gateway knows the run."""
        done = self.solved()

        assert {entry.api_key for entry in done.requests} == {KEY}, done.told

    def test_a_model_that_refuses_the_key_says_nothing_about_the_arm(self) -> None:
        """Somebody must mend the key; the arm had no chance."""
        done = self.attempted([Turn(error=ErrorSpec(kind="unauthorized"))])

        assert done.outcome.status is Status.INFRA_ERROR, done.told
        assert done.outcome.failure is not None
        assert done.outcome.failure.kind is FailureKind.UNAUTHORIZED, done.told

    def test_a_run_that_is_out_of_time_is_a_timeout(self) -> None:
        """Whatever it was waiting for."""
        done = self.attempted([Turn(text="Soon.", delay_seconds=ENDLESS_SECONDS)], timeout_seconds=SOON_SECONDS)

        assert done.outcome.status is Status.TIMEOUT, done.told
        assert done.outcome.failure is not None
        assert done.outcome.failure.kind is FailureKind.TIMEOUT


def _commit_once(workspace: Path) -> None:
    """Agents find a repository with a single commit, as the engine lays it out."""
    git("init", "--quiet", folder=workspace)
    git("commit", "--quiet", "--allow-empty", "--message", "base", folder=workspace)
