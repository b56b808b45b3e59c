"""Importer of MLflow: tables of `mlflow.evaluate`, traces scored by `mlflow.genai.evaluate`, or exports of either."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.field_values import read_label
from outweigh.interop.imported_run import (
    LATEST_TIME,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.mlflow.cases import Assessment, EvaluatedCase, EvaluationRun, pass_by_user, stated_pass
from outweigh.interop.mlflow.sources import MlflowStore, is_mlflow, read_mlflow_store
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_name
from outweigh.model.usage import reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

FIGURE_FIELDS = ("duration_seconds", "cost_usd", "input_tokens", "output_tokens")
"""Figures that the user can map a column to; only the table's author knows which column is which."""

_TITLE_CHARACTERS = 120
_DETAIL_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessScore:
    """The score that decides about success; `by_user` if the user named it."""

    scorer: str | None
    by_user: bool

    def value(self, case: EvaluatedCase) -> Any:
        """The score's value in a case; any column can be named."""
        if self.scorer is None:
            return None
        assessed = case.assessments.get(self.scorer)
        return assessed.value if assessed is not None else case.cells.get(self.scorer)

    def passed(self, case: EvaluatedCase) -> bool | None:
        """Whether the case passed; None if that is unknown."""
        return (pass_by_user if self.by_user else stated_pass)(self.value(case))

    def unreadable_values(self, cases: Iterable[EvaluatedCase]) -> list[str]:
        """Values that are neither pass nor failure, to show: one of them makes the meaning of the others doubtful."""
        unreadable = (self.value(case) for case in cases if self.passed(case) is None)
        return list(dict.fromkeys(repr(value)[:40] for value in unreadable if value is not None))


def task_title(case: EvaluatedCase, columns: Mapping[str, str]) -> str:
    """The input in short, or the column that the user mapped to the task."""
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


def make_case_run(
    case: EvaluatedCase,
    *,
    run: EvaluationRun,
    task_id: str,
    arm: str,
    success_score: SuccessScore,
    columns: Mapping[str, str],
) -> RunRecord:
    """The run of a case. A case that ended in an error was not a full attempt; its message says whose error it was."""
    failed = None if case.failure is None else failure_from_text(case.failure, FailureKind.CRASH)
    figures = {field: case.cells.get(columns[field]) for field in FIGURE_FIELDS if field in columns}
    duration, cost = as_amount(figures.get("duration_seconds")), as_amount(figures.get("cost_usd"))
    tokens = {kind: as_count(figures[kind]) for kind in ("input_tokens", "output_tokens") if kind in figures}
    return imported_run(
        run_id=stable_id("mlflow", case.run_id, case.place),
        task_id=task_id,
        arm=arm,
        repeat=1,
        status=Status.COMPLETED if failed is None else failed.kind.status,
        status_detail=None if failed is None else failed.detail[:_DETAIL_CHARACTERS],
        agent=real_agent(model=as_name(run.params.get("model"))),
        arm_fingerprint=fingerprint(run.params) if run.params else None,
        task_checksum=case.checksum,
        started_at=case.started_at,
        duration_seconds=case.duration_seconds if duration is None else duration,
        usage=msgspec.structs.replace(case.usage, **tokens),
        cost=case.cost if cost is None else reported_cost(cost),
        checks=None if failed is not None else _checks(case, success_score),
        extra=extra_fields(
            {
                "mlflow_run": case.run_id,
                "trace_id": case.trace_id,
                "scores": {scorer: each.value for scorer, each in case.assessments.items()} or None,
                **case.kept,
                "params": dict(run.params) or None,
            }
        ),
    )


def _checks(case: EvaluatedCase, success_score: SuccessScore) -> tuple[CheckResult, ...] | None:
    if success_score.scorer is None:
        return None
    assessed = case.assessments.get(success_score.scorer, Assessment(value=None))
    others = [
        outcome_check(stable_id(scorer), stated_pass(each.value), _explain(each), required=False)
        for scorer, each in case.assessments.items()
        if scorer != success_score.scorer and stated_pass(each.value) is not None
    ]
    return (outcome_check(stable_id(success_score.scorer), success_score.passed(case), _explain(assessed)), *others)


def _explain(assessed: Assessment) -> str | None:
    found = assessed.error or assessed.rationale
    return None if found is None else found[:_DETAIL_CHARACTERS]


def _cell_name(case: EvaluatedCase, column: str) -> str:
    if column not in case.cells:
        raise EvidenceError(f"{case.place} has no column {column!r}; it has {', '.join(case.cells) or 'none'}.")
    try:
        found = read_label(case.cells[column])
    except ValueError:
        found = None
    if found is None:
        raise EvidenceError(f"{case.place} has no name in its column {column!r}.")
    return found


_MAPPABLE_FIELDS = ("success", "task_id", *FIGURE_FIELDS)


