"""What an eval expects of a run, as checks and as a rubric.

An assertion becomes a check if a program can decide it, else a criterion for a judge.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.interop.skill_creator.eval_checks import (
    JUDGE_KEYS,
    TEXT_KEYS,
    EvalTable,
    first_text,
    read_eval_check,
    shorten,
)
from outweigh.interop.suite_drafting import make_unique, slug
from outweigh.model.rubric import BinaryCriterion, Criterion, Rubric, ScaledCriterion
from outweigh.model.task import AnswerContainsCheck, Check

_QUOTED = r"(?:'[^']+'|\"[^\"]+\")"
_CONTAINS = re.compile(rf"contains {_QUOTED}(?: or (?:contains )?{_QUOTED})*", re.IGNORECASE)
_JUDGE_TYPES = ("llm", "judge", "model_graded", "rubric")
"""Prefixes of types for which a model is asked; the question is under one of `JUDGE_KEYS`."""

_LACKS = re.compile(rf"(?:does not contain|not contains) {_QUOTED}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStatement:
    """A statement for a judge, and the name that its author gave it."""

    name: str | None
    text: str


def read_assertion(raw: Any) -> Check | JudgedStatement | None:
    """A check, a statement for a judge, or None if its meaning is unclear."""
    if isinstance(raw, str):
        said = raw.replace("\0", "").strip()
        return (_check_of_sentence(said) or JudgedStatement(name=None, text=said)) if said else None
    if not isinstance(raw, dict):
        return None
    kind = _assertion_type(raw)
    if not kind.startswith("file"):
        raw = {key: value for key, value in raw.items() if key != "target"}  # of others, it says "output"
    if (check := read_eval_check(raw, kind)) is not None:
        return check
    text = first_text(raw, (*TEXT_KEYS, *JUDGE_KEYS) if kind.startswith(_JUDGE_TYPES) else TEXT_KEYS)
    return None if text is None else JudgedStatement(name=first_text(raw, ("name", "id")), text=text)


def _check_of_sentence(said: str) -> Check | None:
    """The check in sentences such as `contains 'x' or contains 'y'` and `does not contain 'x'`, without
    regard to case.
    """
    sentence = said.rstrip(".")
    lacks = _LACKS.fullmatch(sentence) is not None
    if not lacks and _CONTAINS.fullmatch(sentence) is None:
        return None
    words = [quoted[1:-1] for quoted in re.findall(_QUOTED, sentence)]
    regex = f"(?i){'|'.join(map(re.escape, words))}"
    return AnswerContainsCheck(name=slug(said, "answer"), regex=regex, absent=lacks)


def _assertion_type(raw: EvalTable) -> str:
    kind = raw.get("type")
    return kind.strip().lower().replace("-", "_") if isinstance(kind, str) else ""


EXPECTATION_KEYS = (
    "expectations",
    "assertions",
    "expected_behavior",
    "expected_behaviors",
    "expected_behaviour",
    "criteria",
    "rubric",
    "scorers",
    "graders",
    "checks",
    "evaluation_criteria",
    "deterministic_assertions",
)
EXPECTED_OUTPUT_KEYS = ("expected_output", "expected", "expected_result")
LONGEST_RUBRIC = 15_000
MOST_CRITERIA = 200
_ANCHORS = {"0": "nothing of it", "0.5": "about half of it, or all of it with serious faults", "1": "all of it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedResult:
    """What an eval expects. `unread` are assertions whose meaning is unclear."""

    checks: list[Check]
    rubric: Rubric | None
    unread: tuple[str, ...]


def read_expected(case: dict[str, Any]) -> ExpectedResult:
    """Everything that an eval expects; UsageError if that is nothing, or more than a judge can be asked."""
    found = [(raw, read_assertion(raw)) for raw in _read_assertions(case) if not _says_nothing(raw)]
    checks = [reading for _, reading in found if reading is not None and not isinstance(reading, JudgedStatement)]
    statements = [reading for _, reading in found if isinstance(reading, JudgedStatement)]
    outcome = next(
        (text for key in EXPECTED_OUTPUT_KEYS if isinstance(text := case.get(key), str) and text.strip()), None
    )
    criteria = list(_criteria(statements, outcome))
    if not checks and not criteria:
        raise UsageError("it says nothing about what is expected (expected_output, expectations)")
    if (
        len(criteria) > MOST_CRITERIA
        or len(checks) > MOST_CRITERIA
        or _rubric_length(criteria, outcome) > LONGEST_RUBRIC
    ):
        raise UsageError(
            f"it expects more than {MOST_CRITERIA} things, or one of them in more than {LONGEST_RUBRIC:,} letters"
        )
    return ExpectedResult(
        checks=_with_unique_names(checks),
        rubric=_rubric(criteria, outcome if statements else None),
        unread=tuple(shorten(raw) for raw, reading in found if reading is None),
    )


def _read_assertions(case: dict[str, Any]) -> Iterator[Any]:
    """The assertions of all lists that may hold them; a table holds them by name."""
    for key in EXPECTATION_KEYS:
        match case.get(key):
            case list() as found:
                yield from found
            case dict() as found:
                yield from ({"name": name, "text": text} for name, text in found.items())
            case str() as found:
                yield found


def _says_nothing(raw: Any) -> bool:
    """Whether an assertion was left blank, which is not the same as unclear."""
    return raw is None or (isinstance(raw, str) and not raw.strip())


def _criteria(statements: Iterable[JudgedStatement], outcome: str | None) -> Iterator[Criterion]:
    """A criterion for each statement; the outcome as a whole only if there is no statement."""
    stated = list(statements)
    names = make_unique(slug(each.name or each.text, "expectation") for each in stated)
    for name, statement in zip(names, stated, strict=True):
        yield BinaryCriterion(name=name, description=statement.text)
    if outcome is not None and not stated:
        words = f"How much of this came true? {outcome.strip()}"
        yield ScaledCriterion(name="as-expected", description=words, anchors=_ANCHORS)


def _rubric(criteria: list[Criterion], outcome: str | None) -> Rubric | None:
    """The rubric. The expected outcome is a note for judges, not a criterion beside those that the author named."""
    if not criteria:
        return None
    notes = None if outcome is None else f"What its author expects as a whole: {outcome.strip()}"
    return Rubric(criteria=criteria, notes=notes)


def _rubric_length(criteria: Iterable[Criterion], outcome: str | None) -> int:
    return max((len(outcome or ""), *(len(criterion.description) for criterion in criteria)))


def _with_unique_names(checks: list[Check]) -> list[Check]:
    names = make_unique(check.name for check in checks)
    return [msgspec.structs.replace(check, name=name) for check, name in zip(checks, names, strict=True)]
