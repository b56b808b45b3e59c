"""Stores as `outweigh run` leaves them, without running anything."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import PolicySpec
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile


def write_store(folder: Path, runs: Iterable[RunRecord], arms: Iterable[str] | Mapping[str, str], **words: Any) -> str:
    """A folder with these records and what a suite says about them; the first arm is the baseline.

    Arms may come with their fingerprints.
    """
    folder.mkdir()
    (folder / "runs-engine.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    fingerprints = dict(arms) if isinstance(arms, Mapping) else dict.fromkeys(arms, "0")
    said = {
        "schema": "outweigh.experiment/1",
        "suite": "trial suite",
        "baseline": next(iter(fingerprints)),
        "seed": 1,
        "profile": "objective_first",
        "policy": PolicySpec(),
        "arms": fingerprints,
        "tiers": {},
        "tasks": {},
        "looked_at": None,
        **words,
    }
    (folder / EXPERIMENT_FILE).write_bytes(msgspec.json.encode(ExperimentFile(**said)))
    return str(folder)
