"""Real logs of Inspect: what is computed from the runs is what each log says about itself."""

from collections import defaultdict
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from outweigh.compare.arm_summary import summarise
from outweigh.compare.tabulate_arm import tabulate_arm
from outweigh.interop.inspect_ai.importer import InspectImporter
from outweigh.interop.inspect_ai.sample_reader import LETTER_CREDIT
from outweigh.model.run_record import RunRecord
from outweigh.stats.estimate import Unit
from outweigh.stats.means import mean_interval
from outweigh.testing.builders import evidence_of
from outweigh.testing.importer_contract import read_all

STATED = {
    "2024-11-05T13-31-45-05-00_input-task_8zXjbRzCWrL9GXiXo2vus9.json": (1, 1.0, 0.0),
    "2024-11-05T13-32-37-05-00_input-task_hxs4q9azL3ySGkjJirypKZ.eval": (1, 1.0, 0.0),
    "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval": (10, 0.8, 0.13333333333333333),
    "2025-05-12T20-27-36-04-00_browser.json": (1, 1.0, 0.0),
    "2025-05-12T20-28-13-04-00_popularity.json": (3, 0.6666666666666666, 0.33333333333333337),
    "2025-05-12T20-28-26-04-00_security-guide.json": (3, 1.0, 0.0),
    "log_formats.eval": (1, 0.0, 0.0),
    "log_formats.json": (1, 0.0, 0.0),
    "log_message_deduplication.eval": (1, 0.0, 0.0),
    "log_read_sample.eval": (1, 1.0, 0.0),
    "log_read_sample.json": (1, 1.0, 0.0),
    "log_streaming.eval": (4, 0.75, 0.25),
    "mmlu-no-summary-choices.eval": (1, 0.0, 0.0),
    "mmlu-summary-choices.eval": (1, 0.0, 0.0),
}
"""Runs, accuracy and standard error, as `results` of each log has them."""


@pytest.mark.parametrize("log", STATED)
def test_the_runs_give_the_accuracy_and_standard_error_of_the_log(log: str, inspect_logs: Path) -> None:
    found, notes = read_all(InspectImporter(), inspect_logs / log)

    runs, accuracy, error = STATED[log]
    by_sample = defaultdict(list)
    for run in found:
        assert isinstance(run, RunRecord)
        by_sample[run.trial.task_id].append(_share(next(iter(run.extra["scores"].values()))))
    values = [mean(repeats) for repeats in by_sample.values()]
    assert len(found) == runs
    assert mean(values) == pytest.approx(accuracy)
    assert (stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0) == pytest.approx(error)
    assert list(notes.facts.values()) == [accuracy, error]


@pytest.mark.parametrize("log", STATED)
def test_what_is_compared_has_the_accuracy_and_standard_error_of_the_log(log: str, inspect_logs: Path) -> None:
    """An error of 0, which Inspect states where samples do not differ or there is but one, is unknown here."""
    found, _ = read_all(InspectImporter(), inspect_logs / log)

    _, accuracy, error = STATED[log]
    (arm,) = {run.trial.arm for run in found if isinstance(run, RunRecord)}
    table = tabulate_arm(arm, evidence_of(found).arm(arm), composite=lambda _: None, composite_even=lambda _: None)
    estimate = mean_interval(table.mean_per_task("passed"), level=0.9, unit=Unit.TASK)
    assert summarise(table, (), ()).pass_rate.value == pytest.approx(accuracy)
    assert estimate.standard_error == (None if error == 0 else pytest.approx(error))


def test_no_log_is_left_out(inspect_logs: Path) -> None:
    """Of the other three, one was not scored, one has no samples, and one is an excerpt."""
    others = {
        "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval",
        "2025-05-12T20-28-13-04-00_no-samples.json",
        "log_tool_call_error.json",
    }

    assert {path.name for path in inspect_logs.iterdir()} == STATED.keys() | others


def test_an_excerpt_of_a_log_cannot_show_what_the_whole_one_states(inspect_logs: Path) -> None:
    """Stated are an accuracy of 1 and an error of 0 over 4 samples; there is 1, without a score."""
    (run,), notes = read_all(InspectImporter(), inspect_logs / "log_tool_call_error.json")

    assert isinstance(run, RunRecord)
    assert run.checks is None
    assert list(notes.facts.values()) == [1.0, 0.0]
    assert list(notes.warnings) == ["log_tool_call_error.json announces 4 samples and holds 1."]


def test_two_epochs_are_two_repeats(inspect_logs: Path) -> None:
    found, _ = read_all(InspectImporter(), inspect_logs / "log_streaming.eval")

    trials = sorted((run.trial.task_id, run.trial.repeat) for run in found if isinstance(run, RunRecord))
    assert trials == [("popularity/1", 1), ("popularity/1", 2), ("popularity/2", 1), ("popularity/2", 2)]


def test_samples_that_were_not_scored_are_unknown_and_not_failed(inspect_logs: Path) -> None:
    found, notes = read_all(
        InspectImporter(), inspect_logs / "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"
    )

    assert len(found) == 10
    assert {run.checks for run in found if isinstance(run, RunRecord)} == {None}
    assert not notes.facts


def test_a_log_without_samples_has_no_runs_and_its_figures_stay_sums(inspect_logs: Path) -> None:
    """It is the log of popularity without its samples, and states the same of them."""
    found, notes = read_all(InspectImporter(), inspect_logs / "2025-05-12T20-28-13-04-00_no-samples.json")

    assert not found
    assert notes.aggregates[0]["results"]["completed_samples"] == 3
    assert list(notes.facts.values()) == list(STATED["2025-05-12T20-28-13-04-00_popularity.json"][1:])


def test_tokens_read_from_the_cache_are_not_input_as_well(inspect_logs: Path) -> None:
    """The log counts 15,235 tokens of input, 9,088 of them read from the cache."""
    (run,), _ = read_all(InspectImporter(), inspect_logs / "2025-05-12T20-27-36-04-00_browser.json")

    assert isinstance(run, RunRecord)
    assert (run.usage.input_tokens, run.usage.cache_read_tokens) == (6147, 9088)


def _share(value: Any) -> float:
    return LETTER_CREDIT[value] if isinstance(value, str) else float(value)
