"""One attempt at a trial, from an empty folder to a stored record. Whatever goes wrong becomes a status.

What goes wrong before the agent starts is infrastructure; after that it counts against the agent (`fault.py`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.content_checks import final_answer
from outweigh.engine.checks.evaluate import CheckSubject, evaluate_checks
from outweigh.engine.checks.trajectory_checks import kept_transcript, shown_calls
from outweigh.engine.conversation import CONVERSATION_ARTIFACT, CheckPoint, TaskConversation
from outweigh.engine.fault import WatchedSandbox, failed_checks, is_disk_full, sandbox_works, took_the_disk
from outweigh.engine.finish import finish_attempt, metered_totals
from outweigh.engine.metered_steps import metered_trajectory
from outweigh.engine.run_agent import EngineDeps, agent_sandbox_request, open_meter, run_agent
from outweigh.engine.run_draft import RunDraft, build_record
from outweigh.engine.sandbox_request import (
    RunEgress,
    build_sandbox_request,
    occupied_bytes,
    watch_disk_quota,
)
from outweigh.engine.signals import AnySignal
from outweigh.engine.simulated_user import SimulatedUser, SimulatedUserError, open_user_model
from outweigh.engine.stages import ServedSandbox, StageError, WorkSetting, around_work, check_environment
from outweigh.engine.trial_plan import PlannedRun
from outweigh.engine.trigger_run import EarlyStop, ended_early
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.arm import Arm
from outweigh.model.failure import EXCLUDED_STATUSES, FailureKind, Remedy, Status
from outweigh.model.redact import redact_secrets
from outweigh.model.run_record import DIFF_ARTIFACT, RunRecord, SimulatedUserUse
from outweigh.model.task import SimulatedUserSpec
from outweigh.ports.agents import AttemptOutcome, UserReplies
from outweigh.ports.sandboxes import ForwardedPort, Sandbox, SandboxError, SandboxRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedAttempt:
    """A stored record, how long the model asked all runs to wait, whether a retry could end otherwise, and the kind of
    failure where it is known. `may_come_late` says that nobody knows how the attempt ended, and that what it came to
    may still be heard of.
    """

    record: RunRecord
    retry_after_seconds: float | None
    may_retry: bool
    failure_kind: FailureKind | None = None
    may_come_late: bool = False


def run_attempt(deps: EngineDeps, planned: PlannedRun, number: int) -> FinishedAttempt:
    """Attempt a trial and store its record; when this returns, the record is durable."""
    draft = _new_draft(deps, planned, number, deps.now())
    deps.store.begin(draft.run_id, planned.trial, number)
    try:
        _attempt(deps, draft)
    except (UsageError, EvidenceError):
        raise
    except Exception as fault:  # what an agent leaves must not end the experiment, whatever it sets off
        if not (draft.started or isinstance(fault, SandboxError | OSError)):
            raise
        _settle_failure(deps, draft, fault)
    record = _store_record(deps, draft)
    failure = None if draft.outcome is None or draft.failure is not None else draft.outcome.failure
    return FinishedAttempt(
        record=record,
        retry_after_seconds=draft.outcome.retry_after_seconds if draft.outcome else None,
        may_retry=failure is None or failure.kind.remedy is not Remedy.FAIL,
        failure_kind=None if failure is None else failure.kind,
    )


def _settle_failure(deps: EngineDeps, draft: RunDraft, fault: Exception) -> None:
    """Give a broken attempt its status. One that is excluded already stays so: the gateway saw why."""
    reason = f"{type(fault).__name__}: {fault}"
    was_excluded = draft.outcome is not None and draft.outcome.status in EXCLUDED_STATUSES
    if not _is_agents_fault(deps, draft, fault):
        draft.failure = Status.INFRA_ERROR, reason
    elif not was_excluded:
        draft.failure = Status.AGENT_ERROR, f"what the agent did or left broke its run: {reason}"
        draft.checks = failed_checks(draft.task, f"it could not be run over what the agent left: {reason}")
    if draft.account is not None and draft.metering is None:
        finish_attempt(draft, deps.expected_setup)  # what was spent before the failure still counts


def _is_agents_fault(deps: EngineDeps, draft: RunDraft, fault: Exception) -> bool:
    """Whether the agent could have broken the attempt: it had started, and the engine itself does not fail."""
    if not draft.started or deps.ends_agents.is_set() or isinstance(fault, StageError):
        return False
    if is_disk_full(fault) and not draft.filled_disk:
        return False
    folder = deps.scratch / f"{draft.planned.position}.{draft.number}.test"
    try:
        folder.mkdir(parents=True)
        request = _build_request(deps, draft, folder, folder, ports=())
        return sandbox_works(deps.sandboxes, deps.workspaces, request, deps.workspaces.prepare(draft.task), folder)
    except OSError:
        return False
    finally:
        deps.remove(folder)


def close_abandoned_attempt(deps: EngineDeps, planned: PlannedRun, number: int) -> RunRecord:
    """Record an attempt whose engine was killed: it took place, and not even its start time is known."""
    draft = _new_draft(deps, planned, number, None)
    draft.failure = Status.INFRA_ERROR, "the engine ended before this attempt did"
    return _store_record(deps, draft)


def _new_draft(deps: EngineDeps, planned: PlannedRun, number: int, started_at: datetime | None) -> RunDraft:
    task, arm = deps.tasks[planned.trial.task_id], deps.arms[planned.trial.arm]
    return RunDraft(
        planned=planned,
        number=number,
        task=task,
        arm=arm,
        started_at=started_at,
        labels=deps.labels,
    )


def _attempt(deps: EngineDeps, draft: RunDraft) -> None:
    untouched = deps.workspaces.prepare(draft.task)
    began = monotonic()
    with (
        _private_folder(deps, draft) as folder,
        deps.workspaces.lay_out(untouched, folder / "workspace") as workspace,
        _record_refused_hosts(draft, RunEgress(deps.hosts())) as egress,
        around_work(setting := _work_setting(deps, draft, workspace, egress), untouched) as pristine,
        watch_disk_quota(folder, deps.sandbox_for(draft.task).disk_mb, deps.cancel) as quota,
    ):
        request = replace(setting.request, cancel=quota.cancel)
        ends_agent = quota.cancel if deps.agent_cancel is None else AnySignal(quota.cancel, deps.agent_cancel)
        stop = None if draft.task.trigger is None else EarlyStop(ends_agent)
        of_agent = replace(request, cancel=stop or ends_agent)
        with (
            open_meter(deps, draft, stop) as meter,
            deps.sandboxes.open(agent_sandbox_request(deps, draft, of_agent, meter)) as sandbox,
        ):
            _lay_overlay(deps, draft.arm, sandbox)
            draft.setup_seconds = monotonic() - began
            with _conversation(deps, draft, request, folder / "turns", pristine, egress) as conversation:
                draft.outcome = run_agent(
                    deps, draft, _watched(draft, sandbox), meter, egress.variables(sandbox), conversation
                )
        if stop is not None and stop.was_stopped:
            draft.outcome = ended_early(draft.outcome)
        draft.artifacts.update(draft.outcome.artifacts)
        if (too_much := quota.exceeded()) is not None:
            draft.outcome = replace(draft.outcome, status=Status.AGENT_ERROR, status_detail=too_much)
        finish_attempt(draft, deps.expected_setup)
        if draft.outcome.status in EXCLUDED_STATUSES:
            _note_lost_lead(deps, draft, draft.outcome)
            return
        if draft.task.trigger is not None:
            draft.checks = ()
            return
        unreadable = too_much or deps.survey(workspace)
        if unreadable is not None:
            _fail_unread(draft, unreadable)
            return
        draft.artifacts[DIFF_ARTIFACT] = deps.diff(
            workspace, pristine, {file.path: file.sha256 for file in draft.arm.overlay}
        )
        _run_checks(deps, draft, request, folder / "checks", pristine, egress)
        if (too_much := quota.exceeded()) is not None:
            draft.failure = Status.AGENT_ERROR, f"{too_much}, while its checks ran"
            draft.checks = failed_checks(draft.task, too_much)


def _note_lost_lead(deps: EngineDeps, draft: RunDraft, outcome: AttemptOutcome) -> None:
    """An agent that was ended although nobody cancelled its attempt was ended by infrastructure."""
    lost = deps.agent_cancel is not None and deps.agent_cancel.is_set() and not deps.cancel.is_set()
    if lost and outcome.status is Status.NOT_RUN:
        draft.failure = Status.INFRA_ERROR, f"{outcome.status_detail}: its host had lost its lead"


def _watched(draft: RunDraft, sandbox: Sandbox) -> Sandbox:
    """The sandbox as the agent gets it: with the task's services, and watched for its first command."""
    services = draft.task.work.services
    return WatchedSandbox(ServedSandbox(sandbox, services) if services else sandbox, draft.mark_started)


