"""One log of Inspect, as a zip (`.eval`) or as JSON: its header, and its samples one by one, summaries first.

Summaries of the usual form are decoded and checked in one step, many at a time; any other is read field by field.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.errors import EvidenceError
from outweigh.interop.result_files import read_bytes, read_head, to_utf8
from outweigh.model.base import Amount, Count, Ordinal
from outweigh.model.json_text import decode_json
from outweigh.model.untrusted_json import NAME_LENGTH_LIMIT, as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.ports.importers import ImportNotes
from outweigh.store.zip_archive import ZipArchive, open_archive

_BLOCK_SAMPLES = 200
"""Enough that the cost per block is negligible, and few enough for a processor's cache."""

SUMMARY_CHARACTERS = 5000
"""Inspect cuts the texts of summaries a little beyond this."""

_ScoreValue = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float | str | bool | None
"""A value that is kept as it is; larger integers could not be encoded again."""


class SampleScore(msgspec.Struct, frozen=True, gc=False):
    """What a scorer found, without its explanation."""

    value: _ScoreValue | dict[str, _ScoreValue] = None
    """Any JSON value in a summary that was read field by field."""


class SampleSummary(msgspec.Struct, frozen=True, gc=False):
    """All that a run is made of. Decoding accepts only the usual form, with the figures that older summaries lack."""

    id: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | str
    epoch: Ordinal
    model_usage: dict[str, dict[str, _ScoreValue]] | None
    input: Any = None
    target: str | list[str] | None = None
    scores: dict[Annotated[str, Meta(min_length=1)], SampleScore] | None = None
    error: Annotated[str, Meta(min_length=1)] | None = None
    limit: Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_LIMIT)] | None = None
    started_at: Any = None
    total_time: Amount | None = None
    working_time: Amount | None = None
    turn_count: Count | None = None
    uuid: Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_LIMIT)] | None = None
    completed: bool | None = None


_decode_summaries = msgspec.json.Decoder(list[SampleSummary]).decode
_decode_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_summary = msgspec.json.Decoder(SampleSummary).decode
_DECODE_ERRORS = (ValueError, msgspec.MsgspecError, RecursionError)


def summarize_sample(sample: Mapping[str, Any]) -> SampleSummary | None:
    """The summary of any sample; None if it does not state its id and epoch."""
    sample_id, epoch = sample.get("id"), as_count(sample.get("epoch"))
    if not isinstance(sample_id, str | int) or isinstance(sample_id, bool) or not epoch:
        return None
    scores = {
        key: SampleScore(as_dict(score).get("value")) for key, score in as_dict(sample.get("scores")).items() if key
    }
    limit = sample.get("limit")
    return SampleSummary(
        id=sample_id,
        epoch=epoch,
        model_usage=as_dict(sample.get("model_usage")),
        input=sample.get("input"),
        target=sample.get("target"),
        scores=scores,
        error=_error_text(sample.get("error")),
        limit=as_name(limit) or as_name(as_dict(limit).get("type")),
        started_at=sample.get("started_at"),
        total_time=as_amount(sample.get("total_time")),
        working_time=as_amount(sample.get("working_time")),
        turn_count=as_count(sample.get("turn_count")),
        uuid=as_name(sample.get("uuid")),
        completed=sample.get("completed") is not False,
    )


def _error_text(error: object) -> str | None:
    """The error message; None if there is no error."""
    said = as_str(error) or as_str(as_dict(error).get("message"))
    return None if said is None and not as_dict(error) else said or "error"


def read_summaries(content: bytes, place: str) -> Iterator[Sequence[SampleSummary] | dict[str, Any]]:
    """Summaries in order: those of the usual form in blocks, any other as a dict of its own."""
    try:
        plain = _decode_summaries(content)
    except _DECODE_ERRORS:
        yield from _one_by_one(content, place)
        return
    for start in range(0, len(plain), _BLOCK_SAMPLES):
        yield plain[start : start + _BLOCK_SAMPLES]


