"""The totals of a log: epochs are averaged first, then samples, and an incomplete sum of tokens is none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from outweigh.interop.inspect_ai.exporter import LogTotals


def a_sample(task: str, outcome: str | None, tokens: int | None = 10, **fields: Any) -> dict[str, Any]:
    sample: dict[str, Any] = {"id": task, "metadata": {"status": "completed"}}
    if outcome is not None:
        sample["scores"] = {"passed": {"value": outcome}}
    if tokens is not None:
        sample["model_usage"] = {"model": {"input_tokens": tokens, "total_cost": 0.5}}
    return sample | fields


def figures_of(*samples: dict[str, Any]) -> LogTotals:
    figures = LogTotals()
    for sample in samples:
        figures.add(sample)
    return figures


def test_samples_weigh_the_same_however_often_they_were_tried() -> None:
    figures = figures_of(a_sample("one", "C"), a_sample("one", "C"), a_sample("one", "I"), a_sample("two", "I"))

    (score,) = figures.results()["scores"]

    # By hand: means 2/3 and 0; their mean 1/3; their deviation (2/3)/sqrt 2, over sqrt 2.
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(1 / 3)
    assert score["metrics"]["stderr"]["value"] == pytest.approx(1 / 3)
    assert figures.reductions() == [
        {
            "scorer": "passed",
            "reducer": "mean",
            "samples": [{"sample_id": "one", "value": pytest.approx(2 / 3)}, {"sample_id": "two", "value": 0.0}],
        }
    ]


def test_errors_and_unknown_outcomes_are_counted_and_left_out() -> None:
    broken = a_sample("one", None, error={"message": "it broke"})

    results = figures_of(broken, a_sample("two", "C"), a_sample("three", None)).results()

    assert (results["total_samples"], results["completed_samples"]) == (3, 2)
    assert (results["scores"][0]["scored_samples"], results["scores"][0]["unscored_samples"]) == (1, 2)
    assert results["scores"][0]["metrics"]["accuracy"]["value"] == 1.0


def test_where_no_outcome_is_known_there_is_no_figure() -> None:
    figures = figures_of(a_sample("one", None))

    assert figures.results()["scores"] == []
    assert figures.reductions() == []


def test_tokens_are_summed_where_every_sample_tells_them() -> None:
    known = figures_of(a_sample("one", "C"), a_sample("two", "C", 5))
    not_run = figures_of(a_sample("one", "C"), a_sample("two", None, None, metadata={"status": "not_run"}))
    partly = figures_of(a_sample("one", "C"), a_sample("two", "C", None))

    assert known.usage == {"model": {"input_tokens": 15, "total_cost": 1.0}}
    assert not_run.usage == {"model": {"input_tokens": 10, "total_cost": 0.5}}
    assert partly.usage == {}


def test_a_cost_that_one_sample_does_not_know_is_no_part_of_the_sum() -> None:
    costless = a_sample("two", "C") | {"model_usage": {"model": {"input_tokens": 1}}}

    assert figures_of(a_sample("one", "C"), costless).usage == {"model": {"input_tokens": 11}}


def test_the_end_is_that_of_the_last_sample_where_all_ends_are_known() -> None:
    early = a_sample("one", "C", started_at="2026-05-01T10:00:00+00:00", total_time=3600.0)
    late = a_sample("two", "C", started_at="2026-05-01T10:30:00+00:00", total_time=60.0)

    assert figures_of(early, late).completed_at == datetime(2026, 5, 1, 11, tzinfo=UTC)
    assert figures_of(early, a_sample("three", "C")).completed_at is None
    assert figures_of(early, a_sample("three", None, metadata={"status": "not_run"})).completed_at is not None
