"""Runs as rows of a part: a typed column for everything that a score has, and the way back to a score.

Names are dictionary-encoded. What is unknown is null. What few runs have, such as opinions of judges, is JSON in one
column, `details`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from outweigh.errors import requires_extra
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind, StatedResult
from outweigh.model.usage import CostProvenance
from outweigh.score.judge_scores import JudgeCount, JudgeOpinion
from outweigh.score.metrics import METRICS
from outweigh.score.resource_usage import NO_RANGES
from outweigh.score.run_score import Score, score_class

COUNTED, EXCLUDED, SUPERSEDED = "counted", "excluded", "superseded"
ROLE = "role"

METRIC_NAMES = tuple(metric.name for metric in METRICS if metric.formula is not None)
_WHOLE_NUMBERS = frozenset(metric.name for metric in METRICS if metric.unit == "count")
NAMES = (
    "task_id",
    "arm",
    ROLE,
    "status",
    "source",
    "agent_kind",
    "arm_fingerprint",
    "task_checksum",
    "family",
    "cost_provenance",
    "reasons",
)
"""Columns of names: few different ones, many rows."""
_TEXTS = ("run_id", "details")
_COUNTS = ("repeat", "attempt", "line", "position")
_FLAGS = ("reused", "vacuous", "should_fire")
_AMOUNTS = ("paid_usd", "fired", *METRIC_NAMES)
STARTED_AT = "started_at"
_CONTINUOUS = frozenset({"duration_seconds", "cost_usd", "paid_usd", "cache_normalised_cost_usd"})
"""Columns in which hardly any value comes twice, so a dictionary of them would be as long as they are."""
_READ_MOST = frozenset(
    {"passed", "objective", "cost_usd", "duration_seconds", "non_cache_tokens", STARTED_AT}
    | {"cache_read_tokens", "cache_write_tokens"}
)

_decode_reasons = msgspec.json.Decoder(dict[str, str]).decode


class RunDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What few runs have."""

    judge_opinions: tuple[JudgeOpinion, ...] = ()
    judge_counts: frozenset[JudgeCount] = frozenset()
    deciding_judge_counts: frozenset[JudgeCount] = frozenset()
    deciding_judge_score: float | None = None
    ranges: dict[str, tuple[float, float]] = {}
    stated: StatedResult | None = None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_DETAILS = RunDetails()
_decode_details = msgspec.json.Decoder(RunDetails).decode


def rows_schema() -> Any:
    """The columns of a part."""
    pyarrow = _pyarrow()
    return pyarrow.schema(
        [
            *((name, pyarrow.string()) for name in (*NAMES, *_TEXTS)),
            *((name, pyarrow.int64()) for name in _COUNTS),
            *((name, pyarrow.bool_()) for name in _FLAGS),
            (STARTED_AT, pyarrow.timestamp("us", tz="UTC")),
            *((name, pyarrow.float64()) for name in _AMOUNTS),
        ]
    )


def dictionary_columns() -> list[str]:
    """The columns that are written with a dictionary."""
    return [*NAMES, "repeat", "attempt", *(name for name in _AMOUNTS if name not in _CONTINUOUS)]


def compression() -> dict[str, str]:
    """How every column is compressed: to be small, and what every verdict reads to be read three times as fast."""
    return {name: "lz4" if name in _READ_MOST else "zstd" for name in rows_schema().names}


def rows_of(scores: Sequence[Score], role: str) -> Any:
    """A table of runs that have the same role."""
    pyarrow = _pyarrow()
    reasons: dict[int, str] = {}
    plain = (*_COUNTS, *_FLAGS, *_AMOUNTS, STARTED_AT, "run_id", "task_id", "arm", "source")
    columns: dict[str, list[Any]] = {
        **{name: [getattr(score, name) for score in scores] for name in plain},
        **{name: [getattr(score, name) for score in scores] for name in ("arm_fingerprint", "task_checksum", "family")},
        ROLE: [role] * len(scores),
        "status": [score.status.value for score in scores],
        "agent_kind": [score.agent_kind.value for score in scores],
        "cost_provenance": [score.cost_provenance.value for score in scores],
        "reasons": [_reasons_text(score.reasons, reasons) for score in scores],
        "details": [_details_text(score) for score in scores],
    }
    return pyarrow.Table.from_pydict(columns, schema=rows_schema())


def _reasons_text(reasons: Mapping[str, str], known: dict[int, str]) -> str:
    """Runs without the same metrics share one mapping."""
    found = known.get(id(reasons))
    if found is None:
        found = known[id(reasons)] = msgspec.json.encode(reasons, order="sorted").decode()
    return found


def _details_text(score: Score) -> str | None:
    if not (score.judge_opinions or score.deciding_judge_counts or score.ranges or score.stated):
        return None
    details = RunDetails(
        judge_opinions=score.judge_opinions,
        judge_counts=score.judge_counts,
        deciding_judge_counts=score.deciding_judge_counts,
        deciding_judge_score=score.deciding_judge_score,
        ranges=dict(score.ranges),
        stated=score.stated,
    )
    return msgspec.json.encode(details).decode()


class ScoreReader:
    """Makes scores of rows again. Rows with the same reasons share one mapping, as the scores had it."""

    def __init__(self) -> None:
        self._make = score_class(METRIC_NAMES)
        self._reasons: dict[str, Mapping[str, str]] = {}

    def read(self, table: Any) -> Iterator[Score]:
        """Every row as a score."""
        columns: dict[str, list[Any]] = {
            name: table.column(name).to_pylist() for name in rows_schema().names if name != STARTED_AT
        }
        # pyarrow makes moments by pandas where that is installed, which takes a second to load.
        columns[STARTED_AT] = [_moment(each) for each in table.column(STARTED_AT).cast("int64").to_pylist()]
        columns.update(self._typed(columns))
        del columns[ROLE]
        names = tuple(columns)
        for values in zip(*columns.values(), strict=True):
            yield self._make(**dict(zip(names, values, strict=True)))

    def _typed(self, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        details = [_NO_DETAILS if text is None else _decode_details(text) for text in columns.pop("details")]
        whole = {name: [_whole(value) for value in columns[name]] for name in METRIC_NAMES if name in _WHOLE_NUMBERS}
        return {
            **whole,
            "status": [Status(name) for name in columns["status"]],
            "agent_kind": [AgentKind(name) for name in columns["agent_kind"]],
            "cost_provenance": [CostProvenance(name) for name in columns["cost_provenance"]],
            "reasons": [self._shared(text) for text in columns["reasons"]],
            "judge_opinions": [each.judge_opinions for each in details],
            "judge_counts": [each.judge_counts for each in details],
            "deciding_judge_counts": [each.deciding_judge_counts for each in details],
            "deciding_judge_score": [each.deciding_judge_score for each in details],
            "ranges": [each.ranges or NO_RANGES for each in details],
            "stated": [each.stated for each in details],
        }

    def _shared(self, text: str) -> Mapping[str, str]:
        if text not in self._reasons:
            self._reasons[text] = _decode_reasons(text)
        return self._reasons[text]


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value.is_integer() else value


def _pyarrow() -> Any:
    with requires_extra("a dataset", "parquet"):
        import pyarrow  # noqa: PLC0415 - heavy, and only datasets need it
    return pyarrow
