"""Runs as columns are written byte for byte as the same runs one by one."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outweigh.interop.imported_run import imported_run, outcome_check, real_agent
from outweigh.model.codec import encode
from outweigh.model.packed_runs import pack_runs, unpack_runs
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost

PLAIN = imported_run(run_id="", task_id="", arm="", repeat=0)
CHECKED = replace(PLAIN, checks=(outcome_check("success", None),), cost=reported_cost(0.0))
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES: dict[str, list[Any]] = {
    "run_id": ["1", "é\n"],
    "trial.task_id": ['"', "t"],
    "trial.arm": ["a", "\u2028"],
    "trial.repeat": [0, 10**15],
}
COLUMNS: dict[str, list[Any]] = {
    "duration_seconds": [None, 1e-7],
    "usage.output_tokens": [None, 3],
    "cost.usd": [0.1, 1e12],
    "checks.passed": [None, False],
    "agent": [real_agent(), real_agent("codex", "1", "big")],
    "started_at": [START, None],
    "family": [None, "\\"],
}
CELLS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()


def written(runs: RunColumns) -> list[bytes]:
    return [*map(encode, runs.records())]


@given(st.sets(st.sampled_from(sorted(COLUMNS))), st.dictionaries(st.text(), st.tuples(CELLS, CELLS), max_size=3))
def test_any_columns_are_encoded_as_the_records_that_they_stand_for(
    places: set[str], own: dict[str, tuple[Any, Any]]
) -> None:
    runs = RunColumns(CHECKED, NAMES | {place: COLUMNS[place] for place in places}, own)

    assert runs.encoded() == written(runs)
    assert [run.extra for run in runs] == [{name: cells[row] for name, cells in own.items()} for row in (0, 1)]


@given(st.dictionaries(st.text(), st.tuples(CELLS, CELLS), max_size=2), st.lists(st.sampled_from(["x", "y", None])))
def test_labels_are_in_what_a_run_has_of_its_own(own: dict[str, tuple[Any, Any]], names: list[str | None]) -> None:
    labels = (names * 2)[:2] or ["x", "x"]
    runs = RunColumns(CHECKED, NAMES, own).labelled("label", labels)

    expected = [{name: cells[row] for name, cells in own.items() if name != "label"} for row in (0, 1)]
    expected = [
        each | ({} if label is None else {"label": label}) for each, label in zip(expected, labels, strict=True)
    ]
    assert runs.encoded() == written(runs)
    assert [{**run.extra, "label": None} for run in runs] == [{**each, "label": None} for each in expected]
    assert [run.extra["label"] for run, label in zip(runs, labels, strict=True) if label] == [*filter(None, labels)]
    packed = pack_runs(runs)
    assert packed is not None
    assert written(unpack_runs(packed)) == written(runs)


def test_columns_are_the_fields_of_the_records() -> None:
    first, second = RunColumns(CHECKED, NAMES | COLUMNS, {}).records()

    assert isinstance(second, RunRecord)
    assert (second.run_id, second.trial.task_id, second.trial.repeat) == ("é\n", "t", 10**15)
    assert (first.duration_seconds, second.duration_seconds) == (None, 1e-7)
    assert (second.usage.output_tokens, second.usage.input_tokens, second.cost) == (3, None, reported_cost(1e12))
    assert second.checks == (outcome_check("success", False),)
    assert (first.started_at, second.agent.name, second.family) == (START, "codex", "\\")


def test_a_label_that_only_some_runs_have_is_in_their_extra_alone() -> None:
    runs = RunColumns(PLAIN, NAMES, {"note": ["x", "y"]})

    some, all_ = runs.labelled("mark", [None, "m"]), runs.labelled("mark", ["m", "m"])

    assert [run.extra for run in some] == [{"note": "x"}, {"note": "y", "mark": "m"}]
    assert [run.extra for run in all_] == [{"note": "x", "mark": "m"}, {"note": "y", "mark": "m"}]
    assert (some.encoded(), all_.encoded()) == (written(some), written(all_))
