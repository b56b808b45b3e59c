"""Records to bytes and back: JSON Lines with checksums, schema upgrades, and hashes of records.

Every line that cannot be read is reported with its place and the reason. A store accepts lines of
`collected.jsonl`, one flat object per run, beside its own records.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from shlex import quote
from typing import NamedTuple

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.base import Amount, Count, Json, Moment, Name, Ordinal, RunId, Stored
from outweigh.model.choice import ChoiceRecord
from outweigh.model.failure import Status
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.line_seal import CHECKSUM_KEY, unseal
from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, RunRecord, Trial
from outweigh.model.usage import Usage, reported_cost

INFRASTRUCTURE_EXIT = 86
NOT_RUN_EXIT = 99


class CollectedRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The seed's field names. What the file leaves out is unknown, not 0."""

    task_id: Name
    arm: Name
    repeat: Count
    success: bool | None = None
    duration_seconds: Amount | None = None
    total_cost_usd: Amount | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    run_id: Name | None = None
    opencode_exit_code: int | None = None
    acceptance_exit_code: int | None = None
    setup_exit_code: int | None = None
    arm_setup_exit_code: int | None = None
    step_count: Count | None = None
    tool_call_count: Count | None = None
    acceptance_cmd_count: Count | None = None
    family: Name | None = None


_FIELDS = frozenset(CollectedRun.__struct_fields__)
_REQUIRED = frozenset({"task_id", "arm", "repeat"})


def looks_collected(raw: Json) -> bool:
    """Tell a seed 000 record from any other JSON object by the coordinates it must have."""
    return raw.keys() >= _REQUIRED


def from_collected(raw: Json) -> RunRecord:
    """Turn one decoded seed 000 object into a run record; fields the seed does not name go to `extra`."""
    run = msgspec.convert({name: raw[name] for name in raw.keys() & _FIELDS}, CollectedRun)
    return RunRecord(
        run_id=run.run_id or f"{run.task_id}/{run.arm}/{run.repeat}",
        trial=Trial(task_id=run.task_id, arm=run.arm, repeat=run.repeat, seed=None),
        attempt=1,
        status=_status(run),
        status_detail=None,
        # The format is written by a harness that drives an agent; it has no way to say otherwise.
        agent=AgentIdentity(kind=AgentKind.REAL, name=None, version=None, model=None),
        arm_fingerprint=None,
        task_checksum=None,
        family=run.family,
        position=None,
        started_at=None,
        duration_seconds=run.duration_seconds,
        setup_seconds=None,
        checks_seconds=None,
        usage=Usage(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            cache_read_tokens=run.cache_read_tokens,
            cache_write_tokens=run.cache_write_tokens,
        ),
        cost=reported_cost(run.total_cost_usd),
        step_count=run.step_count,
        tool_call_count=run.tool_call_count,
        check_command_count=run.acceptance_cmd_count,
        checks=(_success_check(run),),
        steps=None,
        components=None,
        milestones=None,
        actions=None,
        metering=None,
        reported=None,
        loaded=None,
        warnings=(),
        artifacts={},
        extra={name: value for name, value in raw.items() if name not in _FIELDS},
    )


def _status(run: CollectedRun) -> Status:
    if run.setup_exit_code or run.arm_setup_exit_code or run.opencode_exit_code == INFRASTRUCTURE_EXIT:
        return Status.INFRA_ERROR
    if run.opencode_exit_code == NOT_RUN_EXIT:
        return Status.NOT_RUN
    return Status.AGENT_ERROR if run.opencode_exit_code else Status.COMPLETED


def _success_check(run: CollectedRun) -> CheckResult:
    return CheckResult(
        name="success",
        required=True,
        passed=run.success,
        cases_passed=None,
        cases_total=None,
        exit_code=run.acceptance_exit_code,
        detail=None,
    )


