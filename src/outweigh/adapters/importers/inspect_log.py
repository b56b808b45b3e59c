"""One log of Inspect, as a zip (`.eval`) or as JSON: its header, and its samples one by one, summaries first."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.adapters.importers.inspect_summary import Summary, read_summaries
from outweigh.adapters.importers.source_text import as_utf8, head, read_bytes
from outweigh.adapters.importers.zip_members import Archive, archive
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.foreign import mapping, sequence
from outweigh.transcript.json_lines import decode_json

Sample = dict[str, Any]

_ZIP_MARK = b"PK\x03\x04"
_FIRST_MEMBER = re.compile(rb"_journal/start\.json|header\.json")
_JSON_MARK = re.compile(rb'^\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"(started|success|cancelled|error)"')
_SUMMARIES = re.compile(r"_journal/summaries/(\d+)\.json")


class _Whole(msgspec.Struct):
    """A JSON log whose samples stay text until it is their turn: most of them is messages nobody asks for here."""

    status: Any = None
    eval: Any = None
    plan: Any = None
    results: Any = None
    samples: list[msgspec.Raw] | None = None


class _Measured(msgspec.Struct, omit_defaults=True):
    """What is read of a whole sample; messages and events are passed over."""

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
    """`header` is what the log says about itself; `finished` is False where it broke off before it was written.

    `samples` come one by one, or many at a time where their summaries are plain.
    """

    path: Path
    header: dict[str, Any]
    finished: bool
    samples: Iterator[Sample | Sequence[Summary]]


def is_inspect_log(path: Path) -> bool:
    """By its first bytes; no other program begins its files so."""
    start = head(path, 4096)
    if path.suffix == ".eval":
        return start.startswith(_ZIP_MARK) and _FIRST_MEMBER.match(start[30:]) is not None
    return path.suffix == ".json" and _JSON_MARK.match(start) is not None


@contextmanager
def inspect_log(path: Path, notes: ImportNotes) -> Iterator[InspectLog]:
    """A log to read; one that is neither form is an EvidenceError."""
    if not head(path, 4).startswith(_ZIP_MARK):
        yield _json_log(path, notes)
        return
    with archive(path) as opened:
        finished = "header.json" in opened.members
        start = "header.json" if finished else "_journal/start.json"
        if start not in opened.members:
            raise EvidenceError(f"{path} is an archive, but not a log of Inspect: it has no header.")
        try:
            header = mapping(decode_json(opened.read(start)))
        except ValueError as fault:
            raise EvidenceError(f"{path}: {start!r} is not valid JSON: {fault}.") from None
        yield InspectLog(path=path, header=header, finished=finished, samples=_archived_samples(opened, notes))


def _archived_samples(opened: Archive, notes: ImportNotes) -> Iterator[Sample | Sequence[Summary]]:
    """The summaries say nearly all; a sample is opened where it has no summary, or an old one without figures."""
    read: set[str] = set()
    for part in _summary_members(opened.members.names):
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
    for member in opened.members.names:
        if member not in read and member.startswith("samples/") and member.endswith(".json"):
            whole = _whole_sample(opened, member, notes)
            if whole is not None:
                yield whole


def _summary_members(members: Collection[str]) -> list[str]:
    if "summaries.json" in members:
        return ["summaries.json"]
    parts = {int(found[1]): name for name in members if (found := _SUMMARIES.fullmatch(name))}
    return [parts[number] for number in sorted(parts)]


def _whole_sample(opened: Archive, member: str, notes: ImportNotes) -> Sample | None:
    try:
        return _measured(opened.read(member))
    except (EvidenceError, ValueError) as fault:
        notes.unread(f"{opened.path}!{member}", 0, str(fault))
        return None


def _measured(content: bytes) -> Sample:
    try:
        found: Sample = msgspec.to_builtins(msgspec.json.decode(content, type=_Measured))
    except (ValueError, RecursionError):
        found = mapping(decode_json(content))
    return found


def _texts(samples: list[msgspec.Raw], path: Path, notes: ImportNotes) -> Iterator[Sample]:
    for number, sample in enumerate(samples, start=1):
        try:
            yield _measured(bytes(sample))
        except ValueError as fault:
            notes.unread(path, 0, f"sample {number} is not valid JSON: {fault}")


def _json_log(path: Path, notes: ImportNotes) -> InspectLog:
    content = as_utf8(read_bytes(path), path, notes)
    try:
        whole = msgspec.json.decode(content, type=_Whole)
        header = {name: getattr(whole, name) for name in ("status", "eval", "plan", "results")}
        samples: Iterator[Sample] = _texts(whole.samples or [], path, notes)
    except (ValueError, RecursionError):
        try:
            header = mapping(decode_json(content))
        except ValueError as fault:
            raise EvidenceError(f"{path} is not valid JSON: {fault}.") from None
        samples = iter([mapping(sample) for sample in sequence(header.pop("samples", None))])
    if not mapping(header.get("eval")):
        raise EvidenceError(f"{path} is not a log of Inspect: it does not say what was evaluated.")
    return InspectLog(path=path, header=header, finished=header.get("status") != "started", samples=samples)
