from typing import Any

import msgspec
import pytest

from outweigh.model.codec import decode
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import CostProvenance


def collected(**fields: Any) -> RunRecord:
    record = decode(msgspec.json.encode({"task_id": "t", "arm": "with", "repeat": 2, "success": True} | fields))
    assert isinstance(record, RunRecord)
    return record


def test_the_seed_fields_arrive_under_our_names() -> None:
    run = collected(
        duration_seconds=12.5,
        total_cost_usd=0.25,
        input_tokens=1,
        output_tokens=2,
        cache_read_tokens=3,
        cache_write_tokens=4,
        step_count=5,
        tool_call_count=6,
        acceptance_cmd_count=7,
        acceptance_exit_code=0,
        run_id="abc",
    )

    assert (run.run_id, run.trial.task_id, run.trial.arm, run.trial.repeat) == ("abc", "t", "with", 2)
    assert (run.duration_seconds, run.cost.usd, run.cost.provenance) == (12.5, 0.25, CostProvenance.REPORTED)
    usage = run.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (1, 2, 3, 4)
    assert (run.step_count, run.tool_call_count, run.check_command_count) == (5, 6, 7)


def test_success_is_one_required_check() -> None:
    checks = collected(success=False, acceptance_exit_code=3).checks

    assert checks is not None
    assert [(check.name, check.required, check.passed, check.exit_code) for check in checks] == [
        ("success", True, False, 3)
    ]


def test_missing_telemetry_is_unknown_not_zero() -> None:
    run = collected()

    assert run.duration_seconds is None
    assert run.cost.usd is None
    assert run.cost.provenance is CostProvenance.UNKNOWN
    assert run.usage.input_tokens is run.usage.cache_write_tokens is run.step_count is None


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, Status.COMPLETED),
        ({"opencode_exit_code": 0}, Status.COMPLETED),
        ({"acceptance_exit_code": 1, "success": False}, Status.COMPLETED),
        ({"opencode_exit_code": 86}, Status.INFRA_ERROR),
        ({"setup_exit_code": 1}, Status.INFRA_ERROR),
        ({"arm_setup_exit_code": 2}, Status.INFRA_ERROR),
        ({"setup_exit_code": 1, "opencode_exit_code": 99}, Status.INFRA_ERROR),
        ({"opencode_exit_code": 99}, Status.NOT_RUN),
        ({"opencode_exit_code": 1}, Status.AGENT_ERROR),
        ({"opencode_exit_code": 124}, Status.AGENT_ERROR),
        ({"opencode_exit_code": -9}, Status.AGENT_ERROR),
    ],
)
def test_exit_codes_say_whose_failure_it_was(fields: dict[str, int], status: Status) -> None:
    assert collected(**fields).status is status


def test_fields_the_seed_does_not_name_are_kept_aside() -> None:
    assert collected(model="m", notes=["a"]).extra == {"model": "m", "notes": ["a"]}