VERSIONS: Mapping[str, int] = {
    "outweigh.run": 1,
    "outweigh.judgment": 1,
    "outweigh.preference": 1,
    "outweigh.choice": 1,
}
"""The version of each stored schema that this release writes."""

UPGRADE_STEPS: Mapping[str, Callable[[Json], Json]] = {}
"""From a full schema name such as "outweigh.run/1" to the function that returns the record one version newer."""


class UnreadableSchemaError(ValueError):
    """The record's schema is not one this release can read; the message says what to do."""


def upgrade(raw: Json, steps: Mapping[str, Callable[[Json], Json]] = UPGRADE_STEPS) -> Json:
    """Bring a decoded record to the current version of its schema."""
    kind, version = _parse_schema(raw.get("schema"))
    while version < VERSIONS[kind]:
        step = steps.get(f"{kind}/{version}")
        if step is None:
            raise UnreadableSchemaError(f"no step leads from {kind}/{version} to the current {kind}/{VERSIONS[kind]}")
        raw = step(raw)
        kind, version = _parse_schema(raw.get("schema"))
    if version > VERSIONS[kind]:
        raise UnreadableSchemaError(
            f"{kind}/{version} is newer than this outweigh, which reads up to {kind}/{VERSIONS[kind]}: upgrade it"
        )
    return raw


def _parse_schema(schema: object) -> tuple[str, int]:
    kind, _, version = schema.rpartition("/") if isinstance(schema, str) else ("", "", "")
    if kind not in VERSIONS or not version.isdecimal():
        known = ", ".join(f"{name}/{number}" for name, number in VERSIONS.items())
        raise UnreadableSchemaError(f"schema {schema!r} is not one of {known}")
    return kind, int(version)


class Attempt(Stored, frozen=True, tag_field="schema", tag="outweigh.attempt/1"):
    """Written before the attempt is dispatched; without a run record to answer it, the attempt was abandoned."""

    run_id: RunId
    trial: Trial
    attempt: Ordinal
    begun_at: Moment
    pid: Ordinal


_attempt_decoder = msgspec.json.Decoder(Attempt)
_attempt_encoder = msgspec.json.Encoder(order="deterministic")


def encode_attempt(attempt: Attempt) -> bytes:
    """One canonical line, without checksum and line feed."""
    return _attempt_encoder.encode(attempt)


def decode_attempt(line: bytes) -> Attempt:
    """The inverse, for a line without its checksum."""
    return _attempt_decoder.decode(line)


Record = RunRecord | Judgment | Preference | ChoiceRecord

RECORD_LINE_LIMIT = 1_000_000
"""A record's line must be shorter than this many bytes; transcripts and diffs are artifacts, not fields."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PACKED_START = b'{"schema":"outweigh.runs/'
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder(order="deterministic")


class LocatedRecord(NamedTuple):
    """A record and the line it was read from."""

    record: Record
    source: str
    line: int

    @property
    def digest(self) -> bytes:
        """The hash of the record."""
        return record_digest(self.record)

    def as_evidence(self, digest: bytes) -> bytes:
        """The hash of the record as part of the evidence, which says under which names it counts, from its `digest`."""
        return digest


class _HashedRecord(LocatedRecord):
    """A record that was read, and whose canonical form is known from that."""

    canonical: bytes

    @property
    def digest(self) -> bytes:
        return sha256(self.canonical).digest()


UNFINISHED_RECORD = "the file ends in the middle of a record"


class InvalidLine(NamedTuple):
    """A line without a readable record, and why; line 0 means the whole source."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}{f':{self.line}' if self.line else ''}: {self.reason}"


OnInvalid = Callable[[InvalidLine], None]


def refuse_invalid(invalid: InvalidLine) -> None:
    """Raise on the first unreadable line: the strict `on_invalid`. An unreadable first line suggests another format."""
    foreign = invalid.line == 1 and not invalid.source.startswith("<")
    hint = (
        f" If another harness wrote it, `outweigh import {quote(invalid.source)} -o RUNS` reads it." if foreign else ""
    )
    raise EvidenceError(
        f"{invalid}.{hint} Fix or remove that line, or pass --skip-invalid to continue without it "
        "(evidence with skipped lines never promotes)."
    )


