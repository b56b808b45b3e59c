"""Importer of LiveCodeBench: `*_eval_all.json`, one model and scenario each."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
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
from outweigh.interop.result_files import FileMarks, listed_objects, read_json
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name, as_str
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_ENDING = "_eval_all.json"
_FILES = FileMarks(suffixes=(_ENDING,), start=re.compile(rb"^\s*\[\s*\{"), marks=(b'"question_id"', b'"code_list"'))
_OWN_WORDS = re.compile(r"_?codegeneration_output$")


class LiveCodeBenchImporter:
    """Reads a graded sample of a question as a run; a model is an arm, and so is a scenario where it has several."""

    name = "livecodebench"
    fields: Mapping[str, FieldOrigin] = field_origins(reported="checks family extra", derived="task_checksum")

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as graded samples do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every file; the samples of a question are repeats."""
        files = _FILES.files(request.path)
        arms = _arms(files)
        yield from with_repeat_numbers(
            run for file in files for run in _file_runs(file, request.arm or arms[file], notes)
        )


def _arms(files: Sequence[Path]) -> dict[Path, str]:
    """The arm of each file: the folder of a `Scenario.…` file, with the scenario where a folder has several."""
    scenarios: dict[str, set[str]] = defaultdict(set)
    named = {file: _model_and_scenario(file) for file in files}
    for model, scenario in named.values():
        scenarios[model].add(scenario)
    return {
        file: decode_file_name(model if len(scenarios[model]) == 1 else f"{model} {scenario}")[:200]
        for file, (model, scenario) in named.items()
    }


def _model_and_scenario(file: Path) -> tuple[str, str]:
    stem = file.name.removesuffix(_ENDING)
    if stem.startswith("Scenario."):
        return file.resolve().parent.name, stem.removeprefix("Scenario.")
    return _OWN_WORDS.sub("", stem) or file.resolve().parent.name, ""


def _file_runs(file: Path, arm: str, notes: ImportNotes) -> Iterator[RunRecord]:
    place = fingerprint([arm, file.name])[:16]
    for raw in listed_objects({"questions": read_json(file, notes)}, "questions", file, notes):
        question, graded = as_name(raw.get("question_id")), raw.get("graded_list")
        if question is None or not isinstance(graded, list):
            notes.unread(file, 0, "a question without an id or grades")
            continue
        for number, passed in enumerate(graded, start=1):
            if not isinstance(passed, bool):
                notes.unread(file, 0, f"sample {number} of {question[:100]!r} is neither passed nor failed")
                continue
            yield imported_run(
                run_id=stable_id("livecodebench", place, question, f"{number:06}"),
                task_id=question,
                arm=arm,
                repeat=1,
                family=as_name(raw.get("platform")),
                task_checksum=_checksum(raw.get("question_content")),
                checks=(outcome_check("tests", passed),),
                extra=extra_fields(
                    {
                        "sample": number,
                        "difficulty": as_name(raw.get("difficulty")),
                        "contest_date": None if parse_time(raw.get("contest_date")) is None else raw["contest_date"],
                    }
                ),
            )
    _state_pass_rate(file, arm, notes)


def _checksum(content: object) -> str | None:
    text = as_str(content)
    return None if text is None else fingerprint(text)


def _state_pass_rate(file: Path, arm: str, notes: ImportNotes) -> None:
    """The pass@1 of `*_eval.json`, which is written beside the graded samples."""
    beside = file.with_name(f"{file.name.removesuffix(_ENDING)}_eval.json")
    try:
        metrics = as_list(read_json(beside, ImportNotes())) if beside.is_file() else []
    except EvidenceError:
        return
    if metrics and (share := as_amount(as_dict(metrics[0]).get("pass@1"))) is not None:
        notes.state(arm, "accuracy", share)
