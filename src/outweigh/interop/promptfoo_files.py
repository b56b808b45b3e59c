"""The files of promptfoo: JSON, JSON Lines, YAML and CSV that `promptfoo eval -o` writes, and its database.

Every form gives the results as the JSON has them, evaluation by evaluation.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.errors import EvidenceError, requires_extra
from outweigh.interop.imported_run import fingerprint
from outweigh.interop.result_files import read_bytes, read_head, read_json, read_json_lines, read_text, to_utf8
from outweigh.interop.sqlite_files import is_sqlite_file, open_sqlite, query_rows, table_names
from outweigh.model.json_text import decode_json
from outweigh.model.untrusted_json import as_dict, as_list, as_name
from outweigh.ports.importers import ImportNotes

_SNIFFED_BYTES = 2**18
_YAML_BYTES = 64 * 2**20
_OBJECT = re.compile(rb"^(\xef\xbb\xbf)?\s*\{")
_TABLES = frozenset({"evals", "eval_results"})
_JSON_COLUMNS = ("test_case", "prompt", "provider", "response", "grading_result", "named_scores")
_FIELD_OF_COLUMN = {
    "prompt_idx": "promptIdx",
    "test_idx": "testIdx",
    "test_case": "testCase",
    "latency_ms": "latencyMs",
    "failure_reason": "failureReason",
    "grading_result": "gradingResult",
    "named_scores": "namedScores",
}
_OUTPUT_COLUMN = re.compile(r"\[(?P<provider>[^\]]+)\] ?(?P<prompt>.*)", re.DOTALL)
_STATUS_MARK = re.compile(r"\[(?P<status>PASS|FAIL|ERROR)\]\s*(\((?P<score>[\d.]+)\))?", re.IGNORECASE)


class Evaluation(NamedTuple):
    """The results of one evaluation, each as promptfoo's JSON has it, and the document around them."""

    evaluation_id: str
    results: list[Any]
    document: Mapping[str, Any]


def is_promptfoo_file(path: Path) -> bool:
    """Whether a file has field names that only promptfoo uses together, or is its database."""
    suffix = path.suffix.lower()
    if is_sqlite_file(path):
        return _is_database(path)
    start = read_head(path, _SNIFFED_BYTES)
    if suffix == ".csv":
        return _is_csv(start)
    if suffix in (".yaml", ".yml"):
        return b"promptIdx:" in start and b"testIdx:" in start
    if suffix not in (".json", ".jsonl") or _OBJECT.match(start) is None:
        return False
    if all(field in start for field in (b'"promptIdx"', b'"testIdx"')):
        return True
    marks = (b'"tokenUsage"', b'"vars"', b'"success"', b'"results"')
    return suffix == ".json" and all(field in start for field in marks)


def _is_database(path: Path) -> bool:
    with suppress(EvidenceError), open_sqlite(path, "promptfoo", _TABLES) as database:
        return table_names(database) >= _TABLES
    return False


def _is_csv(start: bytes) -> bool:
    with suppress(csv.Error, StopIteration):
        lines = csv.reader(StringIO(start.decode("utf-8", "replace")))
        header, first = next(lines), next(lines)
        outputs = [place for place, name in enumerate(header) if _OUTPUT_COLUMN.fullmatch(name)]
        marked = any(_STATUS_MARK.match(first[place]) for place in outputs if place < len(first))
        return bool(outputs) and (marked or {"Status", "Grader Reason"} <= set(header))
    return False


def read_evaluations(path: Path, notes: ImportNotes) -> Iterator[Evaluation]:
    """The evaluations of a file; all but a database hold one."""
    suffix = path.suffix.lower()
    if is_sqlite_file(path):
        yield from _database_evaluations(path)
    elif suffix == ".csv":
        yield _evaluation({}, list(_csv_results(path, notes)))
    elif suffix == ".jsonl":
        yield _evaluation({}, [line.value for line in read_json_lines(path, notes)])
    else:
        yield _document_evaluation(_read_yaml(path, notes) if suffix != ".json" else read_json(path, notes), path)


def _document_evaluation(content: Any, path: Path) -> Evaluation:
    document = as_dict(content)
    document = as_dict(document.get("data")) or document
    inner = document["results"] if isinstance(document.get("results"), dict) else document
    if not isinstance(inner.get("results"), list):
        raise EvidenceError(f"{path} has no results of promptfoo; was it written by `promptfoo eval -o`?")
    named = as_name(document.get("evalId")) or as_name(document.get("id"))
    return _evaluation(inner, as_list(inner["results"]), named)


