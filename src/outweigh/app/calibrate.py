"""Calibrate judges: compare recorded judgments with people's labels (a CSV or JSON Lines file). No judge is called."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.compare.calibrate import calibrate
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import refuse_invalid
from outweigh.model.judgment import Calibration, Judgment
from outweigh.model.run_record import RunRecord
from outweigh.score.judge_scores import HumanLabel, JudgeRule, LabelAgreement
from outweigh.store.judging_file import write_calibration
from outweigh.store.records import RecordReader
from outweigh.store.store_set import StoreSet

LABEL_WORDS = {
    **dict.fromkeys(("pass", "passed", "yes", "true", "good"), True),
    **dict.fromkeys(("fail", "failed", "no", "false", "bad"), False),
}
LABEL_COLUMNS = frozenset({"run_id", "criterion", "score", "label", "note"})
"""A note is for people. A row that has only a note is skipped."""


class LabelFile(NamedTuple):
    """The labels, and the hash of the file they came from."""

    labels: tuple[HumanLabel, ...]
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
    labels = tuple(_label(row, place) for place, row in rows if not _has_only_note(row))
    if not labels:
        raise UsageError(f"--calibrate {path} holds no label; a label has a run_id, and a score or a label.")
    if len({(label.run_id, label.criterion) for label in labels}) < len(labels):
        raise UsageError(f"--calibrate {path} labels a run, or a criterion of it, twice; keep one label each.")
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


def _has_only_note(row: Mapping[str, Any]) -> bool:
    said = {name for name, value in row.items() if _empty_as_none(value) is not None}
    return "note" in said and said <= {"run_id", "criterion", "note"}


def _label(row: Mapping[str, Any], place: str) -> HumanLabel:
    if unknown := [str(name) for name in row if name not in LABEL_COLUMNS]:
        raise UsageError(f"{place}: there is no column {unknown[0]!r}; there are {', '.join(sorted(LABEL_COLUMNS))}.")
    run_id = row.get("run_id")
    if not isinstance(run_id, str) or not run_id:
        raise UsageError(f"{place}: run_id is missing.")
    score, word = _empty_as_none(row.get("score")), _empty_as_none(row.get("label"))
    if (score is None) == (word is None):
        raise UsageError(f"{place}: a label has either a score from 0 to 1 or a label such as pass or fail.")
    criterion = _empty_as_none(row.get("criterion"))
    return HumanLabel(
        run_id=run_id,
        criterion=None if criterion is None else str(criterion),
        score=None if score is None else _parse_score(score, place),
        passed=None if word is None else _parse_passed(word, place),
    )


def _empty_as_none(value: object) -> object:
    return None if value is None or (isinstance(value, str) and not value.strip()) else value


def _parse_score(value: object, place: str) -> float:
    try:
        score = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else float("nan")
    except (ValueError, OverflowError):
        score = float("nan")
    if not (isfinite(score) and 0 <= score <= 1):
        raise UsageError(f"{place}: the score {value!r} is not a number from 0 to 1; convert your scale to that range.")
    return score


def _parse_passed(value: object, place: str) -> bool:
    word = str(value).strip().lower()
    if word not in LABEL_WORDS:
        raise UsageError(f"{place}: the label {value!r} is not one of {', '.join(LABEL_WORDS)}.")
    return LABEL_WORDS[word]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateRequest:
    """Recorded judgments, people's labels of the same runs, and whose judgments count (without names, everyone's)."""

    runs: str
    labels: str
    judges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """How far each judge agrees with the labels, and the agreement that the suite demands of it."""

    calibrations: Sequence[Calibration]
    required_alphas: Sequence[float | None]

    @property
    def is_met(self) -> bool:
        """Whether every judge agrees as far as the suite demands."""
        return all(map(_meets_requirement, self.calibrations, self.required_alphas))


def calibrate_store(request: CalibrateRequest) -> Calibrated:
    """Compare, and keep the result beside the runs; of a file without a store it is kept nowhere."""
    labels, judge_rules = read_labels(request.labels), StoreSet.open([request.runs]).judge_rules()
    judgments: list[Judgment] = []
    tasks: dict[str, str] = {}
    for located in RecordReader(request.runs).records(refuse_invalid):
        record = located.record
        if isinstance(record, RunRecord):
            tasks[record.run_id] = record.trial.task_id
        elif isinstance(record, Judgment) and (not request.judges or record.judge.name in request.judges):
            judgments.append(record)
    calibrations = calibrate(judgments, labels.labels, labels.sha256, tasks=tasks, judge_rules=judge_rules)
    if not calibrations:
        raise EvidenceError(
            f"no label of {request.labels} is about a run that has a record and a usable judgment in {request.runs}. "
            "Labels name runs by their run_id; `outweigh store export RUNS -o runs.csv` lists them."
        )
    if Path(request.runs).is_dir():
        for calibration in calibrations:
            write_calibration(Path(request.runs), calibration)
    required = [_required_alpha(calibration, judge_rules.rules) for calibration in calibrations]
    return Calibrated(calibrations=calibrations, required_alphas=required)


def _required_alpha(calibration: Calibration, rules: Mapping[str, JudgeRule]) -> float | None:
    return rules[calibration.judge.name].minimum_alpha if calibration.judge.name in rules else None


def _meets_requirement(calibration: Calibration, required: float | None) -> bool:
    return required is None or LabelAgreement.of(calibration).shortfall(required) is None
