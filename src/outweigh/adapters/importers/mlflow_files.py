"""The folder that MLflow keeps without a database (`mlruns`): runs, traces, and the artifacts beside them."""

from pathlib import Path
from typing import Any

from outweigh.adapters.importers.mlflow_case import Case, EvaluationRun
from outweigh.adapters.importers.mlflow_trace import root_inputs, trace_cases
from outweigh.adapters.importers.source_text import read_json, read_text
from outweigh.adapters.importers.source_time import moment
from outweigh.adapters.importers.source_yaml import read_yaml
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.foreign import mapping, name, sequence

META, TRACE = "meta.yaml", "trace_info.yaml"
ARTIFACTS = "artifacts"
_YAML_BYTES = 2**20
_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


def folder_run(meta: Path, notes: ImportNotes) -> EvaluationRun | None:
    """The run that a `meta.yaml` is of; experiments, datasets and models have such files, too."""
    said = _yaml(meta, notes)
    run_id = name(said.get("run_id"))
    if run_id is None:
        return None
    folder, status = meta.parent, said.get("status")
    return EvaluationRun(
        run_id=run_id,
        name=name(said.get("run_name")) or run_id,
        params=_values(folder / "params", notes),
        metrics=_metrics(folder / "metrics", notes),
        status=_STATUS.get(status, str(status)) if isinstance(status, int) else str(status),
        deleted=said.get("lifecycle_stage") == "deleted",
        started_at=moment(said.get("start_time")),
    )


def folder_cases(info: Path, notes: ImportNotes) -> list[Case]:
    """The cases of a trace; what was asked in full is in its artifacts."""
    folder = info.parent
    spans = folder / ARTIFACTS / "traces.json"
    inputs, failure = (
        root_inputs(sequence(mapping(read_json(spans, notes)).get("spans"))) if spans.is_file() else (None, None)
    )
    trace = _yaml(info, notes) | {
        "trace_metadata": _values(folder / "request_metadata", notes),
        "assessments": [_yaml(each, notes) for each in sorted((folder / "assessments").glob("*.yaml"))],
    }
    return trace_cases(trace, inputs=inputs, failure=failure)


def _values(folder: Path, notes: ImportNotes) -> dict[str, str]:
    """A file for each key, with its value; a slash in a key makes a folder."""
    if not folder.is_dir():
        return {}
    files = [each for each in sorted(folder.rglob("*")) if each.is_file()]
    return {each.relative_to(folder).as_posix(): read_text(each, notes) for each in files}


def _metrics(folder: Path, notes: ImportNotes) -> dict[str, float]:
    """The last value of each: a line has a time, a value and a step."""
    found = {}
    for key, content in _values(folder, notes).items():
        last = (content.strip().splitlines() or [""])[-1].split()
        try:
            found[key] = float(last[1])
        except (IndexError, ValueError):
            continue
    return found


def _yaml(path: Path, notes: ImportNotes) -> dict[str, Any]:
    return mapping(read_yaml(path, notes, _YAML_BYTES))
