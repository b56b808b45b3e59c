"""Importer of EvalPlus, and of BigCodeBench, which writes the same files: `*_eval_results.json`, one model each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import FileMarks, read_json
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name, dict_at, name_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=("eval_results.json",),
    start=re.compile(rb'^\s*\{\s*"date"\s*:\s*"[^"]*"\s*,\s*(?:"hash"\s*:\s*"[^"]*"\s*,\s*)?"eval"\s*:\s*\{'),
)
_PASSED = frozenset({"pass", "success"})
_FAILED = frozenset({"fail", "failed", "timeout", "timed out"})
_ENDING = re.compile(r"[_-]?eval_results$")


class EvalPlusImporter:
    """Reads a sample of a problem as a run, which passes with all tests, extra ones too; a model is an arm."""

    name = "evalplus"
    fields: Mapping[str, FieldOrigin] = field_origins(reported="checks", derived="family task_checksum extra")

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as the results of EvalPlus do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every file; the samples of a problem are repeats, and so are those of several files of one model."""
        yield from with_repeat_numbers(
            run for file in _FILES.files(request.path) for run in _file_runs(file, request, notes)
        )


def _file_runs(file: Path, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    document = as_dict(read_json(file, notes))
    arm = request.arm or _model_of(file)
    problems = document.get("eval")
    if not isinstance(problems, dict):
        notes.unread(file, 0, "it has no object 'eval'")
        return
    place = fingerprint({"date": document.get("date"), "hash": document.get("hash"), "arm": arm})[:16]
    for problem, found in problems.items():
        samples = _samples(found)
        if not samples:
            notes.unread(file, 0, f"{problem[:100]!r} has no samples")
        for number, (base, plus) in enumerate(samples, start=1):
            checks = tuple(_checks(base, plus))
            if not checks:
                notes.unread(file, 0, f"sample {number} of {problem[:100]!r} says neither pass nor fail")
                continue
            yield imported_run(
                run_id=stable_id("evalplus", place, problem, f"{number:06}"),
                task_id=stable_id(problem),
                arm=arm,
                repeat=1,
                family=as_name(problem.partition("/")[0]),
                checks=checks,
                extra=extra_fields({"sample": number, "base_status": base, "plus_status": plus}),
            )
    for tests in ("base", "plus"):
        for metric, value in dict_at(document, "pass_at_k", tests).items():
            if (share := as_amount(value)) is not None:
                notes.state(arm, f"{metric} {tests}", share)


def _model_of(file: Path) -> str:
    """The model, by the file's name; by that of its folder where the file is called `eval_results.json`."""
    return decode_file_name(_ENDING.sub("", file.stem) or file.resolve().parent.name)[:200]


def _samples(found: object) -> list[tuple[str | None, str | None]]:
    """What the tests say of each sample, those of the benchmark and those that EvalPlus added.

    Until version 0.2 they are lists beside each other, each entry with its status first. BigCodeBench has one status.
    """
    if isinstance(found, list):
        return [
            (name_at(each, "base_status") or name_at(each, "status"), name_at(each, "plus_status")) for each in found
        ]
    base, plus = (as_list(as_dict(found).get(kind)) for kind in ("base", "plus"))
    return [
        (_status_of(each), _status_of(plus[number]) if number < len(plus) else None) for number, each in enumerate(base)
    ]


def _status_of(entry: Any) -> str | None:
    return as_name(entry[0]) if isinstance(entry, list) and entry else None


def _checks(base: str | None, plus: str | None) -> Iterator[CheckResult]:
    """One required check, of all tests that were run, and what each kind of tests says."""
    stated = {kind: _passed(status) for kind, status in (("base", base), ("plus", plus)) if status is not None}
    if not stated:
        return
    known = stated.values()
    yield outcome_check("tests", False if False in known else None if None in known else True)
    for kind, passed in stated.items():
        yield outcome_check(f"{kind} tests", passed, required=False)


def _passed(status: str) -> bool | None:
    return True if status in _PASSED else False if status in _FAILED else None
