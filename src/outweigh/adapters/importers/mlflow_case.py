"""One evaluated input of MLflow, wherever it was written: what was asked, what scorers said, what it took."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.table_cell import known, truth
from outweigh.record.cost import UNKNOWN_COST, Cost
from outweigh.record.usage import NO_USAGE, Usage

RATINGS = {"yes": True, "no": False}
"""What MLflow's own scorers say instead of true and false."""

_FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """A run of MLflow: what it was called, with which parameters, and how it ended."""

    run_id: str
    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    status: str = _FINISHED
    deleted: bool = False
    started_at: datetime | None = None

    @property
    def finished(self) -> bool:
        """Whether it says that it came to its end."""
        return self.status == _FINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What one scorer said, or why it could not."""

    value: Any
    rationale: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A row of a table or a trace, in the words of neither. `place` tells it from others of its run."""

    run_id: str
    place: str
    inputs: Any
    expectations: Any = None
    assessments: Mapping[str, Assessment]
    cells: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str | None = None
    failure: str | None = None
    started_at: datetime | None = None
    duration_seconds: float | None = None
    usage: Usage = NO_USAGE
    cost: Cost = UNKNOWN_COST
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """What makes a task the same one in another run: what was asked, and what was expected of it."""
        return fingerprint({"inputs": self.inputs, "expectations": self.expectations})


def plain_pass(value: Any) -> bool | None:
    """Whether a score says by itself that it passed, as MLflow's own assertions take it; a number never does."""
    if isinstance(value, bool):
        return value
    return RATINGS.get(value.strip().lower()) if isinstance(value, str) else None


def meant_pass(value: Any) -> bool | None:
    """Likewise for a score that the user calls a success: 0, 1, `pass` and `fail` will do. None for all others."""
    try:
        found: bool | None = known(truth)(value)
    except ValueError:
        return None
    return found
