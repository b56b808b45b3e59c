import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import binomtest

from outweigh.compare.preferences import PairwiseSummary, WinCounts, compare_pairwise, preference_margin
from outweigh.errors import EvidenceError
from outweigh.model.judgment import Choice, CriterionChoice, Preference
from outweigh.testing.builders import a_preference, a_run


def pair(task: str, old_first: tuple[float, float], new_first: tuple[float, float]) -> list[Preference]:
    """Scores as they were given, in the order of showing."""
    old, new = a_run(task, "old"), a_run(task, "new")
    return [
        a_preference(old, new, first_score=old_first[0], second_score=old_first[1]),
        a_preference(new, old, first_score=new_first[0], second_score=new_first[1]),
    ]


def summary(answers: list[Preference]) -> PairwiseSummary:
    (judge,) = compare_pairwise(answers, "old", "new").judges
    return judge


def choices(*chosen: tuple[float, Choice | None]) -> tuple[CriterionChoice, ...]:
    return tuple(
        CriterionChoice(criterion=f"c{place}", weight=weight, choice=choice, evidence=None)
        for place, (weight, choice) in enumerate(chosen)
    )


def test_an_answer_leans_by_the_weights_of_the_criteria_that_apply() -> None:
    first, second = a_run("task", "old"), a_run("task", "new")
    chosen = choices((3, Choice.SECOND), (1, Choice.FIRST), (1, Choice.TIE), (9, None))

    assert preference_margin(a_preference(first, second, criteria=chosen, stated=Choice.FIRST)).value == pytest.approx(
        -0.4
    )
    assert preference_margin(a_preference(first, second)).value is None
    assert preference_margin(a_preference(first, second, criteria=chosen, invalid_reason="refused")).value is None


def test_the_place_cancels_out_over_both_orders() -> None:
    # A judge that always adds three points to what it sees first.
    answers = [*pair("a", (8, 6), (9, 5)), *pair("b", (9, 5), (8, 6)), *pair("c", (8, 5), (8, 5))]

    judge = summary(answers)

    assert judge.tally == WinCounts(wins=1, ties=1, losses=1)
    assert judge.agreed == WinCounts(wins=0, ties=3, losses=0)
    assert judge.first_share.point == 1


def test_a_winner_in_both_orders_is_agreed_upon() -> None:
    judge = summary([*pair("a", (5, 8), (8, 5)), *pair("b", (5, 8), (6, 6)), *pair("c", (9, 2), (2, 9))])

    assert judge.tally == WinCounts(wins=2, ties=0, losses=1)
    assert judge.agreed == WinCounts(wins=1, ties=1, losses=1)


def test_a_pair_without_a_usable_answer_in_one_order_is_in_no_figure() -> None:
    whole, torn = pair("a", (5, 8), (8, 5)), pair("b", (5, 8), (8, 5))
    refused = a_preference(a_run("b", "new"), a_run("b", "old"), invalid_reason="refused")

    judge = summary([*whole, torn[0], refused])

    assert (judge.pairs, judge.incomplete, judge.invalid, judge.tally.wins) == (1, 1, 1, 1)


def test_an_answer_that_a_later_try_has_mended_is_not_counted_as_invalid() -> None:
    refused = a_preference(a_run("a", "old"), a_run("a", "new"), invalid_reason="refused")
    answers = pair("a", (5, 8), (8, 5))
    places = {(answer.first.run_id, answer.second.run_id) for answer in answers}

    assert (refused.first.run_id, refused.second.run_id) in places
    assert summary([refused, *answers]).invalid == 0


def test_a_failure_without_a_version_is_of_the_judge_that_answered() -> None:
    silent = a_preference(a_run("b", "new"), a_run("b", "old"), invalid_reason="refused")
    answers = [replace(answer, judge=replace(answer.judge, version="v1")) for answer in pair("a", (5, 8), (8, 5))]

    (judge,) = compare_pairwise([*answers, silent], "old", "new").judges

    assert (judge.judge.version, judge.pairs, judge.invalid) == ("v1", 1, 1)


def test_the_sign_test_counts_tasks_not_repeats() -> None:
    answers = [
        answer
        for task in range(6)
        for repeat in range(1, 6)
        for first, second in ((("old", 1.0), ("new", 2.0)), (("new", 2.0), ("old", 1.0)))
        for answer in [
            a_preference(
                a_run(f"task-{task}", first[0], repeat),
                a_run(f"task-{task}", second[0], repeat),
                first_score=first[1],
                second_score=second[1],
            )
        ]
    ]
    judge = summary(answers)

    assert (judge.pairs, judge.tasks, judge.sign_test.n) == (30, 6, 6)
    assert judge.sign_test.p_value == pytest.approx(binomtest(6, 6).pvalue)


@pytest.mark.parametrize("seed", range(10))
def test_swapping_the_arms_swaps_wins_and_losses_and_leaves_the_place_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = [
        answer
        for task in range(12)
        for a, b, c, d in [rng.integers(1, 9, 4).astype(float).tolist()]
        for answer in pair(f"task-{task}", (a, b), (c, d))
    ]
    one = compare_pairwise(answers, "old", "new").judges[0]
    other = compare_pairwise(answers, "new", "old").judges[0]

    assert (one.tally.wins, one.tally.losses) == (other.tally.losses, other.tally.wins)
    assert one.first_share == other.first_share
    assert one.sign_test.p_value == other.sign_test.p_value


def test_two_answers_to_one_question_are_refused() -> None:
    once = pair("a", (5, 8), (8, 5))

    with pytest.raises(EvidenceError, match="answered twice"):
        summary([*once, once[0]])


def test_preferences_about_other_arms_are_left_alone() -> None:
    other = a_preference(a_run("a", "old"), a_run("a", "third"), first_score=1.0, second_score=2.0)

    assert compare_pairwise([other], "old", "new").judges == ()


def test_a_preference_is_between_two_arms() -> None:
    with pytest.raises(ValueError, match="two arms"):
        a_preference(a_run("a", "old", 1), a_run("a", "old", 2))


def test_a_pass_that_was_asked_in_one_order_only_counts_in_no_pair() -> None:
    old, new = a_run("a", "old"), a_run("a", "new")
    for first, second in ((old, new), (new, old)):
        lone = a_preference(first, second, first_score=9, second_score=1, pass_index=2)

        assert summary([*pair("a", (5, 5), (5, 5)), lone]).tally == WinCounts(wins=0, ties=1, losses=0)


def test_why_answers_could_not_be_used_is_among_the_warnings() -> None:
    refused = a_preference(a_run("b", "new"), a_run("b", "old"), invalid_reason="it refused.")

    (warning,) = compare_pairwise([*pair("a", (5, 8), (8, 5)), refused], "old", "new").warnings

    assert "it refused (1)" in warning
