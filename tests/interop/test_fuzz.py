"""Whatever is done to a source, it is refused with a message or read: no other error, no hang, no invented number.

The default profile uses the same few examples every time; HYPOTHESIS_PROFILE=search looks for new ones.
"""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.interop.fuzz_sources import Sample, samples

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.importers import ImportNotes
from outweigh.testing.corrupt_source import corrupt_source_files, drop_figure, drop_value
from outweigh.testing.importer_contract import can_be_stored, invented_figures, is_silent_loss, limit_calls, read_all

SEARCHING = os.environ.get("HYPOTHESIS_PROFILE") == "search"
fuzzed = settings(
    max_examples=3000 if SEARCHING else 20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
rngs = st.randoms(use_true_random=False)
importers = pytest.mark.parametrize("name", adapter_names("importer"))


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """Load the modules of other tests first, because hypothesis allows no test within a test."""
    samples()


def read(sample: Sample, path: Path) -> tuple[list[RunRecord | Judgment], ImportNotes]:
    with limit_calls():
        found, notes = read_all(sample.importer, path, **sample.options)
    return [record for record in found if can_be_stored(record, notes)], notes


@cache
def readable(name: str) -> list[Sample]:
    """The samples that can be read unchanged; others would show nothing about what was removed."""
    return [sample for sample in samples()[name] if _reads(sample)]


def _reads(sample: Sample) -> bool:
    with TemporaryDirectory() as folder:
        try:
            read(sample, sample.source.write(Path(folder)))
        except (EvidenceError, UsageError):
            return False
    return True


@importers
def test_there_is_something_to_fuzz(name: str) -> None:
    assert readable(name), f"write a test of the contract for {name}; its example is what is fuzzed"


@importers
@fuzzed
@given(rng=rngs)
def test_a_broken_source_is_refused_in_a_sentence_or_read(name: str, rng: Random) -> None:
    sample = rng.choice(samples()[name])
    with TemporaryDirectory() as folder:
        path = corrupt_source_files(corrupt_source_files(sample.source, rng), rng).write(Path(folder))
        with limit_calls():
            assert sample.importer.recognises(path) in (True, False)
        with suppress(EvidenceError, UsageError):
            read(sample, path)


@importers
@fuzzed
@given(rng=rngs)
def test_where_a_number_is_taken_away_none_is_made_up(name: str, rng: Random) -> None:
    sample = rng.choice(readable(name))
    changed = drop_figure(sample.source, rng)
    with TemporaryDirectory() as folder:
        before, notes_before = read(sample, sample.source.write(Path(folder) / "before"))
        with suppress(EvidenceError, UsageError):
            if changed is None:
                return
            after, notes_after = read(sample, changed.write(Path(folder) / "after"))
            assert invented_figures(before, after, sample.alternatives) == []
            assert not is_silent_loss(len(before), len(after), notes_before, notes_after)


@importers
@fuzzed
@given(rng=rngs)
def test_where_anything_is_taken_away_no_run_is_lost_in_silence(name: str, rng: Random) -> None:
    sample = rng.choice(readable(name))
    changed = drop_value(sample.source, rng)
    with TemporaryDirectory() as folder:
        before, notes_before = read(sample, sample.source.write(Path(folder) / "before"))
        with suppress(EvidenceError, UsageError):
            if changed is None:
                return
            after, notes_after = read(sample, changed.write(Path(folder) / "after"))
            assert not is_silent_loss(len(before), len(after), notes_before, notes_after)


@importers
@settings(fuzzed, max_examples=1000 if SEARCHING else 5)
@given(rng=rngs)
def test_what_is_meant_for_another_is_refused_in_a_sentence_or_read(name: str, rng: Random) -> None:
    other = rng.choice(samples()[rng.choice(adapter_names("importer"))])
    sample = Sample(label=other.label, importer=load_adapter("importer", name), source=other.source, options={})
    with TemporaryDirectory() as folder:
        path = corrupt_source_files(sample.source, rng).write(Path(folder))
        with limit_calls(), suppress(EvidenceError, UsageError):
            sample.importer.recognises(path)
            read(sample, path)
