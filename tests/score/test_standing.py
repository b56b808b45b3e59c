"""Which of several tries at one pass stands."""

from outweigh.model.judgment import Judgment
from outweigh.score.judge_scores import latest_answers
from outweigh.testing.builders import a_judgment, a_run

RUN = a_run()


def failed(number: int = 1) -> Judgment:
    return a_judgment(RUN, invalid_reason="refused", criteria=(), pass_index=number)


def test_an_answer_that_could_not_be_used_gives_way_and_one_that_could_stays() -> None:
    usable = a_judgment(RUN, 0.4)

    assert latest_answers([failed(), usable]) == latest_answers([usable, failed()]) == {1: usable}


def test_every_pass_stands_for_itself() -> None:
    assert latest_answers([failed(2), a_judgment(RUN, 0.4)]).keys() == {1, 2}
