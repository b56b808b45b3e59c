"""One attempt at a trial, from an empty folder to a stored record. Whatever goes wrong becomes a status.

`EngineDeps` holds what all attempts of an experiment share.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Event as Signal
from time import monotonic

from outweigh.engine.checks.content_checks import final_answer
from outweigh.engine.checks.evaluate import CHECK_ENVIRONMENT, evaluate_checks
from outweigh.engine.finish import finish_attempt
from outweigh.engine.run_draft import RunDraft, build_record
from outweigh.engine.sandbox_request import RunEgress, build_sandbox_request, watch_disk_quota
from outweigh.engine.setup_check import ExpectedSetup
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import EvidenceError
from outweigh.model.arm import Arm
from outweigh.model.failure import Remedy
from outweigh.model.redact import redact_secrets
from outweigh.model.run_record import EXCLUDED_STATUSES, RunRecord, Status
from outweigh.model.suite import LimitsSpec, SandboxSpec
from outweigh.model.task import Task
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import Gateway, HostAccess, Meter, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxProvider, SandboxRequest
from outweigh.ports.stores import RunStore
from outweigh.ports.workspaces import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeps:
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
    diff: Callable[[Path, Path, Mapping[str, str]], bytes]
    remove: Callable[[Path], None]
    gateway: Gateway | None
    hosts: Callable[[], HostAccess | None]
    watch: ExpectedSetup
    keep_bodies: bool
    rules_sha256: str | None = None


@contextmanager
def open_meter(shop: EngineDeps, draft: RunDraft) -> Iterator[Meter | None]:
    """The run's way to its model; whatever happens on it is accounted for, also when the attempt breaks."""
    if shop.gateway is None or not shop.agents[draft.arm.agent].uses_model(draft.arm):
        yield None
        return
    request = MeterRequest(
        label=draft.run_id,
        budget_usd=shop.limits.budget_usd,
        tokens=shop.limits.tokens,
        markers=tuple(shop.watch.markers.values()),
        keep_bodies=shop.keep_bodies,
    )
    meter: Meter | None = None
    try:
        with shop.gateway.meter(request) as meter:
            yield meter
    finally:
        if meter is not None:
            draft.account = meter.account()  # only now: what was still under way has been cut off and counted


def agent_sandbox_request(
    shop: EngineDeps, draft: RunDraft, room: SandboxRequest, meter: Meter | None
) -> SandboxRequest:
    """The agent's room has what the agent is installed in, and the door to its model."""
    doors = room.doors if meter is None else (*room.doors, meter.door)
    programs = shop.agents[draft.arm.agent].read_only(draft.arm)
    return replace(room, doors=doors, read_only=tuple(dict.fromkeys((*room.read_only, *programs))))


def run_agent(
    shop: EngineDeps, draft: RunDraft, sandbox: Sandbox, meter: Meter | None, variables: Mapping[str, str]
) -> AttemptOutcome:
    """Let the agent work in an open sandbox. Where its adapter breaks, infrastructure did, not the agent."""
    access = None
    if meter is not None:
        access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(meter.door.name)}", key=meter.key)
    try:
        return shop.agents[draft.arm.agent].attempt(_attempt_request(shop, draft, access, variables), sandbox)
    except (SandboxError, OSError):
        raise
    except Exception as fault:  # somebody else's adapter: its mistakes must not end everybody's experiment
        raise SandboxError(f"the agent {draft.arm.agent!r} is broken: {type(fault).__name__}: {fault}") from fault


