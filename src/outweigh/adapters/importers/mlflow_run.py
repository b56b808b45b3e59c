"""A case of MLflow as a run: which score decided, what was asked, and what it took."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.mlflow_case import Assessment, Case, EvaluationRun, meant_pass, plain_pass
from outweigh.adapters.importers.table_cell import label
from outweigh.errors import EvidenceError
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.transcript.failure import FailureKind
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.foreign import amount, count, name

FIGURES = ("duration_seconds", "cost_usd", "input_tokens", "output_tokens")
"""What a column of a table may be said to be; only its author knows which one is."""

_TITLE_CHARACTERS = 120
_DETAIL_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """The score that is the success; `meant` where the user said so."""

    scorer: str | None
    meant: bool

    def value(self, case: Case) -> Any:
        """What it is in a case; a column of any name can be meant."""
        if self.scorer is None:
            return None
        assessed = case.assessments.get(self.scorer)
        return assessed.value if assessed is not None else case.cells.get(self.scorer)

    def passed(self, case: Case) -> bool | None:
        """Whether the case passed; None where nobody could tell."""
        return (meant_pass if self.meant else plain_pass)(self.value(case))

    def odd_values(self, cases: Iterable[Case]) -> list[str]:
        """Values that are no answer, to be shown: one of them makes it doubtful what the others mean."""
        odd = (self.value(case) for case in cases if self.passed(case) is None)
        return list(dict.fromkeys(repr(value)[:40] for value in odd if value is not None))


def task_title(case: Case, columns: Mapping[str, str]) -> str:
    """An input in short, or the column that the user calls the task."""
    wanted = columns.get("task_id")
    if wanted is not None:
        return stable_id(_cell_name(case, wanted))
    asked = case.inputs
    if asked is None:
        shown = ", ".join(case.cells) or "nothing else"
        raise EvidenceError(
            f"{case.place} has no column `inputs` or `request`; say which one tells the tasks apart: "
            f"--map task_id=COLUMN. It has {shown}."
        )
    if isinstance(asked, dict) and len(asked) == 1:
        asked = next(iter(asked.values()))
    text = asked if isinstance(asked, str) else msgspec.json.encode(asked, order="deterministic").decode()
    return " ".join(text.split())[:_TITLE_CHARACTERS] or "empty"


def case_run(
    case: Case,
    *,
    run: EvaluationRun,
    task_id: str,
    arm: str,
    deciding: Deciding,
    columns: Mapping[str, str],
) -> RunRecord:
    """The run of a case. What ended in an error was never a full attempt; whose error it was, its words say."""
    failed = None if case.failure is None else failure_of_text(case.failure, FailureKind.CRASH)
    figures = {field: case.cells.get(columns[field]) for field in FIGURES if field in columns}
    duration, cost = amount(figures.get("duration_seconds")), amount(figures.get("cost_usd"))
    tokens = {kind: count(figures[kind]) for kind in ("input_tokens", "output_tokens") if kind in figures}
    return imported_run(
        run_id=stable_id("mlflow", case.run_id, case.place),
        task_id=task_id,
        arm=arm,
        repeat=1,
        status=Status.COMPLETED if failed is None else failed.kind.status,
        status_detail=None if failed is None else failed.detail[:_DETAIL_CHARACTERS],
        agent=agent(model=name(run.params.get("model"))),
        arm_fingerprint=fingerprint(run.params) if run.params else None,
        task_checksum=case.checksum,
        started_at=case.started_at,
        duration_seconds=case.duration_seconds if duration is None else duration,
        usage=msgspec.structs.replace(case.usage, **tokens),
        cost=case.cost if cost is None else reported_cost(cost),
        checks=None if failed is not None else _checks(case, deciding),
        extra=kept_fields(
            {
                "mlflow_run": case.run_id,
                "trace_id": case.trace_id,
                "scores": {scorer: each.value for scorer, each in case.assessments.items()} or None,
                **case.kept,
                "params": dict(run.params) or None,
            }
        ),
    )


def _checks(case: Case, deciding: Deciding) -> tuple[CheckResult, ...] | None:
    if deciding.scorer is None:
        return None
    assessed = case.assessments.get(deciding.scorer, Assessment(value=None))
    others = [
        outcome(stable_id(scorer), plain_pass(each.value), _why(each), required=False)
        for scorer, each in case.assessments.items()
        if scorer != deciding.scorer and plain_pass(each.value) is not None
    ]
    return (outcome(stable_id(deciding.scorer), deciding.passed(case), _why(assessed)), *others)


def _why(assessed: Assessment) -> str | None:
    found = assessed.error or assessed.rationale
    return None if found is None else found[:_DETAIL_CHARACTERS]


def _cell_name(case: Case, column: str) -> str:
    if column not in case.cells:
        raise EvidenceError(f"{case.place} has no column {column!r}; it has {', '.join(case.cells) or 'none'}.")
    try:
        found = label(case.cells[column])
    except ValueError:
        found = None
    if found is None:
        raise EvidenceError(f"{case.place} has no name in its column {column!r}.")
    return found
