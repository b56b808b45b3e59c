"""One attempt of an arm outside of any experiment: the sandbox, the overlay and the way to its model as in a run.

`doctor` and `run` use it to try an arm against a scripted model, and `doctor --live` to ask the arm's own model once.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from outweigh.engine.run_agent import show_agent
from outweigh.engine.sandbox_request import RunEgress, build_sandbox_request
from outweigh.engine.setup_check import ExpectedSetup
from outweigh.model.arm import Arm
from outweigh.model.run_record import Trial
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import task_of_instruction
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import Gateway, HostAccess, Meter, MeteredCalls, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import ReadyImage, Sandbox, SandboxError, SandboxProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSetting:
    """What the attempts of several arms share. Without a gateway an agent asks its model directly.

    Sandboxes have the `label` and lie in `folder`, so that what a killed engine leaves behind is found by the next one.
    `image` is that of a task, where tasks have their own.
    """

    overlays: Mapping[str, bytes]
    sandbox: SandboxSpec
    sandboxes: SandboxProvider
    gateway: Gateway | None
    expected: ExpectedSetup
    timeout_seconds: float
    allow: tuple[str, ...] = ()
    budget_usd: float | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    hosts: Callable[[], HostAccess | None] = lambda: None
    label: str = field(default_factory=lambda: f"outweigh-doctor:{os.getpid()}")
    folder: Path | None = None
    cancel: Event = field(default_factory=Event)
    image: ReadyImage | None = None
    keep_bodies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAttempt:
    """What came of it: the agent's outcome, the requests that were metered, and the hosts that were refused."""

    outcome: AttemptOutcome
    account: MeteredCalls | None
    refused_hosts: tuple[str, ...]


def attempt_once(setting: AttemptSetting, arm: Arm, instruction: str) -> OneAttempt:
    """Let the arm's agent follow an instruction in an empty workspace; raises SandboxError where it cannot start."""
    agent: Agent = load_adapter("agent", arm.agent)
    egress = RunEgress(setting.hosts())
    with _open_meter(setting, arm) as meter:
        outcome = _attempt(setting, agent, arm, instruction, meter, egress)
    return OneAttempt(
        outcome=outcome,
        account=None if meter is None else meter.account(),
        refused_hosts=() if egress.hosts is None else egress.hosts.refused(),
    )


@contextmanager
def _open_meter(setting: AttemptSetting, arm: Arm) -> Iterator[Meter | None]:
    if setting.gateway is None:
        yield None
        return
    request = MeterRequest(
        label=arm.name,
        budget_usd=setting.budget_usd,
        tokens=None,
        markers=tuple(setting.expected.markers.values()),
        keep_bodies=setting.keep_bodies,
        models=setting.expected.models_to_ask(arm.name),
        allow=setting.allow,
        provider=arm.upstream_name,
    )
    with setting.gateway.meter(request) as meter:
        yield meter


def _attempt(
    setting: AttemptSetting, agent: Agent, arm: Arm, instruction: str, meter: Meter | None, egress: RunEgress
) -> AttemptOutcome:
    with tempfile.TemporaryDirectory(prefix="outweigh-try-", dir=setting.folder, ignore_cleanup_errors=True) as folder:
        workspace, home = Path(folder, "workspace"), Path(folder, "home")
        workspace.mkdir()
        home.mkdir()
        ports = egress.ports if meter is None else (*egress.ports, meter.port)
        request = build_sandbox_request(
            setting.sandbox,
            workspace=workspace,
            home=home,
            label=setting.label,
            cancel=setting.cancel,
            ports=ports,
            image=setting.image,
        )
        with setting.sandboxes.open(show_agent(request, agent, arm)) as sandbox:
            for file in arm.overlay:
                sandbox.write(file.path, setting.overlays[file.sha256], executable=file.executable)
            access = None
            if meter is not None:
                base_url = f"http://127.0.0.1:{sandbox.port(meter.port.name)}"
                access = ModelAccess(base_url=base_url, key=meter.key, allow=setting.allow)
            wanted = _request(setting, arm, instruction, access, egress.variables(sandbox))
            return _follow(agent, wanted, sandbox)


def _follow(agent: Agent, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
    """An exception in the adapter, which may be a third party's, is raised as a SandboxError."""
    try:
        return agent.attempt(request, sandbox)
    except (SandboxError, OSError):
        raise
    except Exception as fault:
        raise SandboxError(f"the agent {agent.name!r} is broken: {type(fault).__name__}: {fault}") from fault


def _request(
    setting: AttemptSetting, arm: Arm, instruction: str, access: ModelAccess | None, variables: Mapping[str, str]
) -> AttemptRequest:
    task = task_of_instruction("try", instruction)
    secrets = {name: setting.secrets[name] for name in arm.secrets if name in setting.secrets}
    return AttemptRequest(
        trial=Trial(task_id=task.id, arm=arm.name, repeat=1, seed=0),
        task=task,
        arm=arm,
        timeout_seconds=setting.timeout_seconds,
        budget_usd=setting.budget_usd,
        environment={**variables, **arm.environment, **secrets},
        model_access=access,
    )