def _attempt_request(
    shop: EngineDeps, draft: RunDraft, access: ModelAccess | None, variables: Mapping[str, str]
) -> AttemptRequest:
    arm = draft.arm
    return AttemptRequest(
        trial=draft.planned.trial,
        task=draft.task,
        arm=arm,
        timeout_seconds=draft.task.timeout_seconds or shop.limits.timeout_seconds,
        budget_usd=shop.limits.budget_usd,
        environment={**variables, **arm.environment, **{name: shop.secrets[name] for name in arm.secrets}},
        model_access=access,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAttempt:
    """A stored record, whether the model asked everybody to wait, and whether another attempt could end otherwise."""

    record: RunRecord
    retry_after_seconds: float | None
    may_retry: bool


def run_attempt(shop: EngineDeps, planned: PlannedRun, number: int) -> FinishedAttempt:
    """Attempt a trial and keep its record; when this returns, the record is durable."""
    draft = _new_draft(shop, planned, number, shop.now())
    shop.store.begin(draft.run_id, planned.trial, number)
    try:
        _attempt(shop, draft)
    except (SandboxError, OSError) as fault:
        draft.failure = Status.INFRA_ERROR, f"{type(fault).__name__}: {fault}"
        if draft.account is not None and draft.metering is None:
            finish_attempt(draft, shop.watch)  # what was spent before it broke was spent
    record = _store_record(shop, draft)
    failure = None if draft.outcome is None or draft.failure is not None else draft.outcome.failure
    return FinishedAttempt(
        record=record,
        retry_after_seconds=draft.outcome.retry_after_seconds if draft.outcome else None,
        may_retry=failure is None or failure.kind.remedy is not Remedy.FAIL,
    )


def close_abandoned_attempt(shop: EngineDeps, planned: PlannedRun, number: int) -> RunRecord:
    """Record an attempt whose engine died: it took place, and nothing else is known, not even when it started."""
    draft = _new_draft(shop, planned, number, None)
    draft.failure = Status.INFRA_ERROR, "the engine ended before this attempt did"
    return _store_record(shop, draft)


def _new_draft(shop: EngineDeps, planned: PlannedRun, number: int, started_at: datetime | None) -> RunDraft:
    task, arm = shop.tasks[planned.trial.task_id], shop.arms[planned.trial.arm]
    return RunDraft(
        planned=planned,
        number=number,
        task=task,
        arm=arm,
        started_at=started_at,
        rules_sha256=shop.rules_sha256,
    )


def _attempt(shop: EngineDeps, draft: RunDraft) -> None:
    pristine = shop.workspaces.prepare(draft.task)
    began = monotonic()
    with (
        _private_folder(shop, f"{draft.planned.position}.{draft.number}") as folder,
        shop.workspaces.lay(pristine, folder / "workspace") as workspace,
        _record_refused_hosts(draft, RunEgress(shop.hosts())) as way_out,
        watch_disk_quota(folder, shop.sandbox.disk_mb, shop.cancel) as quota,
    ):
        room = replace(_sandbox_request(shop, workspace, folder / "home", draft.run_id, way_out), cancel=quota.cancel)
        with (
            open_meter(shop, draft) as meter,
            shop.sandboxes.open(agent_sandbox_request(shop, draft, room, meter)) as sandbox,
        ):
            _lay_overlay(shop, draft.arm, sandbox)
            draft.setup_seconds = monotonic() - began
            draft.outcome = run_agent(shop, draft, sandbox, meter, way_out.variables(sandbox))
        draft.artifacts.update(draft.outcome.artifacts)
        if (too_much := quota.exceeded()) is not None:
            draft.outcome = replace(draft.outcome, status=Status.AGENT_ERROR, status_detail=too_much)
        finish_attempt(draft, shop.watch)
        if too_much is None and draft.outcome.status not in EXCLUDED_STATUSES:
            draft.artifacts["diff.patch"] = shop.diff(
                workspace, pristine, {file.path: file.sha256 for file in draft.arm.overlay}
            )
            _run_checks(shop, draft, replace(room, home=folder / "checks-home"), pristine, way_out)
            if (too_much := quota.exceeded()) is not None:
                draft.failure = Status.AGENT_ERROR, f"{too_much}, while its checks ran"


@contextmanager
def _record_refused_hosts(draft: RunDraft, way_out: RunEgress) -> Iterator[RunEgress]:
    """Whom agent and checks asked for in vain belongs to the run, also when it breaks."""
    try:
        yield way_out
    finally:
        draft.artifacts["refused-hosts.txt"] = way_out.refused()


def _run_checks(shop: EngineDeps, draft: RunDraft, room: SandboxRequest, pristine: Path, way_out: RunEgress) -> None:
    """A second, fresh room over the same workspace: the agent and all it started are gone when checks arrive."""
    began = monotonic()
    room.home.mkdir()
    with shop.sandboxes.open(room) as sandbox:
        environment = {**CHECK_ENVIRONMENT, **way_out.variables(sandbox)}
        checked = evaluate_checks(
            draft.task,
            sandbox,
            pristine,
            answer=final_answer(draft.artifacts),
            overlay=draft.arm.overlay,
            environment=environment,
        )
    if shop.cancel.is_set():
        raise SandboxError("cancelled while its checks ran")
    draft.checks, draft.checks_seconds = checked.results, monotonic() - began
    draft.artifacts.update(checked.artifacts)


def _sandbox_request(shop: EngineDeps, workspace: Path, home: Path, run_id: str, way_out: RunEgress) -> SandboxRequest:
    home.mkdir()
    return build_sandbox_request(
        shop.sandbox,
        workspace=workspace,
        home=home,
        label=f"{shop.label}:{run_id}",
        cancel=shop.cancel,
        doors=way_out.doors,
    )


def _lay_overlay(shop: EngineDeps, arm: Arm, sandbox: Sandbox) -> None:
    for file in arm.overlay:
        sandbox.write(file.path, shop.overlays[file.sha256], executable=file.executable)


@contextmanager
def _private_folder(shop: EngineDeps, name: str) -> Iterator[Path]:
    folder = shop.scratch / name
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shop.remove(folder)


def _store_record(shop: EngineDeps, draft: RunDraft) -> RunRecord:
    secrets = shop.secrets.values()
    artifacts = {name: redact_secrets(content, secrets) for name, content in draft.artifacts.items() if content}
    kept = {name: shop.store.keep(content) for name, content in artifacts.items()}
    try:
        record = build_record(draft, kept, secrets)
        shop.store.append(record)
    except (ValueError, EvidenceError) as fault:
        if draft.outcome is None:
            raise
        # Either the disk fails, and then the second try does too, or an agent said what no record can hold.
        draft.outcome, draft.failure = None, (Status.AGENT_ERROR, f"what the agent reported cannot be stored: {fault}")
        record = build_record(draft, kept, secrets)
        shop.store.append(record)
    return record