class MlflowImporter:
    """Reads an input as a task, a run of MLflow as an arm, a scorer as a check; equal inputs in a run are repeats.

    A score is a pass or failure if it is true, false, yes or no. If there are several such scores, or only numbers, the
    user says which one decides: MLflow itself has no notion of a case that passed.
    """

    name = "mlflow"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status status_detail agent started_at duration_seconds usage cost checks",
        derived="arm_fingerprint task_checksum extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a table with scores, or a database or folder with scored traces."""
        try:
            return is_mlflow(path)
        except (EvidenceError, OSError, ValueError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the whole store, because names must be unique; then run by run."""
        if strange := [each for each in request.columns if each not in _MAPPABLE_FIELDS]:
            raise EvidenceError(f"--map {strange[0]} is not used by mlflow; it takes {', '.join(_MAPPABLE_FIELDS)}.")
        store = read_mlflow_store(request.path, notes)
        cases = _not_deleted(store, notes)
        if not cases:
            raise EvidenceError(
                f"{request.path} has no evaluation of MLflow: neither a table with scores nor traces that were scored."
            )
        success_score = _choose_success_score(cases, request, notes)
        arms = _arms(store, cases, request, notes)
        titles = _titles(cases, request)
        _report_source(store, cases, success_score, arms, notes)
        yield from with_repeat_numbers(
            make_case_run(
                case,
                run=_mlflow_run(store, case),
                task_id=titles[case.checksum, task_title(case, request.columns)],
                arm=arms[case.run_id],
                success_score=success_score,
                columns=request.columns,
            )
            for case in cases
        )


def _mlflow_run(store: MlflowStore, case: EvaluatedCase) -> EvaluationRun:
    return store.runs.get(case.run_id) or EvaluationRun(run_id=case.run_id, name=case.run_id)


def _not_deleted(store: MlflowStore, notes: ImportNotes) -> list[EvaluatedCase]:
    everything = [*store.cases.values(), *store.clashing]
    cases = [case for case in everything if not _mlflow_run(store, case).deleted]
    if gone := len(everything) - len(cases):
        notes.warn(f"{gone:,} results are of runs that were deleted in MLflow; they are left out.")
    if store.unscored:
        notes.warn(f"{store.unscored:,} traces were scored by no evaluation; they are left out.")
    if store.doubled:
        notes.warn(f"{store.doubled:,} results are there twice, as copies or as traces and table; each counts once.")
    return sorted(cases, key=lambda case: (_mlflow_run(store, case).started_at or LATEST_TIME, case.run_id))


def _choose_success_score(cases: Sequence[EvaluatedCase], request: ImportRequest, notes: ImportNotes) -> SuccessScore:
    """The score that decides about success: the one that the user names, else the only one that states pass or fail."""
    wanted = request.columns.get("success")
    scorers = list(dict.fromkeys(scorer for case in cases for scorer in case.assessments))
    if wanted is not None:
        if wanted not in scorers and not any(wanted in case.cells for case in cases):
            raise EvidenceError(f"{request.path} has no score {wanted!r}; it has {', '.join(scorers) or 'none'}.")
        success_score = SuccessScore(scorer=wanted, by_user=True)
        if unreadable := success_score.unreadable_values(cases):
            raise EvidenceError(
                f"{request.path}: {wanted!r} is {quote_names(unreadable)}, which is neither a pass nor a failure; name "
                f"another score with --map success=SCORE. It has {', '.join(scorers)}."
            )
        return success_score
    plain = [scorer for scorer in scorers if _says_pass(scorer, cases)]
    if len(plain) > 1:
        raise EvidenceError(
            f"{request.path} has several scores that say pass or fail: {', '.join(plain)}. Say which one is the "
            f"success: --map success={plain[0]}."
        )
    if not plain:
        others = f"; {', '.join(scorers)} are kept" if scorers else ""
        notes.warn(
            f"no score says pass or fail, so success is unknown{others}. Where one is 1 for a success and 0 for "
            "a failure, say --map success=SCORE."
        )
    return SuccessScore(scorer=next(iter(plain), None), by_user=False)


def _says_pass(scorer: str, cases: Iterable[EvaluatedCase]) -> bool:
    values = [case.assessments[scorer].value for case in cases if scorer in case.assessments]
    known = [value for value in values if value is not None]
    return bool(known) and all(stated_pass(value) is not None for value in known)


def _arms(
    store: MlflowStore, cases: Sequence[EvaluatedCase], request: ImportRequest, notes: ImportNotes
) -> dict[str, str]:
    """A name for every run; runs with the same name and different parameters also get a part of the
    parameters' hash.
    """
    runs = {case.run_id: _mlflow_run(store, case) for case in cases}
    if request.arm is not None:
        return dict.fromkeys(runs, request.arm)
    sharing: dict[str, set[str]] = defaultdict(set)
    for run in runs.values():
        sharing[run.name].add(fingerprint(run.params))
    arms = {}
    for run_id, run in runs.items():
        alone = len(sharing[run.name]) == 1
        arms[run_id] = stable_id(run.name if alone else f"{run.name[:480]}@{fingerprint(run.params)[:8]}")
        if not alone:
            notes.warn(f"{arms[run_id]} is run {run_id}: runs called {run.name!r} had different parameters.")
    return arms


def _titles(cases: Sequence[EvaluatedCase], request: ImportRequest) -> dict[tuple[str, str], str]:
    """A title for every task; tasks with the same title that differ also get a part of their hash."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        sharing[task_title(case, request.columns)].add(case.checksum)
    return {
        (checksum, title): title if len(checksums) == 1 or "task_id" in request.columns else f"{title}#{checksum[:8]}"
        for title, checksums in sharing.items()
        for checksum in checksums
    }


def _report_source(
    store: MlflowStore,
    cases: Sequence[EvaluatedCase],
    success_score: SuccessScore,
    arms: Mapping[str, str],
    notes: ImportNotes,
) -> None:
    held = Counter(case.run_id for case in cases)
    for run_id, number in held.items():
        run = store.runs.get(run_id)
        if run is None:
            continue
        if not run.finished:
            notes.warn(f"{arms[run_id]} is {run.status.lower()}, not finished; its {number:,} results are read.")
        notes.facts.update(_facts(run, success_score, arms[run_id]))


def _facts(run: EvaluationRun, success_score: SuccessScore, arm: str) -> dict[str, Any]:
    """What MLflow states about the deciding score."""
    said = {key: as_amount(value) for key, value in run.metrics.items() if key.startswith(f"{success_score.scorer}/")}
    return {f"{arm}: {key}": value for key, value in said.items() if value is not None}
