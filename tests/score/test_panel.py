from outweigh.model.judgment import Judgment
from outweigh.score.judge_scores import AS_OFTEN_AS_NEEDED, Consensus, JudgeRule, JudgeRules, panel_score
from outweigh.testing.builders import a_judgment, a_run

RUN = a_run()
ADAPTIVE = JudgeRules(rules={"judge": JudgeRule(passes=2, most_passes=3)})


def judge_count(*judgments: Judgment, judge_rules: JudgeRules = ADAPTIVE) -> int:
    (taken,) = panel_score(judgments, judge_rules).judge_counts
    return taken.passes


def answer(score: float, number: int, invalid_reason: str | None = None) -> Judgment:
    return a_judgment(RUN, score, pass_index=number, invalid_reason=invalid_reason)


def test_each_judge_has_its_own_consensus() -> None:
    judge_rules = JudgeRules(rules={"judge": JudgeRule(passes=3, consensus=Consensus.MEDIAN)})
    panel = [answer(0.1, 1), answer(0.2, 2), answer(0.9, 3), a_judgment(RUN, 0.6, judge="other")]

    score = panel_score(panel, judge_rules).score.value

    assert score is not None
    assert abs(score - 0.4) < 1e-12


def test_without_a_rule_a_seat_is_told_by_its_number_of_passes() -> None:
    assert judge_count(answer(0.5, 1), answer(0.5, 2), judge_rules=JudgeRules()) == 2


def test_passes_of_a_judge_that_settled_are_as_many_as_were_needed() -> None:
    assert judge_count(answer(0.5, 1), answer(0.6, 2)) == AS_OFTEN_AS_NEEDED
    assert judge_count(answer(0.1, 1), answer(0.9, 2), answer(0.5, 3)) == AS_OFTEN_AS_NEEDED


def test_a_missing_or_unusable_pass_gives_another_judge_count() -> None:
    assert judge_count(answer(0.5, 1)) == 1
    assert judge_count(answer(0.1, 1), answer(0.9, 2)) == 2
    assert judge_count(answer(0.5, 1), answer(0.6, 3)) == 2
    assert judge_count(answer(0.5, 1), answer(0.6, 2), answer(0.0, 3, invalid_reason="refused")) == 2


def test_a_seat_without_all_the_answers_that_its_rule_asks_for_is_not_complete() -> None:
    def complete(rule: JudgeRule, *answers: Judgment) -> bool:
        (taken,) = panel_score(answers, JudgeRules(rules={"judge": rule})).judge_counts
        return taken.complete

    assert complete(JudgeRule(passes=2), answer(0.1, 1), answer(0.9, 2))
    assert not complete(JudgeRule(passes=2), answer(0.1, 1), answer(0.9, 2, invalid_reason="refused"))
    assert not complete(JudgeRule(passes=2), answer(0.1, 1), answer(0.9, 3))
    assert not complete(JudgeRule(passes=1, most_passes=3), answer(0.1, 1), answer(0.9, 2))