def _one_by_one(content: bytes, place: str) -> Iterator[Sequence[SampleSummary] | dict[str, Any]]:
    plain: list[SampleSummary] = []
    for piece in _summary_texts(content, place):
        try:
            plain.append(_decode_summary(piece))
            continue
        except _DECODE_ERRORS:
            if plain:
                yield plain
                plain = []
        yield as_dict(_lenient_value(piece, place))
    if plain:
        yield plain


def _summary_texts(content: bytes, place: str) -> list[bytes]:
    """The encoded summaries; a document that only the lenient decoder accepts is encoded again."""
    with suppress(*_DECODE_ERRORS):
        return [bytes(each) for each in _decode_raw_list(content)]
    return [msgspec.json.encode(each) for each in as_list(_lenient_value(content, place))]


def _lenient_value(content: bytes, place: str) -> Any:
    try:
        return decode_json(content)
    except ValueError as fault:
        raise EvidenceError(f"{place} is not valid JSON: {fault}.") from None


_RawSample = dict[str, Any]

_ZIP_MARK = b"PK\x03\x04"
_SUMMARY_MEMBER = re.compile(r"_journal/summaries/(\d+)\.json")


class _JsonLog(msgspec.Struct):
    """A JSON log whose samples are decoded one by one, because most of each is messages that are not needed here."""

    status: Any = None
    eval: Any = None
    plan: Any = None
    results: Any = None
    samples: list[msgspec.Raw] | None = None


class _SampleFigures(msgspec.Struct, omit_defaults=True):
    """What is read of a whole sample; messages and events are skipped."""

    id: Any = None
    epoch: Any = None
    input: Any = None
    target: Any = None
    scores: Any = None
    error: Any = None
    limit: Any = None
    model_usage: Any = None
    role_usage: Any = None
    started_at: Any = None
    total_time: Any = None
    working_time: Any = None
    turn_count: Any = None
    uuid: Any = None
    completed: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectLog:
    """An open log. `header` is what it states about itself; `finished` is False if it was not completed.

    `samples` come one by one, or in blocks if their summaries have the usual form. `find_sample` gives the whole text
    of a sample by its id and epoch, None if the log does not hold it.
    """

    path: Path
    header: dict[str, Any]
    finished: bool
    samples: Iterator[_RawSample | Sequence[SampleSummary]]
    find_sample: Callable[[str | int, int], bytes | None]


@contextmanager
def open_inspect_log(path: Path, notes: ImportNotes) -> Iterator[InspectLog]:
    """Open a log; EvidenceError if it has neither form."""
    if not read_head(path, 4).startswith(_ZIP_MARK):
        yield _open_json_log(path, notes)
        return
    with open_archive(path) as opened:
        finished = "header.json" in opened.members
        start = "header.json" if finished else "_journal/start.json"
        if start not in opened.members:
            raise EvidenceError(f"{path} is an archive, but not a log of Inspect: it has no header.")
        try:
            header = as_dict(decode_json(opened.read(start)))
        except ValueError as fault:
            raise EvidenceError(f"{path}: {start!r} is not valid JSON: {fault}.") from None
        yield InspectLog(
            path=path,
            header=header,
            finished=finished,
            samples=_archived_samples(opened, notes),
            find_sample=partial(_find_member, opened),
        )


def _find_member(opened: ZipArchive, sample_id: str | int, epoch: int) -> bytes | None:
    member = f"samples/{sample_id}_epoch_{epoch}.json"
    try:
        return opened.read(member) if member in opened.members else None
    except EvidenceError:
        return None


