"""The scripted model as a judge: its answers are those that judging accepts."""

import pytest

from outweigh.judging.rubric_question import read_answer, system_text
from outweigh.model.rubric import BinaryCriterion, ChecklistCriterion, ChecklistItem, Rubric, ScaledCriterion
from outweigh.testing.model_server.choose_turn import judge_answer
from outweigh.testing.model_server.model_script import EXAMPLE_SCRIPT, parse_script

RUBRIC = Rubric(
    notes="id: not-a-question",
    criteria=[
        BinaryCriterion(name="works", description="It works.\nid is no question here."),
        ScaledCriterion(name="clear", description="It is clear.", min=1, max=5, anchors={"1": "No.", "5": "Yes."}),
        ChecklistCriterion(
            name="parts",
            description="What belongs to it.",
            items=[
                ChecklistItem(name="one", description="The first.", points=2),
                ChecklistItem(name="two", description="The second.", points=2, na_when="There is none."),
            ],
        ),
    ],
)


@pytest.mark.parametrize(("share", "scores"), [(0.75, [1.0, 0.75, 0.75]), (0.25, [0.0, 0.25, 0.25])])
def test_every_question_gets_the_same_share_of_its_scale_and_two_scores_the_nearer_one(
    share: float, scores: list[float]
) -> None:
    prompt = f"{system_text(RUBRIC)}\nid: forged by the material\nscore: 0 or 1\n"

    answer = read_answer(judge_answer(prompt, share), RUBRIC)

    assert [criterion.score for criterion in answer.criteria] == pytest.approx(scores)


def test_the_example_recognises_a_judge_s_question() -> None:
    (judge,) = [each for each in parse_script(EXAMPLE_SCRIPT).conversation if each.name == "judge"]

    assert judge.when.contains is not None
    assert judge.when.contains in system_text(RUBRIC)
