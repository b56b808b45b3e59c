"""Every model that answered is named, with its share of the tokens where they are known."""

from typing import Any

import msgspec
import pytest

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Metering, Usage
from outweigh.report.document import Table
from outweigh.report.json_output import observed_setup_payload
from outweigh.report.model_use_table import model_blocks, run_model_rows
from outweigh.testing.builders import a_run, evidence_of


def tokens(sent: int | None, got: int) -> Usage:
    return Usage(input_tokens=sent, output_tokens=got, cache_read_tokens=0, cache_write_tokens=0)


def metered(arm: str, number: int, models: dict[str, Usage], **fields: Any) -> RunRecord:
    metering = Metering(
        requests=2, failed_requests=0, models=models, time_to_first_token_seconds=None, model_seconds=1.0
    )
    return a_run("task-1", arm, number, metering=metering, **fields)


def seen(*runs: RunRecord) -> Comparison:
    return compare_arms(evidence_of([a_run("task-1", "old"), *runs]), "old", "new")


WORK_AND_TITLE = {"big": tokens(800, 100), "small": tokens(90, 10)}


def test_the_shares_are_those_of_all_tokens_of_counted_runs() -> None:
    lost = metered("new", 3, {"wrong": tokens(500, 500)}, status=Status.ARM_NOT_APPLIED)

    setup = seen(metered("new", 1, WORK_AND_TITLE), metered("new", 2, {"big": tokens(900, 100)}), lost).setups["new"]

    assert {name: (use.runs, use.tokens) for name, use in setup.models.items()} == {"big": (2, 1900), "small": (1, 100)}
    assert [use.share for use in setup.models.values()] == pytest.approx([0.95, 0.05])


def test_unknown_tokens_leave_every_share_unknown() -> None:
    setup = seen(metered("new", 1, {"big": tokens(800, 100), "small": tokens(None, 10)})).setups["new"]

    assert {name: (use.tokens, use.share) for name, use in setup.models.items()} == {
        "big": (900, None),
        "small": (None, None),
    }


def test_the_table_and_the_json_name_each_model() -> None:
    comparison = seen(metered("new", 1, WORK_AND_TITLE))

    (table,) = model_blocks(comparison.setups)
    assert isinstance(table, Table)
    assert table.rows == (("big", "none", "90 % (1 run)"), ("small", "none", "10 % (1 run)"))
    told = msgspec.to_builtins(observed_setup_payload(comparison))["new"]["models"]
    assert told == [
        {"name": "big", "runs": 1, "tokens": 900, "share": 0.9},
        {"name": "small", "runs": 1, "tokens": 100, "share": 0.1},
    ]


def test_there_is_no_table_where_nothing_was_metered() -> None:
    assert model_blocks(seen(a_run("task-1", "new")).setups) == []


def test_a_run_s_own_models_are_shown_with_their_tokens() -> None:
    assert list(run_model_rows(WORK_AND_TITLE)) == [
        ("big", "800", "100", "0", "0", "90 %"),
        ("small", "90", "10", "0", "0", "10 %"),
    ]