def _fail_unread(draft: RunDraft, reason: str) -> None:
    """Fail all checks of a workspace that is beyond the bounds within which it is read."""
    draft.checks = failed_checks(draft.task, f"the workspace that the agent left is not read: {reason}")
    if draft.outcome is not None and draft.outcome.status is Status.COMPLETED:
        draft.failure = Status.AGENT_ERROR, f"the workspace that it left is not read: {reason}"


@contextmanager
def _record_refused_hosts(draft: RunDraft, egress: RunEgress) -> Iterator[RunEgress]:
    """Store which hosts were refused to agent and checks, even when the attempt breaks off."""
    try:
        yield egress
    finally:
        draft.artifacts["refused-hosts.txt"] = egress.refused()


def _run_checks(
    deps: EngineDeps, draft: RunDraft, request: SandboxRequest, folder: Path, pristine: Path, egress: RunEgress
) -> None:
    """A second, fresh sandbox over the same workspace: the agent and all it started are gone when checks arrive."""
    began = monotonic()
    kept = {**draft.artifacts, **metered_trajectory(draft)}
    subject = replace(
        _check_subject(deps, draft, pristine),
        answer=final_answer(draft.artifacts),
        calls=shown_calls(kept, None if draft.outcome is None else draft.outcome.tool_call_count),
        transcript=kept_transcript(kept),
    )
    with open_check_sandbox(_check_request(draft, deps, request, folder, egress)) as sandbox:
        checked = evaluate_checks(draft.task, sandbox, subject)
    if deps.cancel.is_set():
        raise SandboxError("cancelled while its checks ran")
    draft.checks, draft.checks_seconds = checked.results, monotonic() - began
    draft.artifacts.update(checked.artifacts)


