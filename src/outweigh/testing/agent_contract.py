"""The contract of agent adapters, run with the real program against a scripted model, and the requests it is built
from.
"""

import asyncio
from abc import ABC, abstractmethod
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from typing import Any, ClassVar

import msgspec

from outweigh.gateway.egress_proxy import StreamConnection, closing_connection, copy_both_ways
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.model.arm import Arm, bare_arm
from outweigh.model.failure import FailureKind, Status
from outweigh.model.run_record import Trial
from outweigh.model.task import task_of_instruction
from outweigh.model.usage import Usage
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import ForwardedPort, SandboxProvider
from outweigh.testing.model_server import ErrorSpec, LedgerEntry, ModelServer, Script, Tokens, Turn, UsageSpec
from outweigh.testing.model_server.ledger import NO_TOKENS
from outweigh.testing.sandbox_fixtures import a_sandbox_request
from outweigh.workspace.git import git

MODEL_PORT = "model"
INSTRUCTION = "Write 42 to answer.txt.\n"
MODEL_ACCESS = ModelAccess(base_url="http://127.0.0.1:9", key="run-key-1")
_IDLE_SECONDS = 3600.0


def an_agent_arm(agent: str, options: Mapping[str, Any] | None = None, **fields: Any) -> Arm:
    """An arm of this agent; any field can be given by name."""
    arm = bare_arm("plain", agent)
    return msgspec.structs.replace(arm, options=dict(options or {}), **fields)


def an_attempt(arm: Arm, instruction: str = INSTRUCTION, **fields: Any) -> AttemptRequest:
    """A request to attempt a task, with a model behind `MODEL_ACCESS`; any field can be given by name."""
    request = AttemptRequest(
        trial=Trial(task_id="task-1", arm=arm.name, repeat=1, seed=1),
        task=task_of_instruction("task-1", instruction),
        arm=arm,
        timeout_seconds=300.0,
        budget_usd=None,
        environment=arm.environment,
        model_access=MODEL_ACCESS,
    )
    return replace(request, **fields)


def port_to(port: int) -> ForwardedPort:
    """A port of a sandbox that is forwarded to a server on the host's loopback."""

    async def connect(reader: StreamReader, writer: StreamWriter) -> None:
        there = StreamConnection(*await asyncio.open_connection("127.0.0.1", port))
        async with (
            closing_connection(StreamConnection(reader, writer)) as caller,
            closing_connection(there) as answerer,
        ):
            await copy_both_ways(caller, answerer, _IDLE_SECONDS)

    @contextmanager
    def serve(listening: socket) -> Iterator[None]:
        with EventLoopThread() as background:
            server = background.run(asyncio.start_server(connect, sock=listening))
            try:
                yield
            finally:
                background.run(_close(server))

    return ForwardedPort(name=MODEL_PORT, serve=serve)


async def _close(server: asyncio.Server) -> None:
    server.close()


ANSWER_FILE = "answer.txt"
RUN_KEY = "run-key-1"
ATTEMPT_TIMEOUT_SECONDS = 300.0
SHORT_ATTEMPT_SECONDS = 10.0
ENDLESS_SECONDS = 3600.0
KEPT_BODY_BYTES = 2**20
FIRST_USAGE = UsageSpec(input_tokens=1000, output_tokens=100, cache_read_tokens=30, reasoning_tokens=7)
LAST_USAGE = UsageSpec(input_tokens=2000, output_tokens=200, cache_read_tokens=60)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """An attempt: the adapter's outcome, the requests that reached the model, and the workspace afterwards."""

    outcome: AttemptOutcome
    requests: tuple[LedgerEntry, ...]
    workspace: Path

    @property
    def description(self) -> str:
        """What to print when an assertion about the attempt fails."""
        kept = self.outcome.artifacts
        return "\n".join(
            [str(self.outcome.status), str(self.outcome.status_detail)]
            + [str(replace(entry, body=None)) for entry in self.requests]
            + [f"--- {name}\n{kept[name].decode(errors='replace')[-3000:]}" for name in sorted(kept)]
        )


