"""Importer of MLflow: tables of `mlflow.evaluate`, traces scored by `mlflow.genai.evaluate`, or exports of either."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.evaluated_cases import EvaluatedCase, SuccessScore, case_runs, choose_success_score
from outweigh.interop.imported_run import LATEST_TIME, field_origins, fingerprint, real_agent, stable_id
from outweigh.interop.mlflow.cases import EvaluationRun
from outweigh.interop.mlflow.sources import MlflowStore, is_mlflow, read_mlflow_store
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_name
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest


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
        store = read_mlflow_store(request.path, notes)
        cases = _not_deleted(store, notes)
        if not cases:
            raise EvidenceError(
                f"{request.path} has no evaluation of MLflow: neither a table with scores nor traces that were scored."
            )
        success_score = choose_success_score(cases, request, notes)
        arms = _arms(store, cases, request, notes)
        _report_source(store, cases, success_score, arms, notes)
        named = [_name_arm(case, _mlflow_run(store, case), arms[case.run_id]) for case in cases]
        yield from case_runs(named, self.name, request, success_score)


def _name_arm(case: EvaluatedCase, run: EvaluationRun, arm: str) -> EvaluatedCase:
    """The case with what its run says about the arm."""
    return replace(
        case,
        arm=arm,
        settings=dict(run.params),
        agent=real_agent(model=as_name(run.params.get("model"))),
        kept={"mlflow_run": case.run_id, **case.kept, "params": dict(run.params) or None},
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
