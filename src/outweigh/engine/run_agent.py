"""The agent's part of an attempt: the meter of its model, its sandbox, and the request that it gets.

`EngineDeps` holds what all attempts of an experiment share.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Event as Signal

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.evaluate import CaseNames
from outweigh.engine.run_draft import RunDraft
from outweigh.engine.sandbox_request import limit_to_task
from outweigh.engine.setup_check import ExpectedSetup
from outweigh.engine.signals import AnySignal
from outweigh.engine.task_dependencies import hide_from_agent
from outweigh.engine.trigger_run import EarlyStop, answer_limit
from outweigh.model.arm import Arm
from outweigh.model.base import Json
from outweigh.model.suite import LimitsSpec, SandboxSpec, UserModelSpec
from outweigh.model.task import Task
from outweigh.ports.agents import (
    SOLUTION_MOUNT,
    Agent,
    AttemptOutcome,
    AttemptRequest,
    NeedsSystemPaths,
    RunsSolution,
    UserReplies,
)
from outweigh.ports.gateways import Gateway, HostAccess, Meter, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import Mount, ReadyImage, Sandbox, SandboxError, SandboxProvider, SandboxRequest
from outweigh.ports.stores import RunStore
from outweigh.ports.workspaces import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeps:
    """What all attempts of an experiment share: the suite's material, the machine's services and the store.

    `survey` makes a workspace readable that an agent left, and returns why it cannot be read, None where it can.
    `expected_cases` are the test cases that solved runs reported, by task and check. `images` are the images of tasks
    that run in their own. `user_model` plays the users of tasks with a simulated one. `labels` go into every record.
    `cancel` ends an attempt, and `agent_cancel` only an agent that has not ended: what it did is still checked. None
    where nothing but `cancel` ends agents.
    """

    tasks: Mapping[str, Task]
    arms: Mapping[str, Arm]
    overlays: Mapping[str, bytes]
    agents: Mapping[str, Agent]
    sandboxes: SandboxProvider
    workspaces: Workspaces
    store: RunStore
    sandbox: SandboxSpec
    limits: LimitsSpec
    secrets: Mapping[str, str]
    scratch: Path
    label: str
    cancel: Signal
    now: Callable[[], datetime]
    survey: Callable[[Path], str | None]
    diff: Callable[[Path, Path, Mapping[str, str]], bytes]
    remove: Callable[[Path], None]
    gateway: Gateway | None
    hosts: Callable[[], HostAccess | None]
    expected_setup: ExpectedSetup
    keep_bodies: bool
    allow: tuple[str, ...] = ()
    labels: Json = field(default_factory=dict)
    expected_cases: Mapping[str, CaseNames] = field(default_factory=dict)
    images: Mapping[str, ReadyImage] = field(default_factory=dict)
    user_model: UserModelSpec | None = None
    agent_cancel: Signal | None = None

    @property
    def ends_agents(self) -> Signal:
        """What ends an agent, for whatever reason."""
        return self.cancel if self.agent_cancel is None else AnySignal(self.cancel, self.agent_cancel)

    def sandbox_for(self, task: Task) -> SandboxSpec:
        """The settings of the sandbox of a task."""
        return limit_to_task(self.sandbox, task, self.images.get(task.id))


@contextmanager
def open_meter(deps: EngineDeps, draft: RunDraft, stop: EarlyStop | None) -> Iterator[Meter | None]:
    """Open the run's metered access to its model; `draft.account` is set even when the attempt breaks off."""
    if deps.gateway is None or not deps.agents[draft.arm.agent].uses_model(draft.arm):
        yield None
        return
    request = MeterRequest(
        label=draft.run_id,
        budget_usd=deps.limits.budget_usd,
        tokens=deps.limits.tokens,
        markers=tuple(deps.expected_setup.markers.values()),
        keep_bodies=deps.keep_bodies,
        models=deps.expected_setup.models_to_ask(draft.arm.name),
        allow=deps.allow,
        provider=draft.arm.upstream_name,
        answer_limit=answer_limit(draft.task, stop),
    )
    meter: Meter | None = None
    try:
        with deps.gateway.meter(request) as meter:
            yield meter
    finally:
        if meter is not None:
            draft.account = meter.account()  # only now, because closing the meter ends and counts open requests