class AgentContract(ABC):
    """Claims about an agent that works with a model, in a sandbox with a port to that model.

    Subclass it, implement the four abstract methods, and pytest runs the tests.
    """

    _solutions: ClassVar[dict[type, AttemptResult]] = {}

    @abstractmethod
    def agent(self) -> Agent:
        """The adapter under test."""

    @abstractmethod
    def arm(self) -> Arm:
        """An arm of the adapter that names a model."""

    @abstractmethod
    def sandboxes(self) -> SandboxProvider:
        """The sandboxes to run the agent in."""

    @abstractmethod
    def folder(self) -> Path:
        """An empty folder of the host for this test."""

    def turns(self) -> list[Turn]:
        """The script by which this agent writes 42 to answer.txt and ends; override it for an agent without a shell."""
        return [Turn(run=f"echo 42 >{ANSWER_FILE}", usage=FIRST_USAGE), Turn(text="Done.", usage=LAST_USAGE)]

    def counts(self, entry: LedgerEntry) -> bool:
        """Whether the agent's own figures cover an answer; override it for an agent that leaves some out."""
        return entry.tokens is not None

    def usage_of(self, tokens: Tokens) -> Usage:
        """The usage that the agent should report for these tokens; override it if it does not report all kinds."""
        return tokens.usage

    def run_attempt(
        self,
        turns: Sequence[Turn],
        arm: Arm | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_seconds: float = ATTEMPT_TIMEOUT_SECONDS,
    ) -> AttemptResult:
        """Run the agent against this script, in a workspace with these files."""
        arm = arm or self.arm()
        sandbox_request = replace(a_sandbox_request(self.folder(), "agents"), read_only=self.agent().read_only(arm))
        _commit_once(sandbox_request.workspace)
        with ModelServer(Script(turn=list(turns)), kept_body_bytes=KEPT_BODY_BYTES) as server:
            with self.sandboxes().open(replace(sandbox_request, ports=(port_to(server.port),))) as sandbox:
                for path, content in (files or {}).items():
                    sandbox.write(path, content)
                access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(MODEL_PORT)}", key=RUN_KEY)
                request = an_attempt(arm, timeout_seconds=timeout_seconds, model_access=access)
                outcome = self.agent().attempt(request, sandbox)
            return AttemptResult(outcome, server.ledger, sandbox_request.workspace)

    def solved_attempt(self) -> AttemptResult:
        """A successful attempt, made once per class, because real agents are slow and several tests need one."""
        if type(self) not in self._solutions:
            self._solutions[type(self)] = self.run_attempt(self.turns())
        return self._solutions[type(self)]

    def test_does_what_the_model_says_and_nothing_else_to_the_workspace(self) -> None:
        """The workspace has the answer and no other file."""
        done = self.solved_attempt()

        assert (done.outcome.status, done.outcome.status_detail) == (Status.COMPLETED, None), done.description
        assert (done.workspace / ANSWER_FILE).read_text() == "42\n", done.description
        assert sorted(path.name for path in done.workspace.iterdir()) == [".git", ANSWER_FILE], done.description

    def test_tells_who_it_is_and_what_was_handed_out(self) -> None:
        """Name, version, model and usage are those of the answers that the agent counts."""
        done = self.solved_attempt()

        counted = [entry.tokens for entry in done.requests if self.counts(entry) and entry.tokens is not None]
        assert done.outcome.usage == self.usage_of(sum(counted, NO_TOKENS)), done.description
        assert done.outcome.request_count in (None, len(counted)), done.description
        assert done.outcome.agent.name == self.arm().agent
        assert done.outcome.agent.version is not None, done.description
        assert done.outcome.agent.model is not None, done.description
        assert "trajectory.json" in done.outcome.artifacts, done.description

    def test_sends_the_runs_key_and_no_other(self) -> None:
        """The gateway recognises a run by its key."""
        done = self.solved_attempt()

        assert {entry.api_key for entry in done.requests} == {RUN_KEY}, done.description

    def test_a_model_that_refuses_the_key_says_nothing_about_the_arm(self) -> None:
        """A rejected key is an infrastructure error, not a failure of the arm."""
        done = self.run_attempt([Turn(error=ErrorSpec(kind="unauthorized"))])

        assert done.outcome.status is Status.INFRA_ERROR, done.description
        assert done.outcome.failure is not None
        assert done.outcome.failure.kind is FailureKind.UNAUTHORIZED, done.description

    def test_a_run_that_is_out_of_time_is_a_timeout(self) -> None:
        """Whatever the agent was waiting for."""
        done = self.run_attempt(
            [Turn(text="Soon.", delay_seconds=ENDLESS_SECONDS)], timeout_seconds=SHORT_ATTEMPT_SECONDS
        )

        assert done.outcome.status is Status.TIMEOUT, done.description
        assert done.outcome.failure is not None
        assert done.outcome.failure.kind is FailureKind.TIMEOUT


def _commit_once(workspace: Path) -> None:
    """Make a repository with a single commit, as the engine does for agents."""
    git("init", "--quiet", folder=workspace)
    git("commit", "--quiet", "--allow-empty", "--message", "base", folder=workspace)
