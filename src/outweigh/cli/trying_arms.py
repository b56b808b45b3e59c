"""Trying arms before anybody pays: the real agent, sandbox and gateway, and a scripted model that costs nothing.

What it shows is that the agent starts, reaches its model, can use its tools, and has all that the arm lays before it.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from outweigh.cli.sandbox_choice import choose_sandbox
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.routes import Provider
from outweigh.gateway.upstream import Upstream
from outweigh.plugins import load
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import Gateway, Meter, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.record.pricing import FirstKnown
from outweigh.record.status import Status
from outweigh.record.trial import Trial
from outweigh.report.doctor_view import Part
from outweigh.run.proof import prove
from outweigh.run.room import room_of
from outweigh.run.watchlist import Watchlist, watchlist
from outweigh.task.arm import Arm
from outweigh.task.suite import SandboxSpec
from outweigh.task.task import Task
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When
from outweigh.transcript.model_call import Account

TIMEOUT_SECONDS = 300.0
_END = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How some agents are told that they are done: by a command, which their prompt names."""
SCRIPT = Script(
    conversation=[Conversation(when=When(contains=_END), turn=[Turn(run="true"), Turn(run=_END)])],
    turn=[Turn(run="true"), Turn(text="Done.")],
)
TASK = Task(
    id="try",
    instruction="This only tries the set-up. Run the command `true`, and then say that you are done.\n",
    checks=(),
    family=None,
    expected_steps=(),
    workspace=None,
    timeout_seconds=None,
    tests_folder=None,
    solution_folder=None,
    checksum="",
)


def try_arms(
    arms: Sequence[Arm], overlays: Mapping[str, bytes], spec: SandboxSpec, *, required: bool
) -> Iterator[Part]:
    """Try one arm after the other in such a sandbox; where they are required, one that fails is in the way."""
    sandboxes, watch = choose_sandbox(spec.kind), watchlist({arm.name: arm for arm in arms}, overlays)
    with ModelServer(SCRIPT) as server, ModelGateway(_ways(server), FirstKnown()) as gateway:
        bench = _Bench(overlays, spec, sandboxes, gateway, watch)
        for arm in arms:
            yield replace(bench.tried(arm), required=required)


def _ways(server: ModelServer) -> dict[Provider, Upstream]:
    return {provider: Upstream(url=server.url, variable="", key="") for provider in Provider}


class _Bench:
    """What the tries of several arms share."""

    def __init__(
        self,
        overlays: Mapping[str, bytes],
        spec: SandboxSpec,
        sandboxes: SandboxProvider,
        gateway: Gateway,
        watch: Watchlist,
    ) -> None:
        self._overlays, self._spec, self._sandboxes = overlays, spec, sandboxes
        self._gateway, self._watch = gateway, watch

    def tried(self, arm: Arm) -> Part:
        """What came of one arm."""
        agent: Agent = load("agent", arm.agent)
        request = MeterRequest(
            label=arm.name,
            budget_usd=None,
            tokens=None,
            markers=tuple(self._watch.markers.values()),
            keep_bodies=False,
        )
        try:
            with self._gateway.meter(request) as meter:
                outcome = self._attempt(agent, arm, meter)
        except (SandboxError, OSError) as fault:
            return _part(arm, str(fault), "", None)
        account = meter.account()
        faults = prove(arm, self._watch, outcome.loaded, account).faults
        missing = outcome.status_detail if outcome.status is not Status.COMPLETED else "; ".join(faults) or None
        return _part(arm, missing, _answered(account), outcome.duration_seconds)

    def _attempt(self, agent: Agent, arm: Arm, meter: Meter) -> AttemptOutcome:
        with tempfile.TemporaryDirectory(prefix="outweigh-try-", ignore_cleanup_errors=True) as folder:
            workspace, home = Path(folder, "workspace"), Path(folder, "home")
            workspace.mkdir()
            home.mkdir()
            label = f"outweigh-doctor:{os.getpid()}"
            room = room_of(self._spec, workspace=workspace, home=home, label=label, cancel=Event(), doors=(meter.door,))
            shown = (*room.read_only, *agent.read_only(arm))
            with self._sandboxes.open(replace(room, read_only=tuple(dict.fromkeys(shown)))) as sandbox:
                for file in arm.overlay:
                    sandbox.write(file.path, self._overlays[file.sha256], executable=file.executable)
                access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(meter.door.name)}", key=meter.key)
                return agent.attempt(_request(arm, access), sandbox)


def _request(arm: Arm, access: ModelAccess) -> AttemptRequest:
    """Without secrets: nothing that is worth anything goes into a try."""
    return AttemptRequest(
        trial=Trial(task_id=TASK.id, arm=arm.name, repeat=1, seed=0),
        task=TASK,
        arm=arm,
        timeout_seconds=TIMEOUT_SECONDS,
        budget_usd=None,
        environment=arm.environment,
        model_access=access,
    )


def _answered(account: Account) -> str:
    count = len(account.calls)
    return "1 request" if count == 1 else f"{count} requests"


def _part(arm: Arm, missing: str | None, detail: str, seconds: float | None) -> Part:
    return Part(
        kind="tried",
        name=arm.name,
        missing=missing,
        required=True,
        detail=detail,
        startup_seconds=seconds,
    )
