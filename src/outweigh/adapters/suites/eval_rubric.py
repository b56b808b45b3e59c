"""What an eval expects, as checks and as a rubric."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.adapters.suites.eval_assertion import Statement, read_assertion
from outweigh.adapters.suites.eval_fields import excerpt
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.errors import UsageError
from outweigh.task.check import Check
from outweigh.task.rubric import BinaryCriterion, Criterion, Rubric, ScaledCriterion

EXPECTATIONS = (
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
EXPECTED_OUTPUTS = ("expected_output", "expected", "expected_result")
LONGEST = 15_000
MOST = 200
_ANCHORS = {"0": "nothing of it", "0.5": "about half of it, or all of it with serious faults", "1": "all of it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """`unread` are assertions that nobody could make anything of."""

    checks: list[Check]
    rubric: Rubric | None
    unread: tuple[str, ...]


def read_expected(case: dict[str, Any]) -> Expected:
    """Everything that an eval expects; UsageError where that is nothing, or more than a judge can be asked."""
    found = [(raw, read_assertion(raw)) for raw in _assertions(case) if not _says_nothing(raw)]
    checks = [reading for _, reading in found if reading is not None and not isinstance(reading, Statement)]
    statements = [reading for _, reading in found if isinstance(reading, Statement)]
    outcome = next((text for key in EXPECTED_OUTPUTS if isinstance(text := case.get(key), str) and text.strip()), None)
    criteria = list(_criteria(statements, outcome))
    if not checks and not criteria:
        raise UsageError("it says nothing about what is expected (expected_output, expectations)")
    if len(criteria) > MOST or len(checks) > MOST or _longest(criteria, outcome) > LONGEST:
        raise UsageError(f"it expects more than {MOST} things, or one of them in more than {LONGEST:,} letters")
    return Expected(
        checks=_named_apart(checks),
        rubric=_rubric(criteria, outcome if statements else None),
        unread=tuple(excerpt(raw) for raw, reading in found if reading is None),
    )


def _assertions(case: dict[str, Any]) -> Iterator[Any]:
    """Of all lists that may hold them; a table holds them by name."""
    for key in EXPECTATIONS:
        match case.get(key):
            case list() as found:
                yield from found
            case dict() as found:
                yield from ({"name": name, "text": text} for name, text in found.items())
            case str() as found:
                yield found


def _says_nothing(raw: Any) -> bool:
    """A place that was left blank is no assertion that nobody understands."""
    return raw is None or (isinstance(raw, str) and not raw.strip())


def _criteria(statements: Iterable[Statement], outcome: str | None) -> Iterator[Criterion]:
    """One for each statement; the outcome as a whole only where nobody has taken it apart."""
    stated = list(statements)
    names = apart(folder_name(each.name or each.text, "expectation") for each in stated)
    for name, statement in zip(names, stated, strict=True):
        yield BinaryCriterion(name=name, description=statement.text)
    if outcome is not None and not stated:
        words = f"How much of this came true? {outcome.strip()}"
        yield ScaledCriterion(name="as-expected", description=words, anchors=_ANCHORS)


def _rubric(criteria: list[Criterion], outcome: str | None) -> Rubric | None:
    """What success looks like is for judges to know, and no criterion beside those that its author named."""
    if not criteria:
        return None
    notes = None if outcome is None else f"What its author expects as a whole: {outcome.strip()}"
    return Rubric(criteria=criteria, notes=notes)


def _longest(criteria: Iterable[Criterion], outcome: str | None) -> int:
    return max((len(outcome or ""), *(len(criterion.description) for criterion in criteria)))


def _named_apart(checks: list[Check]) -> list[Check]:
    names = apart(check.name for check in checks)
    return [msgspec.structs.replace(check, name=name) for check, name in zip(checks, names, strict=True)]