def agent_sandbox_request(
    deps: EngineDeps, draft: RunDraft, request: SandboxRequest, meter: Meter | None
) -> SandboxRequest:
    """The agent's request has what the agent is installed in, and the port of its model, which may hold it up."""
    if meter is not None:
        request = replace(request, ports=(*request.ports, meter.port), held_seconds=meter.held_seconds)
    keep_path_in_login_shells(request.home, {**draft.task.work.environment, **draft.arm.environment})
    agent = deps.agents[draft.arm.agent]
    request = hide_from_agent(request, draft.task)
    if isinstance(agent, RunsSolution) and agent.runs_solution:
        request = show_solution(request, draft.task)
    return show_agent(request, agent, draft.arm)


def keep_path_in_login_shells(home: Path, environment: Mapping[str, str]) -> None:
    """Write the PATH of a run into the profile of its home: the system's profile sets another for login shells, in
    which some agents run all their commands.
    """
    profile = home / ".profile"
    if "PATH" in environment and not os.path.lexists(profile):
        profile.write_text(f"export PATH={shlex.quote(environment['PATH'])}\n")


def show_solution(request: SandboxRequest, task: Task) -> SandboxRequest:
    """The request with the task's solution where Harbor has it, for a task that runs in its own image."""
    if request.task_image is None or task.solution_folder is None:
        return request
    mount = Mount(source=request.home.with_name("solution"), target=SOLUTION_MOUNT, writable=True)
    mount.source.mkdir()
    untrusted_files.fill_folder(mount.source, Path(task.solution_folder))
    return replace(request, mounts=(*request.mounts, mount))


def show_agent(request: SandboxRequest, agent: Agent, arm: Arm) -> SandboxRequest:
    """The request with the paths that an agent is installed in; the image of a task has no system of the host."""
    system = agent.system_paths(arm) if request.task_image is not None and isinstance(agent, NeedsSystemPaths) else ()
    shown = dict.fromkeys((*request.read_only, *agent.read_only(arm)))
    return replace(request, read_only=tuple(shown), system_paths=system)


def run_agent(
    deps: EngineDeps,
    draft: RunDraft,
    sandbox: Sandbox,
    meter: Meter | None,
    variables: Mapping[str, str],
    replies: UserReplies | None,
) -> AttemptOutcome:
    """Let the agent work in an open sandbox. An exception in its adapter is raised as a SandboxError."""
    access = None
    if meter is not None:
        base_url = f"http://127.0.0.1:{sandbox.port(meter.port.name)}"
        access = ModelAccess(base_url=base_url, key=meter.key, allow=deps.allow)
    request = replace(_attempt_request(deps, draft, access, variables), replies=replies)
    try:
        return deps.agents[draft.arm.agent].attempt(request, sandbox)
    except (SandboxError, OSError):
        raise
    except Exception as fault:  # a third-party adapter: its bugs must not end the experiment
        raise SandboxError(f"the agent {draft.arm.agent!r} is broken: {type(fault).__name__}: {fault}") from fault


def _attempt_request(
    deps: EngineDeps, draft: RunDraft, access: ModelAccess | None, variables: Mapping[str, str]
) -> AttemptRequest:
    arm = draft.arm
    return AttemptRequest(
        trial=draft.planned.trial,
        task=draft.task,
        arm=arm,
        timeout_seconds=draft.task.timeout_seconds or deps.limits.timeout_seconds,
        budget_usd=deps.limits.budget_usd,
        environment={
            **variables,
            **draft.task.work.environment,
            **arm.environment,
            **{name: deps.secrets[name] for name in arm.secrets},
        },
        model_access=access,
    )