def _evaluation(document: Mapping[str, Any], results: list[Any], named: str | None = None) -> Evaluation:
    return Evaluation(named or fingerprint(results)[:16], results, document)


def _read_yaml(path: Path, notes: ImportNotes) -> Any:
    """A YAML document, in which promptfoo refers to a value that occurs twice; references within such are refused,
    because they could expand without end.
    """
    with requires_extra("reading YAML", "yaml"):
        yaml = import_module("yaml")  # slow to load, and few need it
    content = to_utf8(read_bytes(path, _YAML_BYTES), path, notes)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        anchored: list[bool] = []
        for event in yaml.parse(content, loader):
            if isinstance(event, yaml.CollectionStartEvent):
                anchored.append(event.anchor is not None)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchored.pop()
            elif isinstance(event, yaml.AliasEvent) and any(anchored):
                raise EvidenceError(f"{path} has references within references; write JSON by `promptfoo eval -o`.")
        return yaml.load(content, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        raise EvidenceError(f"{path} is not valid YAML: {' '.join(str(fault).split())[:200]}.") from None


def _database_evaluations(path: Path) -> Iterator[Evaluation]:
    with open_sqlite(path, "promptfoo", _TABLES) as database:
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in query_rows(database, "SELECT * FROM eval_results ORDER BY eval_id, test_idx, prompt_idx, id"):
            found[str(row.get("eval_id"))].append(_database_result(row))
        for row in query_rows(database, "SELECT id, results FROM evals ORDER BY created_at, id"):
            evaluation = str(row["id"])
            # Older versions kept all results of an evaluation as one document.
            whole = as_dict(_json(row["results"]))
            results = found.get(evaluation) or as_list(whole.get("results"))
            if results:
                yield Evaluation(evaluation, results, whole)


def _database_result(row: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: _json(value) if name in _JSON_COLUMNS else value for name, value in row.items()}
    result = {_FIELD_OF_COLUMN.get(name, name): value for name, value in known.items() if value is not None}
    return result | ({"success": bool(row["success"])} if row.get("success") in (0, 1) else {})


def _json(value: Any) -> Any:
    with suppress(ValueError):
        return decode_json(value.encode("utf-8", "replace")) if isinstance(value, str) else None
    return value


def _csv_results(path: Path, notes: ImportNotes) -> Iterator[dict[str, Any]]:
    """The results of a table with a row per test, and for every provider and prompt a column followed by columns with
    the same names each time.
    """
    try:
        rows = csv.reader(StringIO(read_text(path, notes), newline=""), strict=True)
        header = next(rows, [])
        outputs = [place for place, name in enumerate(header) if _OUTPUT_COLUMN.fullmatch(name)]
        if not outputs:
            raise EvidenceError(f"{path} has no column of a provider; was it written by `promptfoo eval -o`?")
        for number, row in enumerate(rows):
            if len(row) != len(header):
                notes.unread(path, number + 2, f"{len(row)} cells under {len(header)} columns")
                continue
            test = dict(zip(header[: outputs[0]], row[: outputs[0]], strict=True))
            for index, (place, end) in enumerate(zip(outputs, [*outputs[1:], len(header)], strict=True)):
                about = dict(zip(header[place + 1 : end], row[place + 1 : end], strict=True))
                yield _csv_result(header[place], row[place], about, test) | {"promptIdx": index, "testIdx": number}
    except csv.Error as fault:
        raise EvidenceError(f"{path} is not a CSV file that can be read: {fault}.") from None


def _csv_result(column: str, output: str, about: Mapping[str, str], test: Mapping[str, str]) -> dict[str, Any]:
    named = _OUTPUT_COLUMN.fullmatch(column)
    mark = _STATUS_MARK.match(output)
    status = (about.get("Status") or (mark["status"] if mark else "")).upper()
    score = about.get("Score") or (mark["score"] if mark else None)
    reason = about.get("Grader Reason") or None
    variables = {name: value for name, value in test.items() if name != "Description"}
    result: dict[str, Any] = {
        "testCase": {"description": test.get("Description") or None, "vars": variables},
        "provider": {"id": named["provider"] if named else column},
        "prompt": {"label": named["prompt"] if named else ""},
        "failureReason": {"PASS": 0, "FAIL": 1, "ERROR": 2}.get(status),
        "error": (reason or output) if status == "ERROR" else None,
        "gradingResult": {"pass": status == "PASS", "reason": reason},
    }
    with suppress(ValueError):
        result["score"] = float(score) if score else None
        result["latencyMs"] = float(about["Latency (ms)"]) if about.get("Latency (ms)") else None
    return result | ({"success": status == "PASS"} if status in ("PASS", "FAIL", "ERROR") else {})
