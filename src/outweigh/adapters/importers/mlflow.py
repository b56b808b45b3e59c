"""Evaluations of MLflow: tables of `mlflow.evaluate`, traces that `mlflow.genai.evaluate` scored, or their exports."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.mlflow_case import Case, EvaluationRun, plain_pass
from outweigh.adapters.importers.mlflow_run import FIGURES, Deciding, case_run, task_title
from outweigh.adapters.importers.mlflow_store import MlflowStore, is_mlflow, mlflow_store
from outweigh.adapters.importers.repeats import numbered
from outweigh.errors import EvidenceError, name_some
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import amount

_LAST = datetime.max.replace(tzinfo=UTC)
_TAKES = ("success", "task_id", *FIGURES)


class Mlflow:
    """An input is a task, a run of MLflow an arm, a scorer a check; equal inputs of a run are repeats.

    A score is a pass where it is true, false, yes or no. Of several such scores the user says which one decides, and
    of a number, too, that it is one: MLflow itself has no word for a case that passed.
    """

    name = "mlflow"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = origins(
        reported="status status_detail agent started_at duration_seconds usage cost checks",
        derived="arm_fingerprint task_checksum extra",
    )

    def recognises(self, path: Path) -> bool:
        """By what an evaluation leaves: a table with scores, a database or a folder with scored traces."""
        try:
            return is_mlflow(path)
        except (EvidenceError, OSError, ValueError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """The whole store, since names must be told apart; then run by run."""
        if strange := [each for each in request.columns if each not in _TAKES]:
            raise EvidenceError(f"--map {strange[0]} means nothing to mlflow; it takes {', '.join(_TAKES)}.")
        store = mlflow_store(request.path, notes)
        cases = _living(store, notes)
        if not cases:
            raise EvidenceError(
                f"{request.path} has no evaluation of MLflow: neither a table with scores nor traces that were scored."
            )
        deciding = _deciding(cases, request, notes)
        arms = _arms(store, cases, request, notes)
        titles = _titles(cases, request)
        _tell(store, cases, deciding, arms, notes)
        yield from numbered(
            case_run(
                case,
                run=_run(store, case),
                task_id=titles[case.checksum, task_title(case, request.columns)],
                arm=arms[case.run_id],
                deciding=deciding,
                columns=request.columns,
            )
            for case in cases
        )


def _run(store: MlflowStore, case: Case) -> EvaluationRun:
    return store.runs.get(case.run_id) or EvaluationRun(run_id=case.run_id, name=case.run_id)


def _living(store: MlflowStore, notes: ImportNotes) -> list[Case]:
    everything = [*store.cases.values(), *store.clashing]
    cases = [case for case in everything if not _run(store, case).deleted]
    if gone := len(everything) - len(cases):
        notes.warn(f"{gone:,} results are of runs that were deleted in MLflow; they are left out.")
    if store.unscored:
        notes.warn(f"{store.unscored:,} traces were scored by no evaluation; they are left out.")
    if store.doubled:
        notes.warn(f"{store.doubled:,} results are there twice, as copies or as traces and table; each counts once.")
    return sorted(cases, key=lambda case: (_run(store, case).started_at or _LAST, case.run_id))


def _deciding(cases: Sequence[Case], request: ImportRequest, notes: ImportNotes) -> Deciding:
    """Which score is the success: the one that the user names, else the only one that says pass or fail."""
    wanted = request.columns.get("success")
    scorers = list(dict.fromkeys(scorer for case in cases for scorer in case.assessments))
    if wanted is not None:
        if wanted not in scorers and not any(wanted in case.cells for case in cases):
            raise EvidenceError(f"{request.path} has no score {wanted!r}; it has {', '.join(scorers) or 'none'}.")
        deciding = Deciding(scorer=wanted, meant=True)
        if odd := deciding.odd_values(cases):
            raise EvidenceError(
                f"{request.path}: {wanted!r} is {name_some(odd)}, which is neither a pass nor a failure; name another "
                f"score by --map success=SCORE. It has {', '.join(scorers)}."
            )
        return deciding
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
    return Deciding(scorer=next(iter(plain), None), meant=False)


def _says_pass(scorer: str, cases: Iterable[Case]) -> bool:
    values = [case.assessments[scorer].value for case in cases if scorer in case.assessments]
    known = [value for value in values if value is not None]
    return bool(known) and all(plain_pass(value) is not None for value in known)


def _arms(store: MlflowStore, cases: Sequence[Case], request: ImportRequest, notes: ImportNotes) -> dict[str, str]:
    """A name for every run; runs of one name and different parameters get a piece of these parameters' hash."""
    runs = {case.run_id: _run(store, case) for case in cases}
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


def _titles(cases: Sequence[Case], request: ImportRequest) -> dict[tuple[str, str], str]:
    """Tasks that share a title and ask or expect different things get a piece of their hash."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        sharing[task_title(case, request.columns)].add(case.checksum)
    return {
        (checksum, title): title if len(checksums) == 1 or "task_id" in request.columns else f"{title}#{checksum[:8]}"
        for title, checksums in sharing.items()
        for checksum in checksums
    }


def _tell(
    store: MlflowStore, cases: Sequence[Case], deciding: Deciding, arms: Mapping[str, str], notes: ImportNotes
) -> None:
    held = Counter(case.run_id for case in cases)
    for run_id, number in held.items():
        run = store.runs.get(run_id)
        if run is None:
            continue
        if not run.finished:
            notes.warn(f"{arms[run_id]} is {run.status.lower()}, not finished; its {number:,} results are read.")
        notes.facts.update(_facts(run, deciding, arms[run_id]))


def _facts(run: EvaluationRun, deciding: Deciding, arm: str) -> dict[str, Any]:
    """What MLflow says of the deciding score itself."""
    said = {key: amount(value) for key, value in run.metrics.items() if key.startswith(f"{deciding.scorer}/")}
    return {f"{arm}: {key}": value for key, value in said.items() if value is not None}
