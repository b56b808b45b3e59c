import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outweigh.model.judgment import CriterionScore, Judgment
from outweigh.score.judge_scores import MOST_PASSES, Consensus, consensus, wants_another_pass
from outweigh.testing.builders import a_judgment, a_run

RUN = a_run()
Pass = tuple[float, float | None]


def passes(*given: Pass) -> list[Judgment]:
    return [
        a_judgment(RUN, score, confidence=confidence, pass_index=number)
        for number, (score, confidence) in enumerate(given, start=1)
    ]


def invalid(number: int) -> Judgment:
    return a_judgment(RUN, 0.0, pass_index=number, invalid_reason="refused")


@pytest.mark.parametrize(
    ("kind", "score"),
    [(Consensus.MEAN, 0.5), (Consensus.MEDIAN, 0.3), (Consensus.CONFIDENCE, 0.66), (Consensus.MAJORITY, 0.3)],
)
def test_three_passes_become_one_in_four_ways(kind: Consensus, score: float) -> None:
    answers = passes((0.3, 0.2), (0.3, 0.2), (0.9, 0.6))

    assert consensus(answers, kind).value == pytest.approx(score)


def judged(number: int, **scores: float | None) -> Judgment:
    criteria = tuple(
        CriterionScore(criterion=name, weight=2 if name == "polite" else 1, score=score, evidence=None)
        for name, score in scores.items()
    )
    return replace(a_judgment(RUN, 0.0, pass_index=number), criteria=criteria)


def test_passes_vote_on_each_criterion_by_itself() -> None:
    answers = [judged(1, right=1, polite=0), judged(2, right=0, polite=1), judged(3, right=1, polite=0)]

    assert consensus(answers, Consensus.MAJORITY).value == pytest.approx(1 / 3)
    assert consensus(answers, Consensus.MEDIAN).value == pytest.approx(1 / 3)
    assert consensus([*answers[:2], judged(3, right=1, polite=1)], Consensus.MAJORITY).value == 1


def test_a_criterion_that_few_passes_apply_does_not_apply() -> None:
    answers = [judged(1, right=1, polite=0), judged(2, right=1, polite=None), judged(3, right=1, polite=None)]

    assert consensus(answers, Consensus.MAJORITY).value == 1


@pytest.mark.parametrize("kind", list(Consensus))
def test_an_invalid_pass_is_absent_not_zero(kind: Consensus) -> None:
    assert consensus([*passes((0.8, 0.9)), invalid(2)], kind).value == pytest.approx(0.8)
    assert consensus([invalid(1)], kind).value is None


@pytest.mark.parametrize("confidences", [(None, 0.9), (0.0, 0.0)])
def test_confidences_that_cannot_be_weighed_leave_the_plain_mean(confidences: tuple[float | None, float]) -> None:
    answers = passes((0.2, confidences[0]), (0.8, confidences[1]))

    assert consensus(answers, Consensus.CONFIDENCE).value == pytest.approx(0.5)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.none() | st.floats(0, 1)), min_size=1, max_size=5),
    st.sampled_from(Consensus),
)
def test_a_consensus_lies_between_its_passes(given_passes: list[Pass], kind: Consensus) -> None:
    scores = [score for score, _ in given_passes]
    agreed = consensus(passes(*given_passes), kind).value

    assert agreed is not None
    assert min(scores) - 1e-9 <= agreed <= max(scores) + 1e-9


@pytest.mark.parametrize(
    ("given_passes", "wanted"),
    [
        ([(0.8, None)], False),
        ([(0.8, 0.59)], True),
        ([(0.8, 0.6)], False),
        ([(0.8, 0.9), (0.5, 0.9)], False),  # a range of .3 is not more than .3
        ([(0.8, 0.9), (0.49, 0.9)], True),
        ([(1.0, 0.9), (0.0, 0.9), (0.5, 0.9), (0.5, 0.9)], True),
        ([(1.0, 0.1), (0.0, 0.1), (1.0, 0.1), (0.0, 0.1), (1.0, 0.1)], False),
    ],
)
def test_more_passes_are_wanted_while_answers_differ_or_doubt(given_passes: list[Pass], wanted: bool) -> None:
    assert wants_another_pass(passes(*given_passes)) is wanted


def test_passes_that_could_not_be_used_count_towards_the_five_and_wake_no_wish_for_more() -> None:
    doubtful = passes((0.9, 0.1))

    assert not wants_another_pass([])
    assert not wants_another_pass([invalid(1)])
    assert wants_another_pass([*doubtful, invalid(2)])
    assert not wants_another_pass([*doubtful, *(invalid(number) for number in range(2, MOST_PASSES + 1))])
