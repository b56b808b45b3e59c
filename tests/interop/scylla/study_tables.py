"""A whole study in the shape of ProjectScylla's tables: 7 tiers, 120 sub-tests, 3 tests, 3 repeats, 3 judges.

`write_study(folder)` writes `runs.csv`, `judges.csv` and `criteria.csv`, as an analysis of the project does, in a
fraction of a second. The figures are drawn from a seed: the same arguments write the same bytes. `lost` and `invalid`
are the shares of judgments that are missing from `judges.csv` and `criteria.csv`, or are marked as invalid there. Which
ones is drawn apart from the figures, so every other row, and all of `runs.csv`, stays as it is in the complete study.

The sub-tests of tier 0 are replicates: they are drawn from one configuration, with the same chances and costs. Those of
other tiers differ a little from each other, and tiers differ by `TIER_EFFECTS`.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, NamedTuple

SUBTESTS = (24, 10, 15, 41, 14, 15, 1)
"""How many sub-tests each tier has, from T0 up: 120 in all."""

TIER_EFFECTS = (0.0, 0.02, 0.03, -0.02, -0.04, 0.05, 0.01)
MODEL = "Sonnet 4.5"
JUDGES = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5")
CRITERIA = {
    "functional": 3.5,
    "code_quality": 3.0,
    "proportionality": 3.5,
    "build_pipeline": 1.0,
    "overall_quality": 2.0,
}
_RUN_KEYS = ("experiment", "agent_model", "tier", "subtest", "run_number")
_JUDGE_KEYS = (*_RUN_KEYS, "judge_model", "judge_number")
_GRADES = ((1.0, "S"), (0.8, "A"), (0.6, "B"), (0.4, "C"), (0.2, "D"))
_INVALID = {"judge_score": 0.0, "judge_impl_rate": "", "judge_passed": False, "judge_is_valid": False}
_Row = dict[str, Any]


class StudyShape(NamedTuple):
    """How large a study is: the sub-tests of each tier, and how many tests, repeats and judges there are."""

    subtests: Sequence[int] = SUBTESTS
    tests: int = 3
    repeats: int = 3
    judges: int = 3


class StudyTables(NamedTuple):
    """The rows of the three tables."""

    runs: list[_Row]
    judges: list[_Row]
    criteria: list[_Row]


def write_study(
    folder: Path, *, lost: float = 0.0, invalid: float = 0.0, shape: StudyShape | None = None, seed: int = 0
) -> StudyTables:
    """Write the tables of a study into a folder, and return their rows."""
    tables = draw_study(lost=lost, invalid=invalid, shape=shape, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("runs", tables.runs), ("judges", tables.judges), ("criteria", tables.criteria)):
        write_table(folder / f"{name}.csv", rows)
    return tables


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows of one table, with the columns of the first."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def draw_study(
    *, lost: float = 0.0, invalid: float = 0.0, shape: StudyShape | None = None, seed: int = 0
) -> StudyTables:
    """The rows of a study, without writing them."""
    wanted = shape or StudyShape()
    draws, removals = Random(f"figures {seed}"), Random(f"removals {seed}")
    tables = StudyTables([], [], [])
    for keys, quality, cost in _planned_runs(wanted, draws):
        judged = [_judgment(keys, number, quality, draws) for number in range(1, wanted.judges + 1)]
        tables.runs.append(_run(keys, cost, judged, draws))
        for judge, criteria in judged:
            chance = removals.random()
            if chance < lost:
                continue
            usable = chance >= lost + invalid
            tables.judges.append(judge if usable else judge | _INVALID)
            tables.criteria.extend(criteria if usable else ())
    return tables


def _planned_runs(shape: StudyShape, draws: Random) -> Iterator[tuple[_Row, float, float]]:
    """The keys of each run, its expected quality and its expected cost."""
    difficulty = [draws.uniform(-0.15, 0.15) for _ in range(shape.tests)]
    for tier, count in enumerate(shape.subtests):
        for subtest in range(count):
            own, price = (0.0, 1.0) if tier == 0 else (draws.gauss(0.0, 0.02), draws.uniform(0.9, 1.3))
            for test, harder in enumerate(difficulty, start=1):
                for number in range(1, shape.repeats + 1):
                    keys = dict(
                        zip(_RUN_KEYS, (_experiment(test), MODEL, f"T{tier}", f"{subtest:02}", number), strict=True)
                    )
                    yield keys, 0.72 + TIER_EFFECTS[tier % 7] + own - harder, 0.12 * price * (1 + 0.08 * tier)


def _experiment(test: int) -> str:
    return f"2026-02-{test:02}T06-13-07-test-{test:03}"


def _judgment(keys: _Row, number: int, quality: float, draws: Random) -> tuple[_Row, list[_Row]]:
    """What one judge says about a run: its row, and those of its criteria."""
    by = keys | {"judge_model": JUDGES[(number - 1) % len(JUDGES)], "judge_number": number}
    points = {name: round(_fraction(draws.gauss(quality, 0.2)) * most, 2) for name, most in CRITERIA.items()}
    rate = sum(points.values()) / sum(CRITERIA.values())
    score = round(_fraction(draws.gauss(rate, 0.03)), 2)
    judge = by | {
        "judge_score": score,
        "judge_impl_rate": rate,
        "judge_passed": score >= 0.6,
        "judge_grade": _grade(score),
        "judge_is_valid": True,
        "judge_reasoning": "It does what was asked, with small faults.",
    }
    criteria = [
        by
        | {
            "criterion": name,
            "criterion_score": round(points[name] / most, 2),
            "criterion_achieved": points[name],
            "criterion_max": most,
        }
        for name, most in CRITERIA.items()
    ]
    return judge, criteria


def _run(keys: _Row, cost: float, judged: Sequence[tuple[_Row, list[_Row]]], draws: Random) -> _Row:
    score = fmean(judge["judge_score"] for judge, _ in judged)
    agreed = sum(judge["judge_passed"] for judge, _ in judged) * 2 > len(judged)
    agent, judges = draws.lognormvariate(3.5, 0.2), draws.lognormvariate(5.0, 0.1)
    tokens = [int(most * draws.uniform(0.8, 1.2)) for most in (27, 660, 23300, 105000)]
    return keys | {
        "score": score,
        "impl_rate": median(judge["judge_impl_rate"] for judge, _ in judged),
        "passed": agreed,
        "grade": _grade(score),
        "cost_usd": cost * draws.lognormvariate(0.0, 0.25),
        "duration_seconds": agent + judges,
        "agent_duration_seconds": agent,
        "judge_duration_seconds": judges,
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cache_creation_tokens": tokens[2],
        "cache_read_tokens": tokens[3],
        "total_tokens": sum(tokens),
        "exit_code": 0,
    }


def _fraction(value: float) -> float:
    return min(1.0, max(0.0, value))


def _grade(score: float) -> str:
    return next((letter for least, letter in _GRADES if score >= least), "F")
