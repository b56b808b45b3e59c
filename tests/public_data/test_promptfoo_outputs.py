"""Real outputs of promptfoo in four versions: as many runs and successes as each file's own `stats`."""

from collections import Counter
from pathlib import Path

import pytest

from outweigh.interop.promptfoo import PromptfooImporter
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE
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

    found, notes = read_all(PromptfooImporter(), path)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert PromptfooImporter().recognises(path)
    assert Counter(run.extra["success"] for run in runs) == {True: successes}
    assert (notes.facts["successes"], notes.facts["failures"]) == (successes, failures)
    assert (len({run.trial.arm for run in runs}), len({run.trial.task_id for run in runs})) == (arms, tests)
    assert not notes.unreadable


def test_no_output_is_left_out(promptfoo_outputs: Path) -> None:
    assert {path.name for path in promptfoo_outputs.glob("*.json")} == STATED.keys()


PER_PROMPT = {
    "examples__simple-cli__output.json": {
        "prompt 1": (4, 2.5199999999999996e-05, 29, 87),
        "prompt 2": (4, 3.48e-05, 36, 103),
    },
    "test__server__v3evalToShare.json": {
        "prompt 1": (4, 2.5199999999999996e-05, 15, 87),
        "prompt 2": (4, 3.48e-05, 12, 103),
    },
    "test__server__v4evalToShare.json": {
        "prompt 1": (4, 2.5199999999999996e-05, 21, 87),
        "prompt 2": (4, 3.48e-05, 24, 103),
    },
}
"""`prompts[].metrics`: score, cost, totalLatencyMs, tokenUsage.cached. The older files have none."""


@pytest.mark.parametrize("output", PER_PROMPT)
def test_every_prompt_has_the_sums_that_the_file_states(output: str, promptfoo_outputs: Path) -> None:
    found, _ = read_all(PromptfooImporter(), promptfoo_outputs / output)

    sums: dict[str, tuple[float, float, float, int]] = {}
    for run in (run for run in found if isinstance(run, RunRecord)):
        prompt = run.trial.arm.rpartition(", ")[2]
        scores, dollars, milliseconds, cached = sums.get(prompt, (0.0, 0.0, 0.0, 0))
        sums[prompt] = (
            scores + run.extra["score"],
            dollars + (run.cost.usd or 0.0),
            milliseconds + run.extra["latency_ms"],
            cached + run.extra["token_usage"]["cached"],
        )
    assert sums == {prompt: pytest.approx(stated) for prompt, stated in PER_PROMPT[output].items()}


CACHED_TOKENS = {
    "examples__config-multishot__output.json": 486,
    "examples__provider-replicate__llama4-scout__output.json": 0,
    "examples__simple-cli__output.json": 190,
    "examples__simple-csv__output.json": 206,
    "examples__simple-test__output.json": 187,
    "test__server__v3evalToShare.json": 190,
}
"""`stats.tokenUsage.cached`; `prompt` and `completion` are 0 in all of them."""


@pytest.mark.parametrize("output", CACHED_TOKENS)
def test_all_tokens_came_from_promptfoos_cache_and_are_of_no_run(output: str, promptfoo_outputs: Path) -> None:
    found, _ = read_all(PromptfooImporter(), promptfoo_outputs / output)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert sum(run.extra.get("token_usage", {}).get("cached", 0) for run in runs) == CACHED_TOKENS[output]
    assert {run.usage for run in runs} == {NO_USAGE}
