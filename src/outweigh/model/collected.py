"""The `collected.jsonl` format: one flat object per run. Stores accept such lines beside their own records."""

import msgspec

from outweigh.model.base import Amount, Count, Json, Name
from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, RunRecord, Status, Trial
from outweigh.model.usage import Usage, reported_cost

INFRASTRUCTURE_EXIT = 86
NOT_RUN_EXIT = 99


class CollectedRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The seed's field names. What the file leaves out is unknown, not 0."""

    task_id: Name
    arm: Name
    repeat: Count
    success: bool | None = None
    duration_seconds: Amount | None = None
    total_cost_usd: Amount | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    run_id: Name | None = None
    opencode_exit_code: int | None = None
    acceptance_exit_code: int | None = None
    setup_exit_code: int | None = None
    arm_setup_exit_code: int | None = None
    step_count: Count | None = None
    tool_call_count: Count | None = None
    acceptance_cmd_count: Count | None = None


_FIELDS = frozenset(CollectedRun.__struct_fields__)
_REQUIRED = frozenset({"task_id", "arm", "repeat"})


def looks_collected(raw: Json) -> bool:
    """Tell a seed 000 record from any other JSON object by the coordinates it must have."""
    return raw.keys() >= _REQUIRED


def from_collected(raw: Json) -> RunRecord:
    """Turn one decoded seed 000 object into a run record; fields the seed does not name go to `extra`."""
    run = msgspec.convert({name: raw[name] for name in raw.keys() & _FIELDS}, CollectedRun)
    return RunRecord(
        run_id=run.run_id or f"{run.task_id}/{run.arm}/{run.repeat}",
        trial=Trial(task_id=run.task_id, arm=run.arm, repeat=run.repeat, seed=None),
        attempt=1,
        status=_status(run),
        status_detail=None,
        # The format is written by a harness that drives an agent; it has no way to say otherwise.
        agent=AgentIdentity(kind=AgentKind.REAL, name=None, version=None, model=None),
        arm_fingerprint=None,
        task_checksum=None,
        family=None,
        position=None,
        started_at=None,
        duration_seconds=run.duration_seconds,
        setup_seconds=None,
        checks_seconds=None,
        usage=Usage(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            cache_read_tokens=run.cache_read_tokens,
            cache_write_tokens=run.cache_write_tokens,
        ),
        cost=reported_cost(run.total_cost_usd),
        step_count=run.step_count,
        tool_call_count=run.tool_call_count,
        check_command_count=run.acceptance_cmd_count,
        checks=(_success_check(run),),
        steps=None,
        components=None,
        milestones=None,
        actions=None,
        metering=None,
        reported=None,
        loaded=None,
        warnings=(),
        artifacts={},
        extra={name: value for name, value in raw.items() if name not in _FIELDS},
    )


def _status(run: CollectedRun) -> Status:
    if run.setup_exit_code or run.arm_setup_exit_code or run.opencode_exit_code == INFRASTRUCTURE_EXIT:
        return Status.INFRA_ERROR
    if run.opencode_exit_code == NOT_RUN_EXIT:
        return Status.NOT_RUN
    return Status.AGENT_ERROR if run.opencode_exit_code else Status.COMPLETED


def _success_check(run: CollectedRun) -> CheckResult:
    return CheckResult(
        name="success",
        required=True,
        passed=run.success,
        cases_passed=None,
        cases_total=None,
        exit_code=run.acceptance_exit_code,
        detail=None,
    )
