"""Summaries decoded in blocks become the same runs as summaries read field by field."""

import json
import random
from typing import Any

import msgspec
import pytest
from tests.interop.inspect_ai.inspect_logs import summary

from outweigh.errors import EvidenceError
from outweigh.interop.inspect_ai.log_reader import SampleSummary, read_summaries, summarize_sample
from outweigh.interop.inspect_ai.sample_reader import LogContext, sample_runs
from outweigh.model.json_text import decode_json
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_dict
from outweigh.ports.importers import ImportNotes

EVALUATION = LogContext(
    task="sums", arm="a", arm_fingerprint="f", run="e1", solver="generate", model="m", scorer="match", repeats_before=2
)
USAGE = {"input_tokens": 60, "output_tokens": 5, "total_tokens": 65, "input_tokens_cache_read": 50, "total_cost": 0.25}
ODD: tuple[Any, ...] = (
    *(None, "", "C", "P", "yes", "nan", "x" * 600, 0, 1, -1, 1.0, -0.0, 0.0, 0.5, 2.5, 10**16, 2**63, 10**30),
    *(True, False, [], [1], {}, {"type": "time"}, {"message": "broke"}, {"match": {"value": 1}}, {"m": USAGE}),
    *({"match": {"value": [1]}}, {"match": {"value": 10**30}}, {"": {"value": 1}}, "2026-01-01T00:00:00", 1.7e9),
)


def patiently(content: bytes) -> tuple[list[RunRecord], ImportNotes]:
    notes = ImportNotes()
    found = [summarize_sample(as_dict(sample)) for sample in decode_json(content)]
    return [run for each in found if each is not None for run in sample_runs([each], EVALUATION, notes)], notes


def quickly(content: bytes) -> tuple[list[RunRecord], ImportNotes]:
    notes, runs = ImportNotes(), []
    for found in read_summaries(content, "here"):
        known = summarize_sample(found) if isinstance(found, dict) else None
        block = [known] if known is not None else [] if isinstance(found, dict) else found
        runs += sample_runs(block, EVALUATION, notes) if block else []
    return runs, notes


def odd_summary(rng: random.Random, number: int) -> dict[str, Any]:
    found = summary(number, error=None, limit=None, uuid=f"u{number}", completed=True, metadata={"a": [number]})
    for name in rng.sample(sorted(found), rng.choice((0, 1, 2))):
        if rng.random() < 0.2:
            del found[name]
        else:
            found[name] = rng.choice(ODD)
    return found


def written(samples: list[dict[str, Any]]) -> bytes:
    """Samples as JSON, with integers of any size."""
    return json.dumps(samples).encode()


@pytest.mark.parametrize("seed", range(40))
def test_odd_summaries_become_the_same_runs_and_warnings(seed: int) -> None:
    rng = random.Random(seed)
    content = written([odd_summary(rng, number) for number in range(1, 30)])

    quick, patient = quickly(content), patiently(content)

    assert quick[0] == patient[0]
    assert quick[1] == patient[1]


def test_plain_summaries_are_read_many_at_a_time() -> None:
    content = written([summary(number, model_usage={"m": USAGE}) for number in range(450)])

    blocks = list(read_summaries(content, "here"))

    assert all(isinstance(each, SampleSummary) for block in blocks for each in block)
    assert sum(map(len, blocks)) == 450
    assert len(blocks) < 10
    assert quickly(content) == patiently(content)


def test_one_odd_summary_leaves_its_neighbours_together() -> None:
    samples = [summary(number) for number in range(20)]
    samples[7]["error"] = {"message": "broke"}

    blocks = list(read_summaries(written(samples), "here"))

    assert [isinstance(block, dict) or len(block) for block in blocks] == [7, True, 12]


@pytest.mark.parametrize("content", [b"[{", b"", b'[{"id": 1}, nonsense]'])
def test_what_is_no_json_is_refused_with_its_place(content: bytes) -> None:
    with pytest.raises(EvidenceError, match="here is not valid JSON"):
        list(read_summaries(content, "here"))


@pytest.mark.parametrize("content", [b"{}", b"null", b"[]", b"3"])
def test_what_is_no_list_holds_no_summary(content: bytes) -> None:
    assert not list(read_summaries(content, "here"))


def test_what_only_a_lenient_reader_understands_is_read_too() -> None:
    content = msgspec.json.encode([summary(1), summary(2)]).replace(b"2.5", b"NaN")

    runs, _ = quickly(content)

    assert [run.extra.get("total_time", "unknown") for run in runs] == ["unknown", "unknown"]