def _check_subject(deps: EngineDeps, draft: RunDraft, pristine: Path) -> CheckSubject:
    """What checks look at beside the workspace, before the agent has answered."""
    return CheckSubject(
        untouched=pristine,
        answer=None,
        overlay=draft.arm.overlay,
        expected_cases=deps.expected_cases.get(draft.task.id, {}),
    )


def _check_request(
    draft: RunDraft, deps: EngineDeps, request: SandboxRequest, folder: Path, egress: RunEgress
) -> CheckSandboxRequest:
    return CheckSandboxRequest(
        provider=deps.sandboxes,
        sandbox=request,
        folder=folder,
        tests=draft.task.tests_folder,
        environment=check_environment(draft.task, request),
        egress=egress,
        stage=draft.task.checking,
        work=draft.task.work,
    )


@contextmanager
def _conversation(
    deps: EngineDeps, draft: RunDraft, request: SandboxRequest, folder: Path, pristine: Path, egress: RunEgress
) -> Iterator[UserReplies | None]:
    """The user's side of a task with several turns; what was said is kept, even when the attempt breaks off."""
    if draft.task.user is not None and deps.agents[draft.arm.agent].uses_model(draft.arm):
        with _simulated_user(deps, draft, draft.task.user) as user:
            yield user
        return
    if not draft.task.turns:
        yield None
        return
    conversation = TaskConversation(
        turns=draft.task.turns,
        check_point=CheckPoint(
            task=draft.task,
            workspaces=deps.workspaces,
            checks=_check_request(draft, deps, request, folder, egress),
            subject=_check_subject(deps, draft, pristine),
            folder=folder,
        ),
    )
    try:
        yield conversation
    finally:
        draft.artifacts[CONVERSATION_ARTIFACT] = conversation.lines()


