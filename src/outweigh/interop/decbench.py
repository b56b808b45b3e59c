"""Importer of decbench, a benchmark of decompilers and of agents that decompile: `function_results.json`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.imported_run import (
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import FileMarks, listed_objects, read_json_object
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_list, as_name, dict_at, name_at, names_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=("function_results.json",),
    start=re.compile(rb"^\s*\{"),
    marks=(b'"decompilers"',),
)


class DecbenchImporter:
    """Reads each decompiler's result for a function as a run, which passes if it is perfect by every metric."""

    name = "decbench"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(reported="agent checks extra", derived="family")

    def recognises(self, path: Path) -> bool:
        """Whether a file is called and begins as decbench's results do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every file; `--map success=METRIC` makes one metric the result."""
        unknown = request.columns.keys() - {"success"}
        if unknown:
            raise UsageError(f"decbench knows --map success=METRIC, and not {quote_names(sorted(unknown))}.")
        seen: set[str] = set()
        for file in _FILES.files(request.path):
            for run in _file_runs(file, request, notes):
                if run.run_id in seen:
                    said = f"{file} has functions whose names were there before; the first results are taken."
                    notes.warn(said, topic=f"again: {file}")
                    continue
                seen.add(run.run_id)
                yield run


def _file_runs(file: Path, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    document = read_json_object(file, notes)
    metrics = names_at(document, "metrics") or ()
    metric = request.columns.get("success")
    if metric is not None and metric not in metrics:
        raise UsageError(f"--map success={metric}: there is no such metric in {file}; there is {quote_names(metrics)}.")
    versions, arms = dict_at(document, "decompiler_versions"), names_at(document, "decompilers")
    if not arms or len(arms) < len(as_list(document["decompilers"])):
        notes.unread(file, 0, "'decompilers' is not a list of names")
    for group in listed_objects(document, "groups", file, notes):
        place = [name_at(group, key) or "unknown" for key in ("project", "opt_level", "binary")]
        for function in listed_objects(group, "functions", file, notes):
            name = name_at(function, "function")
            if name is None:
                notes.unread(file, 0, f"a function of {'/'.join(place)} has no name")
                continue
            for arm in arms or ():
                yield imported_run(
                    run_id=stable_id("decbench", arm, *place, name),
                    task_id=stable_id(*place, name),
                    arm=stable_id(arm),
                    repeat=1,
                    agent=real_agent(arm, name_at(versions, arm)),
                    family=as_name(place[0]),
                    checks=tuple(_checks(function, arm, metrics, metric)),
                    extra=extra_fields(dict_at(function, "values", arm)),
                )


def _checks(function: Mapping[str, Any], arm: str, metrics: Sequence[str], chosen: str | None) -> Iterator[CheckResult]:
    """One required check, and what each metric says. What was not decompiled is not perfect."""
    perfects = dict_at(function, "perfects", arm)
    is_missing = dict_at(function, "decompiled").get(arm) is False
    stated = {name: _outcome(perfects.get(name), is_missing) for name in metrics}
    asked = list(stated.values()) if chosen is None else [stated[chosen]]
    yield outcome_check("perfect", False if False in asked else None if None in asked or not asked else True)
    for name, passed in stated.items():
        yield outcome_check(name, passed, required=False)


def _outcome(found: Any, is_missing: bool) -> bool | None:
    return found if isinstance(found, bool) else False if is_missing else None
