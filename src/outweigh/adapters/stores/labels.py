"""Labels that people gave: a CSV or JSON Lines file with run_id, criterion (may be left out), and score or label."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.compare.label import Label
from outweigh.errors import UsageError

WORDS = {
    **dict.fromkeys(("pass", "passed", "yes", "true", "good"), True),
    **dict.fromkeys(("fail", "failed", "no", "false", "bad"), False),
}
COLUMNS = frozenset({"run_id", "criterion", "score", "label"})


class LabelFile(NamedTuple):
    """The labels, and the hash of the file they came from."""

    labels: tuple[Label, ...]
    sha256: str


def read_labels(path: str) -> LabelFile:
    """Read a file by the end of its name; whatever cannot be a label is refused with its line."""
    try:
        content = Path(path).read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as fault:
        raise UsageError(f"--calibrate {path} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError:
        raise UsageError(f"--calibrate {path} is not UTF-8 text.") from None
    rows = _json_rows(text, path) if path.endswith(".jsonl") else _csv_rows(text, path)
    labels = tuple(_label(row, place) for place, row in rows)
    if not labels:
        raise UsageError(f"--calibrate {path} holds no label; a label has a run_id, and a score or a label.")
    if len({(label.run_id, label.criterion) for label in labels}) < len(labels):
        raise UsageError(f"--calibrate {path} labels a run, or a criterion of it, twice; settle on one label each.")
    return LabelFile(labels, sha256(content).hexdigest())


def _csv_rows(text: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except csv.Error as fault:
        raise UsageError(f"{path}:{reader.line_num} is not CSV: {fault}.") from None


def _json_rows(text: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as fault:
            raise UsageError(f"{path}:{number} is not JSON: {fault}.") from None
        if not isinstance(row, dict):
            raise UsageError(f"{path}:{number} is not a JSON object with a run_id, and a score or a label.")
        yield f"{path}:{number}", row


def _label(row: Mapping[str, Any], place: str) -> Label:
    if unknown := [str(name) for name in row if name not in COLUMNS]:
        raise UsageError(f"{place}: there is no column {unknown[0]!r}; there are {', '.join(sorted(COLUMNS))}.")
    run_id = row.get("run_id")
    if not isinstance(run_id, str) or not run_id:
        raise UsageError(f"{place}: run_id is missing.")
    score, word = _empty_as_none(row.get("score")), _empty_as_none(row.get("label"))
    if (score is None) == (word is None):
        raise UsageError(f"{place}: a label has either a score from 0 to 1 or a label such as pass or fail.")
    criterion = _empty_as_none(row.get("criterion"))
    return Label(
        run_id=run_id,
        criterion=None if criterion is None else str(criterion),
        score=None if score is None else _score(score, place),
        passed=None if word is None else _passed(word, place),
    )


def _empty_as_none(value: object) -> object:
    return None if value is None or (isinstance(value, str) and not value.strip()) else value


def _score(value: object, place: str) -> float:
    try:
        score = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except (ValueError, OverflowError):
        score = float("nan")
    if not (isfinite(score) and 0 <= score <= 1):
        raise UsageError(f"{place}: the score {value!r} is not a number from 0 to 1; bring your scale to that range.")
    return score


def _passed(value: object, place: str) -> bool:
    word = str(value).strip().lower()
    if word not in WORDS:
        raise UsageError(f"{place}: the label {value!r} is not one of {', '.join(WORDS)}.")
    return WORDS[word]
