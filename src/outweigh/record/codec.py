"""Bytes to records and back: JSON Lines, one record per line, every fault with its place."""

from collections.abc import Callable, Iterable, Iterator
from shlex import quote
from typing import NamedTuple
from zlib import crc32

import msgspec

from outweigh.errors import EvidenceError
from outweigh.record.collected import from_collected, looks_collected
from outweigh.record.judgment import Judgment
from outweigh.record.preference import Preference
from outweigh.record.run_record import RunRecord
from outweigh.record.upgrade import upgrade

Record = RunRecord | Judgment | Preference

LINE_LIMIT = 1_000_000
"""A record's line is shorter than this many bytes; transcripts and diffs are artifacts, not fields."""

_CHECKSUM = b"\t#crc32:"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder(order="deterministic")


class Located(NamedTuple):
    """A record and the line it was read from."""

    record: Record
    source: str
    line: int


class InvalidLine(NamedTuple):
    """A line that holds no readable record, and why; line 0 is the source as a whole."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}{f':{self.line}' if self.line else ''}: {self.reason}"


OnInvalid = Callable[[InvalidLine], None]


def refuse(invalid: InvalidLine) -> None:
    """Stop at the first unreadable line; the strict answer for `on_invalid`. A first line may be no record of ours."""
    foreign = invalid.line == 1 and not invalid.source.startswith("<")
    hint = (
        f" If another harness wrote it, `outweigh import {quote(invalid.source)} -o RUNS` reads it." if foreign else ""
    )
    raise EvidenceError(
        f"{invalid}.{hint} Mend or remove that line, or pass --skip-invalid to go on without it "
        "(evidence with skipped lines never promotes)."
    )


def decode_lines(lines: Iterable[bytes], source: str, on_invalid: OnInvalid) -> Iterator[Located]:
    """Decode line after line. What cannot be read goes to `on_invalid`, which raises or takes note."""
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        if text.isspace() or not text:
            continue
        try:
            yield Located(decode(text), source, number)
        except (ValueError, msgspec.MsgspecError, RecursionError) as fault:
            on_invalid(InvalidLine(source, number, _explain(fault, text)))


def decode(line: bytes) -> Record:
    """Decode one line: a native record of any version, or a seed 000 run."""
    if len(line) >= LINE_LIMIT:
        raise ValueError(f"the line is {LINE_LIMIT:,} bytes or longer; keep long texts in artifacts, not in records")
    line = _verified(line)
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        raw = msgspec.json.decode(line)
        if not isinstance(raw, dict):
            raise ValueError("expected a JSON object with one run record") from None
        if "schema" in raw:
            current: Record = msgspec.convert(upgrade(raw), Record)
            return current
        if looks_collected(raw):
            return from_collected(raw)
        raise ValueError(
            "not a run record: it has neither a 'schema' (outweigh's own) nor task_id, arm and repeat (collected.jsonl)"
        ) from None


def encode(record: Record) -> bytes:
    """Write one record as one canonical line, without the line feed."""
    return _encoder.encode(record)


def _explain(fault: Exception, line: bytes) -> str:
    if isinstance(fault, RecursionError):
        return "the record is nested too deeply"
    if not _is_utf8(line):
        return "not UTF-8 text"
    return _explain_syntax(fault, line) if _is_syntax(fault) else str(fault)


def seal(line: bytes) -> bytes:
    """A record's line with its checksum and line feed, so that a torn or damaged one is known for what it is."""
    return b"%b%b%08x\n" % (line, _CHECKSUM, crc32(line))


def _verified(line: bytes) -> bytes:
    """The record without its checksum, where it has one; JSON never holds a raw tab, so the mark is unmistakable."""
    content, mark, checksum = line.rstrip(b"\r\n").rpartition(_CHECKSUM)
    if not mark:
        return line
    if b"%08x" % crc32(content) != checksum:
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return content


def _is_syntax(fault: Exception) -> bool:
    return isinstance(fault, msgspec.DecodeError) and not isinstance(fault, msgspec.ValidationError)


def _explain_syntax(fault: Exception, line: bytes) -> str:
    if b"NaN" in line or b"Infinity" in line:
        return "JSON has no NaN or Infinity; write null where a number is unknown"
    return f"not valid JSON ({fault})" if line.endswith(b"\n") else "the file ends in the middle of a record"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
