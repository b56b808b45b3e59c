"""Answers of judges: whole, in range and nothing else, or a complaint; scores are computed, never believed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.judging.rubric_question import RubricAnswer, UnusableAnswerError, read_answer
from outweigh.model.parse import parse_rubric
from outweigh.model.rubric import Rubric
from outweigh.testing.judge_contract import full_marks

RUBRIC = parse_rubric(
    b"""
[[criteria]]
type = "binary"
name = "works"
description = "It works."
weight = 2.0

[[criteria]]
type = "scaled"
name = "clean"
description = "It is clean."
min = 1
max = 5
na_when = "nothing was changed"

[[criteria]]
type = "checklist"
name = "tests"
description = "What was tested."
items = [
  { name = "unit", description = "The unit.", points = 3 },
  { name = "edge", description = "The edges.", points = 1, na_when = "there are none" },
]
""",
    "rubric.toml",
)


def answer(**scores: Any) -> str:
    defaults: dict[str, Any] = {"works": 1, "clean": 3, "tests/unit": 1.5, "tests/edge": 1}
    entries = [{"id": name, "evidence": "seen", "score": score} for name, score in (defaults | scores).items()]
    return json.dumps({"answers": entries, "total": 0.9, "confidence": 0.8})


def scores(given_answer: RubricAnswer) -> dict[str, float | None]:
    return {criterion.criterion: criterion.score for criterion in given_answer.criteria}


def complaint(text: str, rubric: Rubric = RUBRIC) -> str:
    with pytest.raises(UnusableAnswerError) as unusable:
        read_answer(text, rubric)
    return str(unusable.value)


def test_every_scale_becomes_a_share_and_the_judges_own_total_is_kept_apart() -> None:
    read = read_answer(answer(), RUBRIC)

    assert scores(read) == {"works": 1.0, "clean": 0.5, "tests": 0.625}
    assert (read.stated_total, read.confidence) == (0.9, 0.8)
    assert [criterion.weight for criterion in read.criteria] == [2.0, 1.0, 1.0]


def test_items_that_do_not_apply_count_neither_as_points_nor_as_possible_points() -> None:
    read = read_answer(answer(clean=None, **{"tests/edge": None}), RUBRIC)

    assert scores(read) == {"works": 1.0, "clean": None, "tests": 0.5}
    assert [item.points for item in read.criteria[2].items] == [1.5, None]


def test_a_single_block_between_backticks_is_taken_for_its_content() -> None:
    assert read_answer(f"```json\n{answer()}\n```\n", RUBRIC) == read_answer(answer(), RUBRIC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not one JSON object"),
        ("I cannot judge this.", "not one JSON object"),
        (answer()[:-1], "not one JSON object"),
        (f"Here it is: {answer()}", "not one JSON object"),
        (f"{answer()}\n{answer(works=0)}", "not one JSON object"),
        (f"```json\n{answer(works=0)}\n```\n```json\n{answer()}\n```", "not one JSON object"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"answers": 1}', "must be a list"),
        ("{}", "must be a list"),
        ('{"answers": [7]}', "an object with an `id`"),
        ('{"answers": [], "answers": []}', "same key twice"),
        (answer(works=2), "'works' is 2; it must be 0 or 1"),
        (answer(works=0.5), "it must be 0 or 1"),
        (answer(works=True), "must be a number"),
        (answer(works="1"), "must be a number"),
        (answer(works=None), "always applies"),
        (answer(clean=0.99), "a number from 1 to 5"),
        (answer(clean=-1e400), "-Infinity is not a number"),
        (answer(clean=float("nan")), "NaN is not a number"),
        (answer(clean=10**400), "too large"),
        (answer().replace("0.9", "9" * 5_000), "too large"),
        (answer(**{"tests/unit": 3.01}), "a number from 0 to 3"),
        (answer(charm=1), "'charm' is not an id of the rubric"),
        (answer().replace('"works"', '"clean"'), "'clean' is answered twice"),
        (answer().replace('"seen"', '""', 1), "'works' has no evidence"),
        (answer().replace('"seen"', "7", 1), "must be a text"),
        (answer().replace('"evidence"', '"proof"', 1), "unknown keys: 'proof'"),
        (answer().replace('"score": 1,', "", 1).replace(', "score": 1}', "}", 1), "no score"),
        (answer().replace('"total"', '"sum"'), "unknown keys: 'sum'"),
        (answer().replace("0.9", '"high"'), "`total` must be a number"),
        (answer().replace("0.8", "1.5"), "`confidence` is 1.5"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 1_000_001, "longer than"),
    ],
)
def test_an_unusable_answer_gives_a_complaint(text: str, words: str) -> None:
    assert words in complaint(text)


def test_all_missing_answers_are_named_at_once() -> None:
    assert complaint('{"answers": []}') == "there is no answer to 'works', 'clean', 'tests/unit', 'tests/edge'."


def test_evidence_is_kept_short_and_shows_what_it_holds() -> None:
    text = answer().replace("seen", "\\u202e\\ud800" + "x" * 5000, 1)

    evidence = read_answer(text, RUBRIC).criteria[0].evidence or ""

    assert evidence.startswith("\\u{202E}\\u{D800}x")
    assert len(evidence) == 1000


def test_full_marks_are_full_marks() -> None:
    assert set(scores(read_answer(full_marks(RUBRIC), RUBRIC)).values()) == {1.0}


@settings(deadline=None)
@given(
    st.text(max_size=300) | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(json.dumps)
)
def test_any_other_text_gives_a_complaint(text: str) -> None:
    assert complaint(text)


@settings(deadline=None)
@given(
    works=st.sampled_from([0, 1]),
    clean=st.none() | st.floats(1, 5),
    unit=st.floats(0, 3),
    edge=st.none() | st.floats(0, 1),
)
def test_every_score_in_range_gives_shares_between_0_and_1(
    works: int, clean: float | None, unit: float, edge: float | None
) -> None:
    read = read_answer(answer(works=works, clean=clean, **{"tests/unit": unit, "tests/edge": edge}), RUBRIC)

    assert all(score is None or 0 <= score <= 1 for score in scores(read).values())
