"""Importer of aider's benchmark: folders of runs with a hidden `.aider.results.json` for each exercise."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import decode_json_document, read_bytes, walk_files
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import amount_at, as_dict, as_name, name_at
from outweigh.model.usage import reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILE = ".aider.results.json"
_TIME = re.compile(r"^\d{4}(-\d\d){5}--(?=.)")
_OWN_FIELDS = frozenset({"testdir", "testcase", "model", "tests_outcomes", "cost", "duration"})


class AiderBenchmarkImporter:
    """Reads an exercise as a run, which passes as aider counts it: where a try passes the tests, of usually two.

    An arm is a run of the benchmark by its name without the time; several of one name are repeats.
    """

    name = "aider-benchmark"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="agent checks duration_seconds cost extra", derived="family"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file is called as aider calls its results, or a folder holds one."""
        try:
            return any(True for _ in _files(path))
        except (OSError, ValueError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every exercise."""
        runs = (_run(file, request, notes) for file in _files(request.path))
        yield from with_repeat_numbers(run for run in runs if run is not None)


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from walk_files(path, lambda name: name == _FILE)
    elif path.name == _FILE:
        yield path


def _run(file: Path, request: ImportRequest, notes: ImportNotes) -> RunRecord | None:
    found = as_dict(decode_json_document(read_bytes(file), file, notes))
    case, language, run_name = _place(file)
    task = "/".join(part for part in (language, name_at(found, "testcase") or case) if part)
    outcomes = found.get("tests_outcomes")
    if not isinstance(outcomes, list) and "exception" not in found:
        notes.unread(file, 0, "it has neither outcomes of tests nor an exception")
        return None
    return imported_run(
        run_id=stable_id("aider", run_name, task),
        task_id=stable_id(task),
        arm=stable_id(request.arm or _TIME.sub("", run_name)),
        repeat=1,
        agent=real_agent("aider", None, name_at(found, "model")),
        family=as_name(language),
        duration_seconds=amount_at(found, "duration"),
        # aider writes 0 where it does not know a model's price.
        cost=reported_cost(amount_at(found, "cost") or None),
        checks=tuple(_checks(outcomes)),
        extra=extra_fields({name: value for name, value in found.items() if name not in _OWN_FIELDS}),
    )


def _place(file: Path) -> tuple[str, str | None, str]:
    """The exercise, its language where the folders say one, and the run that it belongs to."""
    names = [decode_file_name(parent.name) for parent in file.resolve().parents] + [""] * 5
    if names[1:3] == ["practice", "exercises"]:
        return names[0], names[3], names[4]
    return names[0], None, names[1]


def _checks(outcomes: Any) -> Iterator[CheckResult]:
    """One required check: whether a try passed; and what the first try came to."""
    tries = [each for each in outcomes if isinstance(each, bool)] if isinstance(outcomes, list) else []
    is_known = bool(tries) and len(tries) == len(outcomes)
    yield outcome_check("tests", any(tries) if is_known else None)
    if is_known:
        yield outcome_check("first try", tries[0], required=False)
