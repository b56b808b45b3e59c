"""Ingest: from a line of JSON to a validated record, against pydantic models that check the same."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from benchmarks.measure import median_seconds
from benchmarks.pydantic_records import PydanticRun
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import lines
from outweigh.model.codec import decode, decode_lines, refuse_invalid

Lines = Sequence[bytes]

_ROUNDS = 9


def measure(_: Setting) -> list[Ratio]:
    """Records as most harnesses write them, then records that hold everything."""
    return [
        *_decoding("a record", lines(5_000, steps=0)),
        *_decoding("a record with 20 steps", lines(500, steps=20)),
    ]


def _decoding(what: str, batch: Lines) -> list[Ratio]:
    _require_agreement(batch)
    seconds = median_seconds(
        {reader.__name__: partial(reader, batch) for reader in (_ours, _loads_and_model, _model_from_json)}, _ROUNDS
    )
    per_record = {name: 1e6 * total / len(batch) for name, total in seconds.items()}

    def against(reader: Callable[[Lines], None], target: float | None, label: str) -> Ratio:
        theirs, ours = per_record[reader.__name__], per_record[_ours.__name__]
        note = f"{theirs:.1f} µs : {ours:.1f} µs per record"
        name = f"{label} : decode_lines, {what}"
        return Ratio(name=name, measured=theirs / ours, target=target, better="higher", note=note)

    return [
        against(_loads_and_model, 5, "json.loads and pydantic"),
        # pydantic's quickest way, for a reader who wonders whether the comparison is fair.
        against(_model_from_json, None, "pydantic's own JSON parser"),
    ]


def _ours(batch: Lines) -> None:
    deque(decode_lines(batch, "lines", refuse_invalid), maxlen=0)


def _loads_and_model(batch: Lines) -> None:
    for line in batch:
        PydanticRun.model_validate(json.loads(line))


def _model_from_json(batch: Lines) -> None:
    for line in batch:
        PydanticRun.model_validate_json(line)


def _require_agreement(batch: Lines) -> None:
    """A comparison of speed means something only when both sides read the same."""
    for line in batch[:100]:
        theirs = PydanticRun.model_validate(json.loads(line)).model_dump(by_alias=True)
        if msgspec.to_builtins(theirs) != msgspec.to_builtins(decode(line)):
            raise ValueError(f"pydantic and outweigh read this line differently: {line!r}")
