"""Whatever a judge sends, reading it ends with an object or a complaint, never with another exception."""

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.judging.pairwise_question import read_pair_answer
from outweigh.judging.rubric_question import UnusableAnswerError, parse_single_object, read_answer
from outweigh.model.rubric import BinaryCriterion, Rubric

RUBRIC = Rubric(criteria=[BinaryCriterion(name="works", description="It works.")])
WORDS = st.text(st.characters(exclude_categories=()), max_size=10) | st.sampled_from(
    ["answers", "id", "works", "score", "choice", "evidence", "first", "total", "overall", "confidence"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**4_000) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def test_the_object_is_taken_whole() -> None:
    assert parse_single_object('{"answers": [1]}') == {"answers": [1]}


@settings(deadline=None)
@given(VALUES.map(json.dumps) | WORDS)
def test_no_text_raises_anything_but_a_complaint(text: str) -> None:
    for read in (read_answer, read_pair_answer):
        with contextlib.suppress(UnusableAnswerError):
            read(text, RUBRIC)
