"""Real outputs of promptfoo in four versions: as many runs and successes as each file's own `stats`."""

from collections import Counter
from pathlib import Path

import pytest

from outweigh.adapters.importers.promptfoo import Promptfoo
from outweigh.record.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

STATED = {
    "examples__config-multishot__output.json": (8, 0, 2, 4),
    "examples__provider-replicate__llama4-scout__output.json": (10, 0, 2, 5),
    "examples__simple-cli__output.json": (8, 0, 2, 4),
    "examples__simple-csv__output.json": (8, 0, 2, 4),
    "examples__simple-test__output.json": (4, 0, 2, 2),
    "test__server__v3evalToShare.json": (8, 0, 2, 4),
    "test__server__v4evalToShare.json": (8, 0, 2, 4),
}
"""Successes and failures as `stats` (in the last file, `prompts[].metrics`) has them; then arms and tests."""


@pytest.mark.parametrize("output", STATED)
def test_the_runs_are_those_that_the_file_counts(output: str, promptfoo_outputs: Path) -> None:
    successes, failures, arms, tests = STATED[output]
    path = promptfoo_outputs / output

    found, notes = read_all(Promptfoo(), path)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert Promptfoo().recognises(path)
    assert Counter(run.extra["success"] for run in runs) == {True: successes}
    assert (notes.facts["successes"], notes.facts["failures"]) == (successes, failures)
    assert (len({run.trial.arm for run in runs}), len({run.trial.task_id for run in runs})) == (arms, tests)
    assert not notes.unreadable


def test_the_cost_of_a_prompt_is_the_sum_of_its_runs(promptfoo_outputs: Path) -> None:
    """`prompts[0].metrics.cost` is 0.0000252."""
    found, _ = read_all(Promptfoo(), promptfoo_outputs / "examples__simple-cli__output.json")

    costs = [run.cost.usd or 0.0 for run in found if isinstance(run, RunRecord) and run.trial.arm.endswith("prompt 1")]
    assert sum(costs) == pytest.approx(2.5199999999999996e-05)
