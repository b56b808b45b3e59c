"""What is read of a sample in a log of Inspect: checked while it is decoded where it is plain, else bit by bit."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.errors import EvidenceError
from outweigh.record.stored import Amount, Count, Ordinal
from outweigh.transcript.foreign import LONGEST_NAME, amount, count, mapping, name, sequence, text
from outweigh.transcript.json_lines import decode_json

_BLOCK_SAMPLES = 200
"""So many that what is done once per block counts for nothing, and few enough for a processor's cache."""

_Cell = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | str | bool | None
"""What is kept as it is; larger numbers could not be written again."""


class Score(msgspec.Struct, frozen=True, gc=False):
    """What a scorer found; its explanations stay where they are."""

    value: _Cell = None
    """Where it is not plain, whatever else JSON can hold."""


class Summary(msgspec.Struct, frozen=True, gc=False):
    """All that a run is made of. What is decoded as one is plain, and has the figures that older ones leave out."""

    id: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str
    epoch: Ordinal
    model_usage: dict[str, dict[str, _Cell]] | None
    input: Any = None
    target: str | list[str] | None = None
    scores: dict[Annotated[str, Meta(min_length=1)], Score] | None = None
    error: Annotated[str, Meta(min_length=1)] | None = None
    limit: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | None = None
    started_at: Any = None
    total_time: Amount | None = None
    working_time: Amount | None = None
    turn_count: Count | None = None
    uuid: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | None = None
    completed: bool | None = None


_all = msgspec.json.Decoder(list[Summary]).decode
_each = msgspec.json.Decoder(list[msgspec.Raw]).decode
_one = msgspec.json.Decoder(Summary).decode
_UNFIT = (ValueError, msgspec.MsgspecError, RecursionError)


def summary_of(sample: Mapping[str, Any]) -> Summary | None:
    """What can be made out of any sample; None for one that does not say which it is."""
    sample_id, epoch = sample.get("id"), count(sample.get("epoch"))
    if not isinstance(sample_id, str | int) or isinstance(sample_id, bool) or not epoch:
        return None
    scores = {key: Score(mapping(score).get("value")) for key, score in mapping(sample.get("scores")).items() if key}
    limit = sample.get("limit")
    return Summary(
        id=sample_id,
        epoch=epoch,
        model_usage=mapping(sample.get("model_usage")),
        input=sample.get("input"),
        target=sample.get("target"),
        scores=scores,
        error=_error(sample.get("error")),
        limit=name(limit) or name(mapping(limit).get("type")),
        started_at=sample.get("started_at"),
        total_time=amount(sample.get("total_time")),
        working_time=amount(sample.get("working_time")),
        turn_count=count(sample.get("turn_count")),
        uuid=name(sample.get("uuid")),
        completed=sample.get("completed") is not False,
    )


def _error(error: object) -> str | None:
    """What went wrong, in its own words; None where nothing did."""
    said = text(error) or text(mapping(error).get("message"))
    return None if said is None and not mapping(error) else said or "error"


def read_summaries(content: bytes, place: str) -> Iterator[Sequence[Summary] | dict[str, Any]]:
    """Plain summaries many at a time, any other by itself as it stands, in their order."""
    try:
        plain = _all(content)
    except _UNFIT:
        yield from _one_by_one(content, place)
        return
    for start in range(0, len(plain), _BLOCK_SAMPLES):
        yield plain[start : start + _BLOCK_SAMPLES]


def _one_by_one(content: bytes, place: str) -> Iterator[Sequence[Summary] | dict[str, Any]]:
    plain: list[Summary] = []
    for piece in _texts(content, place):
        try:
            plain.append(_one(piece))
            continue
        except _UNFIT:
            if plain:
                yield plain
                plain = []
        yield mapping(_value(piece, place))
    if plain:
        yield plain


def _texts(content: bytes, place: str) -> list[bytes]:
    """The summaries as they stand; a text that only a lenient reader understands is written again."""
    with suppress(*_UNFIT):
        return [bytes(each) for each in _each(content)]
    return [msgspec.json.encode(each) for each in sequence(_value(content, place))]


def _value(content: bytes, place: str) -> Any:
    try:
        return decode_json(content)
    except ValueError as fault:
        raise EvidenceError(f"{place} is not valid JSON: {fault}.") from None
