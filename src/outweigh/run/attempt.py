"""One attempt at a trial, from an empty folder to a stored record. Whatever goes wrong becomes a status."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from outweigh.errors import EvidenceError
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest
from outweigh.record.run_record import RunRecord
from outweigh.record.secrecy import without_secrets
from outweigh.record.status import EXCLUDED, Status
from outweigh.run.agent_turn import agent_room, ask, metered
from outweigh.run.answer import answer_of
from outweigh.run.checks import CHECK_ENVIRONMENT, evaluate
from outweigh.run.disk_quota import disk_quota
from outweigh.run.draft import Draft, record_of
from outweigh.run.plan import PlannedRun
from outweigh.run.room import room_of
from outweigh.run.settlement import settle
from outweigh.run.way_out import WayOut
from outweigh.run.workshop import Workshop
from outweigh.task.arm import Arm
from outweigh.transcript.failure import Remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A stored record, whether the model asked everybody to wait, and whether another attempt could end otherwise."""

    record: RunRecord
    retry_after_seconds: float | None
    may_retry: bool


def make_attempt(shop: Workshop, planned: PlannedRun, number: int) -> Made:
    """Attempt a trial and keep its record; when this returns, the record is durable."""
    draft = _draft(shop, planned, number, shop.now())
    shop.store.begin(draft.run_id, planned.trial, number)
    try:
        _attempt(shop, draft)
    except (SandboxError, OSError) as fault:
        draft.failure = Status.INFRA_ERROR, f"{type(fault).__name__}: {fault}"
        if draft.account is not None and draft.metering is None:
            settle(draft, shop.watch)  # what was spent before it broke was spent
    record = _keep(shop, draft)
    failure = None if draft.outcome is None or draft.failure is not None else draft.outcome.failure
    return Made(
        record=record,
        retry_after_seconds=draft.outcome.retry_after_seconds if draft.outcome else None,
        may_retry=failure is None or failure.kind.remedy is not Remedy.FAIL,
    )


def close_abandoned(shop: Workshop, planned: PlannedRun, number: int) -> RunRecord:
    """Record an attempt whose engine died: it took place, and nothing else is known, not even when it started."""
    draft = _draft(shop, planned, number, None)
    draft.failure = Status.INFRA_ERROR, "the engine ended before this attempt did"
    return _keep(shop, draft)


def _draft(shop: Workshop, planned: PlannedRun, number: int, started_at: datetime | None) -> Draft:
    task, arm = shop.tasks[planned.trial.task_id], shop.arms[planned.trial.arm]
    return Draft(
        planned=planned,
        number=number,
        task=task,
        arm=arm,
        started_at=started_at,
        rules_sha256=shop.rules_sha256,
    )


def _attempt(shop: Workshop, draft: Draft) -> None:
    pristine = shop.workspaces.prepare(draft.task)
    began = monotonic()
    with (
        _private_folder(shop, f"{draft.planned.position}.{draft.number}") as folder,
        shop.workspaces.lay(pristine, folder / "workspace") as workspace,
        _watched(draft, WayOut(shop.hosts())) as way_out,
        disk_quota(folder, shop.sandbox.disk_mb, shop.cancel) as quota,
    ):
        room = replace(_room(shop, workspace, folder / "home", draft.run_id, way_out), cancel=quota.cancel)
        with metered(shop, draft) as meter, shop.sandboxes.open(agent_room(shop, draft, room, meter)) as sandbox:
            _lay_overlay(shop, draft.arm, sandbox)
            draft.setup_seconds = monotonic() - began
            draft.outcome = ask(shop, draft, sandbox, meter, way_out.variables(sandbox))
        draft.artifacts.update(draft.outcome.artifacts)
        if (too_much := quota.exceeded()) is not None:
            draft.outcome = replace(draft.outcome, status=Status.AGENT_ERROR, status_detail=too_much)
        settle(draft, shop.watch)
        if too_much is None and draft.outcome.status not in EXCLUDED:
            draft.artifacts["diff.patch"] = shop.diff(
                workspace, pristine, {file.path: file.sha256 for file in draft.arm.overlay}
            )
            _check(shop, draft, replace(room, home=folder / "checks-home"), pristine, way_out)
            if (too_much := quota.exceeded()) is not None:
                draft.failure = Status.AGENT_ERROR, f"{too_much}, while its checks ran"


@contextmanager
def _watched(draft: Draft, way_out: WayOut) -> Iterator[WayOut]:
    """Whom agent and checks asked for in vain belongs to the run, also when it breaks."""
    try:
        yield way_out
    finally:
        draft.artifacts["refused-hosts.txt"] = way_out.refused()


def _check(shop: Workshop, draft: Draft, room: SandboxRequest, pristine: Path, way_out: WayOut) -> None:
    """A second, fresh room over the same workspace: the agent and all it started are gone when checks arrive."""
    began = monotonic()
    room.home.mkdir()
    with shop.sandboxes.open(room) as sandbox:
        environment = {**CHECK_ENVIRONMENT, **way_out.variables(sandbox)}
        checked = evaluate(
            draft.task,
            sandbox,
            pristine,
            answer=answer_of(draft.artifacts),
            overlay=draft.arm.overlay,
            environment=environment,
        )
    if shop.cancel.is_set():
        raise SandboxError("cancelled while its checks ran")
    draft.checks, draft.checks_seconds = checked.results, monotonic() - began
    draft.artifacts.update(checked.artifacts)


def _room(shop: Workshop, workspace: Path, home: Path, run_id: str, way_out: WayOut) -> SandboxRequest:
    home.mkdir()
    return room_of(
        shop.sandbox,
        workspace=workspace,
        home=home,
        label=f"{shop.label}:{run_id}",
        cancel=shop.cancel,
        doors=way_out.doors,
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
