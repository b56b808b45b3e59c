"""Try arms before any run is paid for: the real agent, sandbox and gateway with a scripted model that costs nothing.

It shows that the agent starts, reaches its model, can use its tools, and sees everything that the arm provides.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import msgspec

from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import choose_sandbox
from outweigh.engine.sandbox_request import build_sandbox_request
from outweigh.engine.setup_check import ExpectedSetup, check_setup, expected_setup
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.request_parsing import Provider
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import Trial
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest, models_to_ask
from outweigh.ports.gateways import Gateway, Meter, MeteredCalls, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.report.doctor_page import RunRequirement
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

SMOKE_TIMEOUT_SECONDS = 300.0
_END_COMMAND = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How some agents are told that they are done: by a command, which their prompt names."""
SMOKE_SCRIPT = Script(
    conversation=[Conversation(when=When(contains=_END_COMMAND), turn=[Turn(run="true"), Turn(run=_END_COMMAND)])],
    turn=[Turn(run="true"), Turn(text="Done.")],
)
SMOKE_TASK = Task(
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


def smoke_test_arms(
    arms: Sequence[Arm],
    overlays: Mapping[str, bytes],
    spec: SandboxSpec,
    *,
    allow: tuple[str, ...] = (),
    required: bool,
) -> Iterator[RunRequirement]:
    """Try one arm after the other in such a sandbox; where they are required, one that fails is in the way."""
    sandboxes, watch = choose_sandbox(spec.kind), expected_setup({arm.name: arm for arm in arms}, overlays)
    with ModelServer(SMOKE_SCRIPT) as server, ModelGateway(_scripted_upstreams(server), PriceTables()) as gateway:
        smoke_test = _SmokeTest(overlays, with_default_limits(spec, 1), sandboxes, gateway, watch, allow)
        for arm in arms:
            yield msgspec.structs.replace(smoke_test.try_arm(arm), required=required)


def _scripted_upstreams(server: ModelServer) -> dict[Provider, ModelUpstream]:
    return {provider: ModelUpstream(url=server.url, variable="", key="") for provider in Provider}


class _SmokeTest:
    """What the smoke tests of several arms share."""

    def __init__(
        self,
        overlays: Mapping[str, bytes],
        spec: SandboxSpec,
        sandboxes: SandboxProvider,
        gateway: Gateway,
        watch: ExpectedSetup,
        allow: tuple[str, ...],
    ) -> None:
        self._overlays, self._spec, self._sandboxes = overlays, spec, sandboxes
        self._gateway, self._watch, self._allow = gateway, watch, allow

    def try_arm(self, arm: Arm) -> RunRequirement:
        """What came of one arm."""
        agent: Agent = load_adapter("agent", arm.agent)
        request = MeterRequest(
            label=arm.name,
            budget_usd=None,
            tokens=None,
            markers=tuple(self._watch.markers.values()),
            keep_bodies=False,
            models=models_to_ask(agent, arm),
            allow=self._allow,
        )
        try:
            with self._gateway.meter(request) as meter:
                outcome = self._attempt(agent, arm, meter)
        except (SandboxError, OSError) as fault:
            return _smoke_part(arm, str(fault), "", None)
        account = meter.account()
        faults = check_setup(arm, self._watch, outcome.loaded, account).faults
        missing = outcome.status_detail if outcome.status is not Status.COMPLETED else "; ".join(faults) or None
        return _smoke_part(arm, missing, _count_requests(account), outcome.duration_seconds)

    def _attempt(self, agent: Agent, arm: Arm, meter: Meter) -> AttemptOutcome:
        with tempfile.TemporaryDirectory(prefix="outweigh-try-", ignore_cleanup_errors=True) as folder:
            workspace, home = Path(folder, "workspace"), Path(folder, "home")
            workspace.mkdir()
            home.mkdir()
            label = f"outweigh-doctor:{os.getpid()}"
            request = build_sandbox_request(
                self._spec, workspace=workspace, home=home, label=label, cancel=Event(), ports=(meter.port,)
            )
            shown = (*request.read_only, *agent.read_only(arm))
            with self._sandboxes.open(replace(request, read_only=tuple(dict.fromkeys(shown)))) as sandbox:
                for file in arm.overlay:
                    sandbox.write(file.path, self._overlays[file.sha256], executable=file.executable)
                base_url = f"http://127.0.0.1:{sandbox.port(meter.port.name)}"
                access = ModelAccess(base_url=base_url, key=meter.key, allow=self._allow)
                return agent.attempt(_request(arm, access), sandbox)


def _request(arm: Arm, access: ModelAccess) -> AttemptRequest:
    """Without secrets: nothing that is worth anything goes into a try."""
    return AttemptRequest(
        trial=Trial(task_id=SMOKE_TASK.id, arm=arm.name, repeat=1, seed=0),
        task=SMOKE_TASK,
        arm=arm,
        timeout_seconds=SMOKE_TIMEOUT_SECONDS,
        budget_usd=None,
        environment=arm.environment,
        model_access=access,
    )


def _count_requests(account: MeteredCalls) -> str:
    count = len(account.calls)
    return "1 request" if count == 1 else f"{count} requests"


def _smoke_part(arm: Arm, missing: str | None, detail: str, seconds: float | None) -> RunRequirement:
    return RunRequirement(
        kind="tried",
        name=arm.name,
        missing=missing,
        required=True,
        detail=detail,
        startup_seconds=seconds,
    )
