"""An agent that has failed cannot have its run left out by what it asks its model for, or by what it says of it."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from tests.engine.engine_fixtures import loaded, open_engine, plan_of, shell
from tests.gateway.gateway_fixtures import a_gateway

from outweigh.agents.noop import NoopAgent
from outweigh.engine.attempt import run_attempt
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind, RunRecord, Step, StepSource
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox
from outweigh.testing.model_server import CutSpec, ErrorSpec, ModelServer, Script, Turn

# Asks for as many answers as it is told, one after the other. If it is told so, it hangs up after the first byte, or
# sends a header that is no text.
ASK = """
import json, os, sys, urllib.error, urllib.request
messages = [{"role": "user", "content": "Begin."}]
for _ in range(int(sys.argv[1])):
    body = {"model": "m", "max_tokens": 9, "messages": messages, "stream": True}
    request = urllib.request.Request(
        os.environ["OUTWEIGH_MODEL_URL"] + "/v1/messages",
        json.dumps(body).encode(),
        {"x-api-key": os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"},
    )
    if "odd-header" in sys.argv:
        request.add_header("x-odd", "\\xff")
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read(1 if "hang-up" in sys.argv else -1)
    except (urllib.error.URLError, OSError):
        pass
    messages += [{"role": "assistant", "content": "Go on."}, {"role": "user", "content": "And now?"}]
"""
ANSWER = Turn(text="Go on.")


class Asking:
    """An engine behind a gateway, whose one arm asks a scripted model from a local sandbox."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self._folder, self._held = folder, held
        (folder / "ask.py").write_text(ASK)

    def run(self, line: str, *turns: Turn) -> RunRecord:
        """Attempt the task once; `ask N` in the line sends N requests."""
        ask = f'ask() {{ {sys.executable} {self._folder}/ask.py "$@"; }}; '
        arm = shell(ask + line)
        arm["options"]["model_access"] = True
        suite = loaded(self._folder, {"a": arm})
        deps, _ = self._held.enter_context(open_engine(suite, self._folder / "store", self._folder / "scratch"))
        server = self._held.enter_context(ModelServer(Script(turn=list(turns))))
        gateway = self._held.enter_context(a_gateway(f"http://127.0.0.1:{server.port}"))
        planned = next(run for run in plan_of(suite) if run.trial.arm == "a")
        return run_attempt(replace(deps, gateway=gateway), planned, 1).record


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    with ExitStack() as held:
        yield Asking(tmp_path, held)


def failure(kind: str) -> Turn:
    return Turn(error=ErrorSpec(kind=kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["exit 0", "exit 1"])
@pytest.mark.parametrize("kind", ["unknown_model", "unauthorized", "forbidden", "bad_request", "context_overflow"])
def test_a_last_request_that_the_provider_refuses_does_not_exclude_the_run(
    asking: Asking, kind: str, ending: str
) -> None:
    record = asking.run(f"ask 2; {ending}", ANSWER, failure(kind))

    assert record.status is (Status.COMPLETED if ending == "exit 0" else Status.AGENT_ERROR), record.status_detail
    assert record.checks is not None
    assert [check.passed for check in record.checks] == [False]


@pytest.mark.parametrize("kind", ["unknown_model", "unauthorized"])
def test_nor_does_the_only_request(asking: Asking, kind: str) -> None:
    assert asking.run("ask 1", failure(kind)).status is Status.COMPLETED


@pytest.mark.parametrize("kind", ["overloaded", "server_error", "rate_limited"])
def test_an_agent_that_ended_well_after_the_provider_failed_is_judged_by_its_work(asking: Asking, kind: str) -> None:
    assert asking.run("ask 2; echo 42 >answer.txt", ANSWER, failure(kind)).status is Status.COMPLETED


@pytest.mark.parametrize("kind", ["overloaded", "server_error", "rate_limited"])
def test_an_agent_that_the_provider_failed_is_excused(asking: Asking, kind: str) -> None:
    assert asking.run("ask 2; exit 1", ANSWER, failure(kind)).status is Status.INFRA_ERROR


def test_a_request_that_cannot_be_sent_on_excuses_nothing(asking: Asking) -> None:
    assert asking.run("ask 1 odd-header; exit 1", ANSWER).status is Status.AGENT_ERROR


def test_hanging_up_in_the_middle_of_an_answer_excuses_nothing(asking: Asking) -> None:
    assert asking.run("ask 1 hang-up; exit 1", Turn(text="word " * 20000)).status is Status.AGENT_ERROR


def test_an_answer_that_the_provider_cut_off_excuses_an_agent_that_did_not_end_well(asking: Asking) -> None:
    cut = Turn(text="word " * 200, cut=CutSpec(times=9))

    assert asking.run("ask 2; exit 1", ANSWER, cut).status is Status.INFRA_ERROR


class ClaimingAdapter(NoopAgent):
    """An agent that runs a command and then claims that the provider was overloaded."""

    def __init__(self, steps: tuple[Step, ...] | None, kind: AgentKind = AgentKind.REAL) -> None:
        self._steps, self._kind = steps, kind

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        done = super().attempt(request, sandbox)
        return replace(
            done,
            status=Status.INFRA_ERROR,
            status_detail="HTTP 529",
            agent=structs.replace(done.agent, kind=self._kind),
            steps=self._steps,
        )


A_STEP = Step(
    index=1,
    source=StepSource.AGENT,
    message="Let me see.",
    tool_calls=(),
    usage=None,
    cost_usd=None,
    duration_seconds=None,
)


@pytest.mark.parametrize(
    ("adapter", "status"),
    [
        (ClaimingAdapter((A_STEP,)), Status.AGENT_ERROR),
        (ClaimingAdapter(None), Status.INFRA_ERROR),
        (ClaimingAdapter((A_STEP,), AgentKind.SCRIPTED), Status.INFRA_ERROR),
    ],
    ids=["after a step", "before any step", "simulated"],
)
def test_without_a_gateway_a_claim_of_innocence_is_believed_only_before_the_first_step(
    tmp_path: Path, adapter: ClaimingAdapter, status: Status
) -> None:
    suite = loaded(tmp_path, {"a": shell(":")})
    with open_engine(suite, tmp_path / "store", tmp_path / "scratch") as (deps, _):
        planned = next(run for run in plan_of(suite) if run.trial.arm == "a")
        record = run_attempt(replace(deps, agents={"shell": adapter}), planned, 1).record

    assert record.status is status
    assert "HTTP 529" in (record.status_detail or "")
