"""Judgments from ProjectScylla's tables: `judges.csv` has the totals that judges stated, `criteria.csv` the parts."""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from outweigh.errors import EvidenceError
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.judgment import CriterionScore, JudgeIdentity, Judgment
from outweigh.record.usage import NO_USAGE

Row = Mapping[str, str]

RUN_COLUMNS = ("experiment", "agent_model", "tier", "subtest", "run_number")
JUDGE_COLUMNS = (*RUN_COLUMNS, "judge_model", "judge_number")


class Part(NamedTuple):
    """The points of one criterion; None where the judge gave none."""

    criterion: str
    achieved: float | None
    most: float | None
    evidence: str | None = None


def scylla_run_id(row: Row) -> str:
    """What ties a row of any of the tables to its run."""
    return "/".join(row[column] for column in RUN_COLUMNS)


def scylla_judgments(folder: Path) -> Iterator[Judgment]:
    """Every judgment, with its parts. What the project marked as invalid, or left without parts, stays invalid.

    A criterion weighs as many points as it has, and scores the share that was achieved; the rounded scores beside them
    are not used. The same model asked again about a run is its next pass.
    """
    parts: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in _rows(folder / "criteria.csv", (*JUDGE_COLUMNS, "criterion", "criterion_achieved", "criterion_max")):
        parts[_judge_key(row)].append(row)
    passes: Counter[tuple[str, str]] = Counter()
    for row in _rows(folder / "judges.csv", (*JUDGE_COLUMNS, "judge_score", "judge_is_valid")):
        run_id, model = scylla_run_id(row), row["judge_model"]
        passes[run_id, model] += 1
        yield _judgment(row, run_id, parts[_judge_key(row)], passes[run_id, model])


def scylla_judgment(
    *,
    run_id: str,
    model: str,
    pass_index: int,
    parts: Sequence[Part],
    valid: bool,
    stated_total: float | None,
    trouble: str | None = None,
    judged_at: datetime | None = None,
) -> Judgment:
    """What a judge said, from a table or a folder. `trouble` is what is known to have gone wrong with it."""
    found = trouble or _trouble(parts, valid=valid)
    return Judgment(
        run_id=run_id,
        run_sha256=None,
        judge=JudgeIdentity(name=model, model=model, version=None, rubric_sha256=None, prompt_sha256=None),
        pass_index=pass_index,
        invalid_reason=found,
        criteria=() if found else tuple(map(_criterion, parts)),
        grading=None,
        stated_total=stated_total,
        confidence=None,
        attempts=None,
        warnings=(),
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        judged_at=judged_at,
        duration_seconds=None,
    )


def _judgment(row: Row, run_id: str, parts: Sequence[Row], pass_index: int) -> Judgment:
    return scylla_judgment(
        run_id=run_id,
        model=row["judge_model"],
        pass_index=pass_index,
        parts=[
            Part(part["criterion"], _number(part["criterion_achieved"]), _number(part["criterion_max"]))
            for part in parts
        ],
        valid=row["judge_is_valid"].strip().lower() == "true",
        stated_total=_number(row["judge_score"]),
    )


def _trouble(parts: Sequence[Part], *, valid: bool) -> str | None:
    if not valid:
        return "marked as invalid by the project"
    if not parts:
        return "no criteria are recorded"
    for part in parts:
        if part.achieved is not None and part.most is not None and not 0 <= part.achieved <= part.most:
            return f"criterion {part.criterion!r} has {part.achieved:g} of {part.most:g} points"
    return None


def _criterion(part: Part) -> CriterionScore:
    if part.achieved is None or not part.most:
        return CriterionScore(criterion=part.criterion, weight=0.0, score=None, evidence=None)
    return CriterionScore(
        criterion=part.criterion, weight=part.most, score=part.achieved / part.most, evidence=part.evidence
    )


def _number(text: str) -> float | None:
    """A finite number; empty, `nan` and words are None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e12 else None


def _judge_key(row: Row) -> tuple[str, ...]:
    return tuple(row[column] for column in JUDGE_COLUMNS)


def _rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(stream)
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise EvidenceError(f"{path} has no column {missing[0]!r}; is it a table of ProjectScylla?")
            for row in reader:
                if None in row.values():
                    raise EvidenceError(f"{path}:{reader.line_num} has fewer columns than its header.")
                yield row
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise EvidenceError(f"{path} cannot be read: {fault}.") from fault
