"""Rows are found where a document has them: in arrays, and in maps whose keys name tasks and arms."""

from typing import Any

import pytest

from outweigh.interop.row_places import result_places, rows_at

RUN = {"success": True, "cost_usd": 0.1}
TASKS = {"one": RUN, "two": RUN, "three": RUN}


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"results": [{"task_id": "one", "success": True}]}, "results"),
        ({"summary": {"passed": 1}, "individual": TASKS}, "individual.*"),
        ({"opus": TASKS, "codex": TASKS}, "*.*"),
        ({"results": {"opus": TASKS, "codex": TASKS}}, "results.*.*"),
        ({"opus": {"one": True, "two": False}, "codex": {"one": True, "two": True}}, "*.*"),
        ({"by_agent": {"opus": {"one": [RUN], "two": [RUN]}, "codex": {"one": [RUN], "two": [RUN]}}}, "by_agent.*.*"),
        ({"groups": [{"project": "x", "tasks": [{"task_id": "one", "passed": True}]}]}, "groups.tasks"),
    ],
)
def test_the_place_with_results_is_found(document: dict[str, Any], place: str) -> None:
    assert result_places(document) == [place]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"config": {"model": "x"}, "results": {"accuracy": 0.5}},
        {"results": [{"task_id": "one", "score": 0.25}]},
        {"results": [{"model": "x", "passed": True}]},
        {"is_public": True, "is_done": False},
    ],
)
def test_what_names_no_task_or_no_result_is_no_place(document: dict[str, Any]) -> None:
    assert result_places(document) == []


def test_checks_within_a_run_are_not_taken_for_runs() -> None:
    run = {"task_id": "one", "success": True, "checks": [{"name": "a", "passed": True}, {"name": "b", "passed": False}]}

    assert result_places({"runs": [run]}) == ["runs"]


def test_keys_become_columns_and_outcomes_values() -> None:
    document = {"version": 2, "opus": {"one": True, "two": False}}

    assert list(rows_at(document, "*.*")) == [
        {"version": 2, "key": "opus", "key2": "one", "value": True},
        {"version": 2, "key": "opus", "key2": "two", "value": False},
    ]


def test_a_document_that_is_nested_without_end_is_given_up() -> None:
    document: dict[str, Any] = {"task_id": "one", "success": True}
    for _ in range(200):
        document = {"within": [document]}

    assert result_places(document) == []