def _archived_samples(opened: ZipArchive, notes: ImportNotes) -> Iterator[_RawSample | Sequence[SampleSummary]]:
    """The samples of an archive. One is opened only if it has no summary, or an old one without figures."""
    read: set[str] = set()
    for part in _summary_members(opened.members):
        for found in read_summaries(opened.read(part), f"{opened.path}: {part!r}"):
            if not isinstance(found, dict):
                read.update([f"samples/{summary.id}_epoch_{summary.epoch}.json" for summary in found])
                yield found
                continue
            member = f"samples/{found.get('id')}_epoch_{found.get('epoch')}.json"
            if "model_usage" in found or member in read or member not in opened.members:
                yield found
            elif (whole := _whole_sample(opened, member, notes)) is not None:
                yield whole | {name: value for name, value in found.items() if value is not None}
            read.add(member)
    for member in opened.members:
        if member not in read and member.startswith("samples/") and member.endswith(".json"):
            whole = _whole_sample(opened, member, notes)
            if whole is not None:
                yield whole


def _summary_members(members: Collection[str]) -> list[str]:
    if "summaries.json" in members:
        return ["summaries.json"]
    parts = {int(found[1]): name for name in members if (found := _SUMMARY_MEMBER.fullmatch(name))}
    return [parts[number] for number in sorted(parts)]


def _whole_sample(opened: ZipArchive, member: str, notes: ImportNotes) -> _RawSample | None:
    try:
        return _read_figures(opened.read(member))
    except (EvidenceError, ValueError) as fault:
        notes.unread(f"{opened.path}!{member}", 0, str(fault))
        return None


def _read_figures(content: bytes) -> _RawSample:
    try:
        found: _RawSample = msgspec.to_builtins(msgspec.json.decode(content, type=_SampleFigures))
    except (ValueError, RecursionError):
        found = as_dict(decode_json(content))
    return found


def _sample_texts(samples: list[msgspec.Raw], path: Path, notes: ImportNotes) -> Iterator[_RawSample]:
    for number, sample in enumerate(samples, start=1):
        try:
            yield _read_figures(bytes(sample))
        except ValueError as fault:
            notes.unread(path, 0, f"sample {number} is not valid JSON: {fault}")


def _open_json_log(path: Path, notes: ImportNotes) -> InspectLog:
    content = to_utf8(read_bytes(path), path, notes)
    try:
        whole = msgspec.json.decode(content, type=_JsonLog)
        header = {name: getattr(whole, name) for name in ("status", "eval", "plan", "results")}
        held: Sequence[msgspec.Raw | _RawSample] = whole.samples or []
        samples: Iterator[_RawSample] = _sample_texts(whole.samples or [], path, notes)
    except (ValueError, RecursionError):
        try:
            header = as_dict(decode_json(content))
        except ValueError as fault:
            raise EvidenceError(f"{path} is not valid JSON: {fault}.") from None
        listed = [as_dict(sample) for sample in as_list(header.pop("samples", None))]
        held, samples = listed, iter(listed)
    if not as_dict(header.get("eval")):
        raise EvidenceError(f"{path} is not a log of Inspect: it does not say what was evaluated.")
    return InspectLog(
        path=path,
        header=header,
        finished=header.get("status") != "started",
        samples=samples,
        find_sample=_SampleTexts(held).find,
    )


class _SampleTexts:
    """The samples of a JSON log by id and epoch, which are looked up when one is first asked for."""

    def __init__(self, samples: Sequence[msgspec.Raw | _RawSample]) -> None:
        self._samples = samples

    @cached_property
    def _by_key(self) -> Mapping[tuple[str, str], msgspec.Raw | _RawSample]:
        found = {}
        for sample in self._samples:
            with suppress(ValueError):
                figures = sample if isinstance(sample, dict) else _read_figures(bytes(sample))
                found[str(figures.get("id")), str(figures.get("epoch"))] = sample
        return found

    def find(self, sample_id: str | int, epoch: int) -> bytes | None:
        """The text of a sample."""
        sample = self._by_key.get((str(sample_id), str(epoch)))
        return msgspec.json.encode(sample) if isinstance(sample, dict) else None if sample is None else bytes(sample)
