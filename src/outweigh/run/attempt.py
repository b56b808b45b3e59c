"""One attempt at a trial, from an empty folder to a stored record. Whatever goes wrong becomes a status."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Event as Signal
from time import monotonic

from outweigh.errors import EvidenceError
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
from outweigh.record.run_record import RunRecord
from outweigh.record.secrecy import without_secrets
from outweigh.record.status import EXCLUDED, Status
from outweigh.run.checks import evaluate
from outweigh.run.draft import Draft, record_of
from outweigh.run.plan import PlannedRun
from outweigh.run.room import room_of
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
    remove: Callable[[Path], None]


def make_attempt(shop: Workshop, planned: PlannedRun, number: int) -> Made:
    """Attempt a trial and keep its record; when this returns, the record is durable."""
    draft = _draft(shop, planned, number, shop.now())
    shop.store.begin(draft.run_id, planned.trial, number)
    try:
        _attempt(shop, draft)
    except (SandboxError, OSError) as fault:
        draft.failure = Status.INFRA_ERROR, f"{type(fault).__name__}: {fault}"
    record = _keep(shop, draft)
    return Made(record=record, retry_after_seconds=draft.outcome.retry_after_seconds if draft.outcome else None)


def close_abandoned(shop: Workshop, planned: PlannedRun, number: int) -> RunRecord:
    """Record an attempt whose engine died: it took place, and nothing else is known, not even when it started."""
    draft = _draft(shop, planned, number, None)
    draft.failure = Status.INFRA_ERROR, "the engine ended before this attempt did"
    return _keep(shop, draft)


def _draft(shop: Workshop, planned: PlannedRun, number: int, started_at: datetime | None) -> Draft:
    task, arm = shop.tasks[planned.trial.task_id], shop.arms[planned.trial.arm]
    return Draft(planned=planned, number=number, task=task, arm=arm, started_at=started_at)


def _attempt(shop: Workshop, draft: Draft) -> None:
    pristine = shop.workspaces.prepare(draft.task)
    began = monotonic()
    with (
        _private_folder(shop, f"{draft.planned.position}.{draft.number}") as folder,
        shop.workspaces.lay(pristine, folder / "workspace") as workspace,
    ):
        room = _room(shop, workspace, folder / "home", draft.run_id)
        with shop.sandboxes.open(room) as sandbox:
            _lay_overlay(shop, draft.arm, sandbox)
            draft.setup_seconds = monotonic() - began
            draft.outcome = _ask(shop, draft, sandbox)
        draft.artifacts.update(draft.outcome.artifacts)
        if draft.outcome.status not in EXCLUDED:
            draft.artifacts["diff.patch"] = shop.diff(workspace, pristine)
            _check(shop, draft, room, pristine, folder / "checks-home")


def _ask(shop: Workshop, draft: Draft, sandbox: Sandbox) -> AttemptOutcome:
    try:
        return shop.agents[draft.arm.agent].attempt(_request(shop, draft), sandbox)
    except (SandboxError, OSError):
        raise
    except Exception as fault:  # somebody else's adapter: its mistakes must not end everybody's experiment
        raise SandboxError(f"the agent {draft.arm.agent!r} is broken: {type(fault).__name__}: {fault}") from fault


def _check(shop: Workshop, draft: Draft, room: SandboxRequest, pristine: Path, home: Path) -> None:
    """A second, fresh room over the same workspace: the agent and all it started are gone when checks arrive."""
    began = monotonic()
    home.mkdir()
    with shop.sandboxes.open(replace(room, home=home, doors=())) as sandbox:
        checked = evaluate(draft.task, sandbox, pristine, overlay=draft.arm.overlay)
    if shop.cancel.is_set():
        raise SandboxError("cancelled while its checks ran")
    draft.checks, draft.checks_seconds = checked.results, monotonic() - began
    draft.artifacts.update(checked.artifacts)


def _room(shop: Workshop, workspace: Path, home: Path, run_id: str) -> SandboxRequest:
    home.mkdir()
    label = f"{shop.label}:{run_id}"
    return room_of(shop.sandbox, workspace=workspace, home=home, label=label, cancel=shop.cancel)


def _request(shop: Workshop, draft: Draft) -> AttemptRequest:
    arm = draft.arm
    return AttemptRequest(
        trial=draft.planned.trial,
        task=draft.task,
        arm=arm,
        timeout_seconds=draft.task.timeout_seconds or shop.limits.timeout_seconds,
        budget_usd=shop.limits.budget_usd,
        environment={**arm.environment, **{name: shop.secrets[name] for name in arm.secrets}},
        model_access=None,
    )


def _lay_overlay(shop: Workshop, arm: Arm, sandbox: Sandbox) -> None:
    for file in arm.overlay:
        sandbox.write(file.path, shop.overlays[file.sha256], executable=file.executable)


@contextmanager
def _private_folder(shop: Workshop, name: str) -> Iterator[Path]:
    folder = shop.scratch / name
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shop.remove(folder)


def _keep(shop: Workshop, draft: Draft) -> RunRecord:
    secrets = shop.secrets.values()
    artifacts = {name: without_secrets(content, secrets) for name, content in draft.artifacts.items() if content}
    kept = {name: shop.store.keep(content) for name, content in artifacts.items()}
    try:
        record = record_of(draft, kept, secrets)
        shop.store.append(record)
    except (ValueError, EvidenceError) as fault:
        if draft.outcome is None:
            raise
        # Either the disk fails, and then the second try does too, or an agent said what no record can hold.
        draft.outcome, draft.failure = None, (Status.AGENT_ERROR, f"what the agent reported cannot be stored: {fault}")
        record = record_of(draft, kept, secrets)
        shop.store.append(record)
    return record