@contextmanager
def _simulated_user(deps: EngineDeps, draft: RunDraft, spec: SimulatedUserSpec) -> Iterator[SimulatedUser]:
    """A user whom the suite's model plays; what it said and took is kept, even when the attempt breaks off."""
    played_by = deps.user_model
    if played_by is None or deps.gateway is None:
        raise SimulatedUserError("a simulated user needs the gateway, and its model under [simulated_user]")
    user: SimulatedUser | None = None
    try:
        with open_user_model(
            deps.gateway,
            model=played_by.model,
            api=played_by.family,
            label=f"{draft.run_id} user",
            budget_usd=deps.limits.budget_usd,
            cancel=deps.ends_agents,
        ) as model:
            user = SimulatedUser(spec=spec, instruction=draft.task.instruction, model=model)
            yield user
    finally:
        if user is not None:
            usage, cost = metered_totals(user.model.meter.account())
            draft.artifacts[CONVERSATION_ARTIFACT] = user.lines()
            draft.simulated_user = SimulatedUserUse(
                model=played_by.model, messages=user.message_count, usage=usage, cost=cost
            )


def _work_setting(deps: EngineDeps, draft: RunDraft, workspace: Path, egress: RunEgress) -> WorkSetting:
    home = workspace.with_name("home")
    home.mkdir()
    return WorkSetting(
        stage=draft.task.work,
        provider=deps.sandboxes,
        request=_build_request(deps, draft, workspace, home, ports=egress.ports),
        workspaces=deps.workspaces,
        egress=egress,
    )


def _build_request(
    deps: EngineDeps, draft: RunDraft, workspace: Path, home: Path, *, ports: tuple[ForwardedPort, ...]
) -> SandboxRequest:
    return build_sandbox_request(
        deps.sandbox_for(draft.task),
        workspace=workspace,
        home=home,
        label=f"{deps.label}:{draft.run_id}",
        cancel=deps.cancel,
        ports=ports,
        image=deps.images.get(draft.task.id),
        task=draft.task,
    )


def _lay_overlay(deps: EngineDeps, arm: Arm, sandbox: Sandbox) -> None:
    for file in arm.overlay:
        sandbox.write(file.path, deps.overlays[file.sha256], executable=file.executable)


@contextmanager
def _private_folder(deps: EngineDeps, draft: RunDraft) -> Iterator[Path]:
    folder = deps.scratch / f"{draft.planned.position}.{draft.number}"
    folder.mkdir(parents=True)
    free_before = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    try:
        yield folder
    except Exception:
        draft.filled_disk = took_the_disk(occupied_bytes(folder), free_before)
        raise
    finally:
        deps.remove(folder)


def _store_record(deps: EngineDeps, draft: RunDraft) -> RunRecord:
    secrets = deps.secrets.values()
    found = {**draft.artifacts, **metered_trajectory(draft)}
    kept = {name: deps.store.keep(redact_secrets(content, secrets)) for name, content in found.items() if content}
    try:
        record = build_record(draft, kept, secrets)
        deps.store.append(record)
    except (ValueError, EvidenceError) as fault:
        if draft.outcome is None:
            raise
        # If the disk failed, the second try fails too; otherwise the agent reported something that no record can hold.
        draft.outcome, draft.failure = None, (Status.AGENT_ERROR, f"what the agent reported cannot be stored: {fault}")
        record = build_record(draft, kept, secrets)
        deps.store.append(record)
    return record
