"""A run becomes a sample of Inspect with all that is known, and nothing that is not."""

from typing import Any

import pytest

from outweigh.interop.inspect_ai.sample_writer import ExportedRun, InspectSample, make_sample, make_summary, sample_id
from outweigh.model.failure import Status
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, Metering, Usage, reported_cost
from outweigh.testing.builders import a_check, a_run

PRICES = PriceTables(
    UserPriceTable(
        "list",
        {
            "big": ModelPrices(input_usd_per_million=10, output_usd_per_million=20),
            "small": ModelPrices(input_usd_per_million=1, output_usd_per_million=2),
        },
    )
)
LARGE = Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=0, cache_write_tokens=0)
LITTLE = Usage(input_tokens=500, output_tokens=50, cache_read_tokens=0, cache_write_tokens=0)
BOTH = Usage(input_tokens=1500, output_tokens=150, cache_read_tokens=0, cache_write_tokens=0)


def a_sample(run: RunRecord, **known: Any) -> InspectSample:
    nothing: dict[str, Any] = {"epoch": 1, "trajectory": None, "instruction": None, "judge_score": None}
    return make_sample(ExportedRun(run=run, **(nothing | known)), "evaluation", PRICES)


def metered(**fields: Any) -> RunRecord:
    metering = Metering(
        requests=2,
        failed_requests=0,
        models={"big": LARGE, "small": LITTLE},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
    )
    return a_run(metering=metering, **({"usage": BOTH, "cost": reported_cost(0.0126)} | fields))


def test_tokens_and_dollars_stand_under_the_model() -> None:
    (usage,) = a_sample(a_run())["model_usage"].values()

    assert usage == {
        "input_tokens": 1000,
        "output_tokens": 500,
        "input_tokens_cache_read": 8000,
        "input_tokens_cache_write": 400,
        "total_tokens": 9900,
        "total_cost": 0.10,
    }


def test_unknown_tokens_are_no_zeros() -> None:
    usage = Usage(input_tokens=None, output_tokens=5, cache_read_tokens=None, cache_write_tokens=None)

    sample = a_sample(a_run(usage=usage))

    assert "model_usage" not in sample
    assert sample["metadata"]["usage"]["input_tokens"] is None
    assert sample["metadata"]["usage"]["output_tokens"] == 5
    assert sample["metadata"]["cost_usd"] == 0.10


def test_an_unknown_cost_is_left_out() -> None:
    sample = a_sample(a_run(cost=UNKNOWN_COST))

    assert "total_cost" not in next(iter(sample["model_usage"].values()))
    assert "cost_usd" not in sample["metadata"]


def test_dollars_are_divided_among_models_where_their_prices_make_up_the_whole() -> None:
    usage = a_sample(metered())["model_usage"]

    assert usage["big"]["total_cost"] == pytest.approx(0.012)
    assert usage["small"]["total_cost"] == pytest.approx(0.0006)


def test_dollars_that_prices_do_not_explain_are_not_divided() -> None:
    sample = a_sample(metered(cost=reported_cost(1.0)))

    assert [usage.get("total_cost") for usage in sample["model_usage"].values()] == [None, None]
    assert sample["metadata"]["cost_usd"] == 1.0


def test_models_that_do_not_add_up_to_the_run_are_not_told_apart() -> None:
    more = Usage(input_tokens=9000, output_tokens=150, cache_read_tokens=0, cache_write_tokens=0)

    (usage,) = a_sample(metered(usage=more))["model_usage"].values()

    assert usage["input_tokens"] == 9000


@pytest.mark.parametrize("status", [Status.INFRA_ERROR, Status.NOT_RUN, Status.ARM_NOT_APPLIED])
def test_a_run_that_says_nothing_about_the_agent_is_an_error_without_an_outcome(status: Status) -> None:
    sample = a_sample(a_run(status=status, status_detail="the disk was full", checks=None))

    assert sample["error"]["message"] == f"{status.value}: the disk was full"
    assert "scores" not in sample
    assert make_summary(sample)["error"] == sample["error"]["message"]


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.AGENT_ERROR, Status.BUDGET_EXCEEDED])
def test_a_run_that_the_agent_ended_badly_is_incorrect_and_no_error(status: Status) -> None:
    sample = a_sample(a_run(status=status, status_detail="after 600 s", checks=None))

    assert sample["scores"]["passed"] == {"value": "I", "explanation": f"{status.value}: after 600 s"}
    assert "error" not in sample
    assert "limit" not in sample


def test_an_outcome_that_nobody_knows_is_no_score() -> None:
    sample = a_sample(a_run(checks=(a_check("tests", passed=None), a_check("lint", required=False, detail="2 faults"))))

    assert "passed" not in sample["scores"]
    assert sample["scores"]["checks"]["value"] == {"tests": None, "lint": True}
    assert sample["scores"]["checks"]["explanation"] == "lint: 2 faults"
    assert sample["scores"]["checks"]["metadata"]["lint"]["required"] is False


def test_judges_have_a_score_of_their_own() -> None:
    assert a_sample(a_run(), judge_score=0.8)["scores"]["judge_score"] == {"value": 0.8}


def test_the_whole_time_is_known_where_all_of_its_parts_are() -> None:
    whole = a_sample(a_run(setup_seconds=1.0, checks_seconds=2.5))
    part = a_sample(a_run(setup_seconds=1.0))
    unchecked = a_sample(a_run(setup_seconds=1.0, checks=None))

    assert (whole["working_time"], whole["total_time"]) == (60.0, 63.5)
    assert (part["working_time"], part.get("total_time")) == (60.0, None)
    assert unchecked["total_time"] == 61.0


def test_an_instruction_is_the_input_and_a_missing_one_is_said_to_be_missing() -> None:
    instructed, uninstructed = a_sample(a_run(), instruction="Mend it."), a_sample(a_run())

    assert (instructed["input"], instructed["metadata"]["has_instruction"]) == ("Mend it.", True)
    assert (uninstructed["input"], uninstructed["metadata"]["has_instruction"]) == ("", False)


@pytest.mark.parametrize("task", ["../two", "a/../../b", "..\\x", "a/..", "nul\x00"])
def test_no_name_leads_out_of_the_archive(task: str) -> None:
    safe = sample_id(task)

    assert ".." not in safe.replace("\\", "/").split("/")
    assert "\x00" not in safe
    assert safe != sample_id(task + "x")


def test_an_ordinary_name_stays() -> None:
    assert sample_id("django__django-1.2/ä b") == "django__django-1.2/ä b"
    assert sample_id("v1..v2") == "v1..v2"
