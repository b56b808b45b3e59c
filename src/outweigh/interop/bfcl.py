"""Importer of the Berkeley Function-Calling Leaderboard: `result/` has a model's answers, `score/` the wrong ones."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import known_sum
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import read_head, read_json_lines, walk_files
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_list, as_name, as_str, name_at
from outweigh.model.usage import Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty

_NAME = re.compile(r"BFCL_v\d+_(?P<category>.+)_(?P<kind>result|score)\.json")
_KINDS = ("result", "score")
_NO_ANSWER = "Error during inference"


class _Place(NamedTuple):
    """A model and a category of questions."""

    model: str
    category: str


class BfclImporter:
    """Reads the answer to a question as a run; a model is an arm. What is not among its wrong answers is right."""

    name = "bfcl"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="usage duration_seconds extra", derived="checks status status_detail family"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a folder holds answers or scores, or a file is one of them."""
        try:
            return any(map(_is_own, _named(path)))
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the answers of every model, with its wrong ones."""
        answers, scores = _sorted_files(request.path)
        if not answers:
            raise EvidenceError(
                f"{request.path} has the wrong answers only, so the right ones have no names: name the folder that "
                "has `result` beside `score`."
            )
        right: Counter[str] = Counter()
        for place, file in answers.items():
            arm = request.arm or place.model
            score = scores.pop(place, None)
            if score is None:
                notes.warn(f"{place.category} of {place.model} was not scored, so what was right is unknown.")
            wrong = None if score is None else _wrong_answers(score, arm, right, notes)
            yield from _answers(file, place, arm, wrong, notes)
        for place in scores:
            notes.warn(f"{place.category} of {place.model} has a score and no answers; not read.")
        for arm, correct in right.items():
            notes.state(arm, "passes", correct)


def _named(path: Path) -> Iterator[Path]:
    if path.is_dir():
        return walk_files(path, lambda name: _NAME.fullmatch(name) is not None)
    return iter([path] if _NAME.fullmatch(path.name) else [])


def _is_own(file: Path) -> bool:
    start = read_head(file).lstrip()
    return start.startswith(b"{") and (b'"id"' in start or b'"correct_count"' in start)


def _sorted_files(root: Path) -> tuple[dict[_Place, Path], dict[_Place, Path]]:
    """The files of answers and of scores, by model and category."""
    found: dict[str, dict[_Place, Path]] = {kind: {} for kind in _KINDS}
    for file in _named(root):
        named = _NAME.fullmatch(file.name)
        if named is not None:
            place = _Place(_model_of(file, named["kind"]), named["category"])
            found[named["kind"]][place] = file
    return found["result"], found["score"]


def _model_of(file: Path, root: str) -> str:
    """The folder below `result` or `score`; else the one of the file. Folders between are groups of categories."""
    parts = file.resolve().parts[:-1]
    below = len(parts) - parts[::-1].index(root) if root in parts else len(parts) - 1
    return decode_file_name(parts[min(below, len(parts) - 1)])[:200]


def _wrong_answers(file: Path, arm: str, right: Counter[str], notes: ImportNotes) -> dict[str, str]:
    """The ids of the answers that were wrong, with the kind of error. The first line is the sum."""
    wrong: dict[str, str] = {}
    for line in read_json_lines(file, notes):
        if (correct := as_count(line.value.get("correct_count"))) is not None:
            right[arm] += correct
        elif (name := as_name(line.value.get("id"))) is not None:
            wrong[name] = name_at(line.value, "error", "error_type") or name_at(line.value, "error_type") or "wrong"
        else:
            notes.unread(file, line.number, "a wrong answer without an id")
    return wrong


def _answers(
    file: Path, place: _Place, arm: str, wrong: Mapping[str, str] | None, notes: ImportNotes
) -> Iterator[RunRecord]:
    named: set[str] = set()
    for line in read_json_lines(file, notes):
        question = as_name(line.value.get("id"))
        if question is None:
            notes.unread(file, line.number, "an answer without an id")
            continue
        named.add(question)
        yield _answer_run(line.value, question, place, arm, wrong)
    if wrong is not None and (missing := wrong.keys() - named):
        notes.warn(f"{len(missing):,} wrong answers of {arm} to {place.category} are not among its answers; not read.")


def _answer_run(
    raw: Mapping[str, Any], question: str, place: _Place, arm: str, wrong: Mapping[str, str] | None
) -> RunRecord:
    status, detail = _status(raw)
    why = None if wrong is None else wrong.get(question)
    prompt = _total(raw.get("input_token_count"))
    return imported_run(
        run_id=stable_id("bfcl", arm, question),
        task_id=question,
        arm=arm,
        repeat=1,
        status=status,
        status_detail=detail,
        agent=real_agent(None, None, place.model),
        family=as_name(place.category),
        duration_seconds=as_amount(_total(raw.get("latency"))),
        # Which part of the prompt was cached is not stated, so input is unknown.
        usage=usage_unless_empty(
            Usage(
                input_tokens=None,
                output_tokens=as_count(_total(raw.get("output_token_count"))),
                cache_read_tokens=None,
                cache_write_tokens=None,
            )
        ),
        checks=None
        if status is not Status.COMPLETED
        else (outcome_check("answer", None if wrong is None else question not in wrong, why),),
        extra=extra_fields({"prompt_tokens": as_count(prompt)}),
    )


def _status(raw: Mapping[str, Any]) -> tuple[Status, str | None]:
    """A request that the provider refused is no answer; the leaderboard counts it as a wrong one."""
    answer = as_str(raw.get("result"))
    if answer is None or not answer.startswith(_NO_ANSWER):
        return Status.COMPLETED, None
    is_infra = failure_from_text(answer, FailureKind.CRASH).kind.status is Status.INFRA_ERROR
    return (Status.INFRA_ERROR if is_infra else Status.COMPLETED), answer[:500]


def _total(value: object) -> float | None:
    """The sum of a number for each step of each turn, as answers of several turns have it."""
    if isinstance(value, list):
        return known_sum(map(_total, as_list(value))) if value else None
    return as_amount(value)
