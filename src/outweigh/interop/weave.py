"""Importer of Weave: calls of evaluations, as its pages and API export them, one JSON object each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase, case_runs, choose_success_score, flat_cells
from outweigh.interop.field_values import known_sum, parse_time
from outweigh.interop.imported_run import field_origins, real_agent, stable_id
from outweigh.interop.result_files import FileMarks, read_objects
from outweigh.interop.trace_spans import first_known
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, as_str, dict_at
from outweigh.model.usage import Usage, reported_cost, sum_usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json", ".jsonl", ".ndjson"),
    marks=(b'"op_name"', b"predict_and_score", b'"started_at"'),
)
_OPERATION = re.compile(r"(?:.*/op/)?(?P<name>[^:/]+)(?::.*)?")
_REFERENCE = re.compile(r"weave:///.+/object/(?P<name>[^:/]+):(?P<version>[^/]+)")


class WeaveImporter:
    """Reads a call of `predict_and_score` as a run; the model that was evaluated is the arm, an example the task."""

    name = "weave"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent started_at duration_seconds usage cost checks extra",
        derived="arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file has calls of an evaluation."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all calls; those of models and scorers within an evaluated example are part of it."""
        cases = []
        for file in _FILES.files(request.path):
            for number, raw in enumerate(read_objects(file, notes, "calls"), start=1):
                operation = _OPERATION.fullmatch(as_str(raw.get("op_name")) or "")
                if operation is None or as_name(raw.get("id")) is None:
                    notes.unread(file, 0, f"call {number} has no id or op_name")
                elif operation["name"].endswith("predict_and_score"):
                    cases.append(_case(raw))
        yield from case_runs(cases, self.name, request, choose_success_score(cases, request, notes))


def _case(raw: Mapping[str, Any]) -> EvaluatedCase:
    inputs, summary = dict_at(raw, "inputs"), dict_at(raw, "summary")
    output, details = dict_at(raw, "output"), dict_at(summary, "weave")
    evaluated = inputs.get("model")
    usages = {model: as_dict(each) for model, each in dict_at(summary, "usage").items() if as_name(model)}
    return EvaluatedCase(
        run_id=as_name(raw.get("parent_id")) or as_name(raw.get("trace_id")) or "calls",
        place=as_name(raw.get("id")) or "",
        inputs=inputs.get("example"),
        assessments=dict(_scores(dict_at(output, "scores"))),
        cells=flat_cells({**raw, "example": inputs.get("example")}, "output", "inputs"),
        arm=_arm(evaluated),
        settings=evaluated,
        agent=real_agent(model=next(iter(usages), None)),
        trace_id=as_name(raw.get("trace_id")),
        failure=_failure(raw, output),
        started_at=parse_time(raw.get("started_at")),
        # The call itself lasts until its scorers are done.
        duration_seconds=as_amount(output.get("model_latency")),
        usage=sum_usage([_usage(each) for each in usages.values()]),
        cost=reported_cost(known_sum(_cost(each) for each in dict_at(details, "costs").values()) or None),
        kept={"models": [*usages] if len(usages) > 1 else None, "usage": usages or None},
    )


def _arm(evaluated: Any) -> str:
    """The name and version of a model's object; a model that was not stored is called by its name."""
    if isinstance(evaluated, str):
        found = _REFERENCE.match(evaluated)
        return stable_id(evaluated) if found is None else stable_id(f"{found['name']}:{found['version'][:8]}")
    held = as_dict(evaluated)
    named = first_known(as_name(held.get(key)) for key in ("name", "_class_name", "ref"))
    return named or "model"


def _failure(raw: Mapping[str, Any], output: Mapping[str, Any]) -> str | None:
    """Why a call failed. A model that failed leaves no scores, and the evaluation goes on."""
    if (exception := as_name(raw.get("exception"))) is not None:
        return exception
    broken = raw.get("output") is not None and output.get("scores") == {} and output.get("output") is None
    return "the model ended in an error" if broken else None


def _scores(raw: Mapping[str, Any]) -> Iterator[tuple[str, Assessment]]:
    """Each value of each scorer; what a scorer returns may be one value or several."""
    for scorer, found in raw.items():
        if isinstance(found, dict):
            for key, value in found.items():
                if isinstance(value, bool | int | float):
                    yield f"{scorer}.{key}", Assessment(value=value)
        elif as_name(scorer):
            yield scorer, Assessment(value=found)


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens of a model. Some count the cache as input and some do not, so input is not known."""
    return Usage(
        input_tokens=None,
        output_tokens=first_known(as_count(raw.get(name)) for name in ("completion_tokens", "output_tokens")),
        cache_read_tokens=None,
        cache_write_tokens=None,
    )


def _cost(raw: Any) -> float | None:
    parts = [as_amount(as_dict(raw).get(f"{kind}_tokens_total_cost")) for kind in ("prompt", "completion")]
    found: float | None = known_sum(parts)
    return found
