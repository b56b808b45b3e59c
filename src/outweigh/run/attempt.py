"""One attempt at a trial, from an empty folder to a stored record. Whatever goes wrong becomes a status."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Event as Signal
from time import monotonic

from outweigh.ports import (
    Agent,
    AttemptOutcome,
    AttemptRequest,
    RunStore,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
    Workspaces,
)
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.record.status import Status
from outweigh.record.trajectory import Milestone
from outweigh.record.trial import Trial
from outweigh.record.usage import NO_USAGE
from outweigh.run.checks import evaluate
from outweigh.run.plan import PlannedRun
from outweigh.task.arm import Arm
from outweigh.task.suite import LimitsSpec, SandboxSpec
from outweigh.task.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A stored record, and whether the model asked everybody to wait."""

    record: RunRecord
    retry_after_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every attempt of an experiment shares: its material, its rooms and its tools."""

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
    diff: Callable[[Path, Path], bytes]


@dataclass(slots=True, kw_only=True)
class _Draft:
    """What is known about an attempt so far; if it breaks off here, this is what is recorded."""

    started_at: datetime | None
    setup_seconds: float | None = None
    checks_seconds: float | None = None
    outcome: AttemptOutcome | None = None
    failure: str | None = None
    checks: tuple[CheckResult, ...] | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict)


def run_id_of(trial: Trial, attempt: int) -> str:
    """The name of an attempt: readable, and unique within a store."""
    return f"{trial.task_id}/{trial.arm}/{trial.repeat}#{attempt}"


def make_attempt(shop: Workshop, planned: PlannedRun, number: int) -> Made:
    """Attempt a trial and keep its record; when this returns, the record is durable."""
    trial = planned.trial
    run_id = run_id_of(trial, number)
    shop.store.begin(run_id, trial, number)
    draft = _Draft(started_at=shop.now())
    try:
        _attempt(shop, trial, run_id, draft)
    except (SandboxError, OSError) as fault:
        draft.failure = f"{type(fault).__name__}: {fault}"
    record = _record(shop, planned, run_id, number, draft)
    shop.store.append(record)
    return Made(record=record, retry_after_seconds=draft.outcome.retry_after_seconds if draft.outcome else None)


def close_abandoned(shop: Workshop, planned: PlannedRun, number: int) -> RunRecord:
    """Record an attempt whose engine died: it took place, and nothing else is known, not even when it started."""
    draft = _Draft(started_at=None, failure="the engine ended before this attempt did")
    record = _record(shop, planned, run_id_of(planned.trial, number), number, draft)
    shop.store.append(record)
    return record


def _attempt(shop: Workshop, trial: Trial, run_id: str, draft: _Draft) -> None:
    task, arm = shop.tasks[trial.task_id], shop.arms[trial.arm]
    began = monotonic()
    pristine = shop.workspaces.prepare(task)
    with (
        _private_folder(shop.scratch, run_id) as folder,
        shop.workspaces.lay(pristine, folder / "workspace") as workspace,
    ):
        request = _room(shop, workspace, folder / "home", run_id)
        with shop.sandboxes.open(request) as sandbox:
            _lay_overlay(shop, arm, sandbox)
            draft.setup_seconds = monotonic() - began
            draft.outcome = shop.agents[arm.agent].attempt(_request(shop, trial, task, arm), sandbox)
        draft.artifacts.update(draft.outcome.artifacts)
        draft.artifacts["diff.patch"] = shop.diff(workspace, pristine)
        if draft.outcome.status is not Status.INFRA_ERROR:
            _check(shop, task, arm, request, pristine, folder / "checks-home", draft)


def _check(
    shop: Workshop, task: Task, arm: Arm, request: SandboxRequest, pristine: Path, home: Path, draft: _Draft
) -> None:
    """A second, fresh room over the same workspace: the agent and all it started are gone when checks arrive."""
    began = monotonic()
    home.mkdir()
    with shop.sandboxes.open(replace(request, home=home, model_socket=None)) as sandbox:
        checked = evaluate(task, sandbox, pristine, overlay=arm.overlay)
    draft.checks, draft.checks_seconds = checked.results, monotonic() - began
    draft.artifacts.update(checked.artifacts)


def _room(shop: Workshop, workspace: Path, home: Path, run_id: str) -> SandboxRequest:
    home.mkdir()
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label=f"{shop.label}:{run_id}",
        read_only=tuple(shop.sandbox.read_only),
        model_socket=None,
        allow_hosts=tuple(shop.sandbox.allow_hosts),
        image=shop.sandbox.image,
        memory_mb=shop.sandbox.memory_mb,
        processes=shop.sandbox.processes,
        cancel=shop.cancel,
    )


def _request(shop: Workshop, trial: Trial, task: Task, arm: Arm) -> AttemptRequest:
    return AttemptRequest(
        trial=trial,
        task=task,
        arm=arm,
        timeout_seconds=task.timeout_seconds or shop.limits.timeout_seconds,
        budget_usd=shop.limits.budget_usd,
        environment={**arm.environment, **{name: shop.secrets[name] for name in arm.secrets}},
    )


def _lay_overlay(shop: Workshop, arm: Arm, sandbox: Sandbox) -> None:
    for file in arm.overlay:
        sandbox.write(file.path, shop.overlays[file.sha256], executable=file.executable)


@contextmanager
def _private_folder(scratch: Path, run_id: str) -> Iterator[Path]:
    folder = scratch / run_id.replace("/", "_")
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _record(shop: Workshop, planned: PlannedRun, run_id: str, number: int, draft: _Draft) -> RunRecord:
    task, arm = shop.tasks[planned.trial.task_id], shop.arms[planned.trial.arm]
    outcome = draft.outcome
    broken = draft.failure is not None or outcome is None
    return RunRecord(
        run_id=run_id,
        trial=planned.trial,
        attempt=number,
        status=Status.INFRA_ERROR if broken or outcome is None else outcome.status,
        status_detail=draft.failure if broken or outcome is None else outcome.status_detail,
        agent=_unknown_agent(arm) if outcome is None else outcome.agent,
        arm_fingerprint=arm.fingerprint,
        task_checksum=task.checksum,
        family=task.family,
        position=planned.position,
        started_at=draft.started_at,
        duration_seconds=None if outcome is None else outcome.duration_seconds,
        setup_seconds=draft.setup_seconds,
        checks_seconds=draft.checks_seconds,
        usage=NO_USAGE if outcome is None else outcome.usage,
        cost=UNKNOWN_COST if outcome is None else outcome.cost,
        step_count=None if outcome is None else outcome.step_count,
        tool_call_count=None if outcome is None else outcome.tool_call_count,
        check_command_count=None if draft.checks is None else len(draft.checks),
        checks=draft.checks,
        steps=None if outcome is None else outcome.steps,
        components=None if outcome is None else outcome.components,
        milestones=_milestones(task, outcome),
        actions=None if outcome is None else outcome.actions,
        artifacts={name: shop.store.keep(content) for name, content in draft.artifacts.items() if content},
        extra={},
    )


def _unknown_agent(arm: Arm) -> AgentIdentity:
    """The attempt broke before the agent could say who it is; such a run is excluded whatever its kind."""
    return AgentIdentity(kind=AgentKind.REAL, name=arm.agent, version=None, model=arm.model)


def _milestones(task: Task, outcome: AttemptOutcome | None) -> tuple[Milestone, ...] | None:
    if not task.expected_steps or outcome is None:
        return None
    return tuple(
        Milestone(name=step.name, weight=step.weight, achieved=step.name in outcome.reached_steps)
        for step in task.expected_steps
    )