def decode_lines(lines: Iterable[bytes], source: str, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
    """Decode line by line. Unreadable lines go to `on_invalid`, which raises or records them.

    Records that are packed into one line are numbered as if each had a line of its own.
    """
    number = 0
    for line in lines:
        number += 1
        text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
        if text.isspace() or not text:
            continue
        try:
            found = _unpack(text) if text.startswith(_PACKED_START) else (_decode(text),)
        except (ValueError, msgspec.MsgspecError, RecursionError) as fault:
            on_invalid(InvalidLine(source, number, _explain(fault, text)))
            continue
        for number, (record, canonical) in enumerate(found, start=number):  # noqa: B020 - goes on from there
            located = tuple.__new__(_HashedRecord, (record, source, number))
            located.canonical = canonical
            yield located


def decode(line: bytes) -> Record:
    """Decode one line: a native record of any version, or a seed 000 run."""
    if line.startswith(_PACKED_START):
        raise ValueError("many runs are packed into the line; decode_lines reads them")
    return _decode(line)[0]


def decode_each(line: bytes) -> list[Record]:
    """The records of one line: the one that it is, or those that are packed into it."""
    return [record for record, _ in _unpack(line)] if line.startswith(_PACKED_START) else [_decode(line)[0]]


def _unpack(line: bytes) -> Sequence[tuple[Record, bytes]]:
    """The records that are packed into a line, each with its canonical form."""
    from outweigh.model.packed_runs import unpack_runs  # noqa: PLC0415 - only imports of many rows have such lines

    runs = unpack_runs(_unseal(line))
    return [*zip(runs.records(), runs.encoded(), strict=True)]


def _unseal(line: bytes) -> bytes:
    if len(line) >= RECORD_LINE_LIMIT:
        raise ValueError(
            f"the line is {RECORD_LINE_LIMIT:,} bytes or longer; keep long texts in artifacts, not in records"
        )
    return unseal(line)


def _decode(line: bytes) -> tuple[Record, bytes]:
    """A record and its canonical form. A line in that form has no key twice, and the others are searched for one."""
    content = _unseal(line)
    try:
        record = _decoder.decode(content)
    except msgspec.ValidationError:
        record = _decode_other(content)
    canonical = encode(record)
    # Without the spaces between them, most lines of other programs are the same: no key was dropped.
    if canonical != content and canonical != msgspec.json.format(content, indent=-1):
        from outweigh.model.json_text import refuse_repeated_keys  # noqa: PLC0415 - our own records do without it

        refuse_repeated_keys(content)
    return record, canonical


def _decode_other(content: bytes) -> Record:
    """A record of an earlier version, or a seed 000 run."""
    raw = msgspec.json.decode(content)
    if not isinstance(raw, dict):
        raise ValueError("expected a JSON object with one run record") from None
    if "schema" in raw:
        if CHECKSUM_KEY in raw:
            raise ValueError(
                f"the checksum ({CHECKSUM_KEY}) is not where it was written, so another program rewrote the line; "
                "take the key out to have it read without a checksum"
            ) from None
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


def _is_syntax(fault: Exception) -> bool:
    return isinstance(fault, msgspec.DecodeError) and not isinstance(fault, msgspec.ValidationError)


def _explain_syntax(fault: Exception, line: bytes) -> str:
    if b"NaN" in line or b"Infinity" in line:
        return "JSON has no NaN or Infinity; write null where a number is unknown"
    return f"not valid JSON ({fault})" if line.endswith(b"\n") else UNFINISHED_RECORD


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def record_digest(record: Record) -> bytes:
    """Hash one record's canonical form."""
    return sha256(encode(record)).digest()
