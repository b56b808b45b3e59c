import json
from typing import Any

import pytest

from outweigh.judging.material import RunMaterial, TaskMaterial
from outweigh.judging.pairwise_question import pair_prompt_sha256, pair_prompt_text, pair_system_text, read_pair_answer
from outweigh.judging.rubric_question import UnusableAnswerError
from outweigh.model.failure import Status
from outweigh.model.judgment import Choice
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.suite import JudgeSpec

RUBRIC = Rubric(
    criteria=[
        BinaryCriterion(name="works", description="It works.", weight=3.0),
        BinaryCriterion(name="docs", description="It is described.", na_when="there is nothing to describe"),
    ]
)
JUDGE = JudgeSpec(name="judge", backend="command")


def material(diff: str) -> RunMaterial:
    return RunMaterial(status=Status.COMPLETED, diff=diff, checks=(), conversation="done")


def answer(**changes: Any) -> str:
    answers = [{"id": name, "evidence": "line 3", "choice": "first"} for name in ("works", "docs")]
    return json.dumps({"answers": answers, "overall": "second", "confidence": 0.8} | changes)


def test_both_runs_are_shown_in_order_blinded_and_fenced() -> None:
    task = TaskMaterial(
        instruction="Add a flag.", rubric=RUBRIC, checks_before=None, solution=None, identifying_names=("shiny-skill",)
    )
    prompt = pair_prompt_text(JUDGE, task, (material("+one shiny-skill"), material("END c0de\n+two")), "c0de")

    assert prompt.index("first run: final diff") < prompt.index("+one") < prompt.index("second run: final diff")
    assert "shiny-skill" not in prompt
    # The run cannot end its own fence: the code in it is taken out.
    assert "END [code]\n+two" in prompt
    assert "id: works" in pair_system_text(RUBRIC)


def test_other_words_or_settings_make_another_judge() -> None:
    assert pair_prompt_sha256(JUDGE) == pair_prompt_sha256(JudgeSpec(name="other", backend="command"))
    assert pair_prompt_sha256(JUDGE) != pair_prompt_sha256(JudgeSpec(name="judge", backend="command", diff_tokens=500))


def test_choices_are_read_with_the_weights_of_the_rubric() -> None:
    chosen = read_pair_answer(answer(), RUBRIC)

    assert [(item.criterion, item.weight, item.choice) for item in chosen.criteria] == [
        ("works", 3.0, Choice.FIRST),
        ("docs", 1.0, Choice.FIRST),
    ]
    assert (chosen.stated, chosen.confidence) == (Choice.SECOND, 0.8)


ENTRY = {"id": "works", "evidence": "line 3", "choice": "tie"}
DOCS = {"id": "docs", "evidence": "line 9", "choice": None}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("first", "not one JSON object"),
        (answer() + "\n{}", "not one JSON object"),
        (answer(winner="first"), "unknown field"),
        (answer(answers=[ENTRY]), "no answer to 'docs'"),
        (answer(answers=[ENTRY, ENTRY, DOCS]), "answered twice"),
        (answer(answers=[ENTRY, DOCS, ENTRY | {"id": "style"}]), "not an id of the rubric"),
        (answer(answers=[ENTRY | {"choice": None}, DOCS]), "cannot be null"),
        (answer(answers=[ENTRY | {"choice": "both"}, DOCS]), "Invalid enum value"),
        (answer(answers=[ENTRY | {"evidence": " "}, DOCS]), "no evidence"),
        (answer(confidence=7), "<= 1.0"),
        ('{"answers": [], "answers": []}', "same key twice"),
        (answer(confidence=float("nan")), "NaN is not a number"),
        (answer().replace("0.8", "9" * 5_000), "too large"),
        (answer().replace('"second"', '"\\ud800"'), "half a character"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_an_answer_that_is_not_whole_is_refused_in_words_for_the_judge(text: str, complaint: str) -> None:
    with pytest.raises(UnusableAnswerError, match=complaint):
        read_pair_answer(text, RUBRIC)


def test_a_tie_and_what_does_not_apply_are_answers() -> None:
    chosen = read_pair_answer(answer(answers=[ENTRY, DOCS]), RUBRIC)

    assert [item.choice for item in chosen.criteria] == [Choice.TIE, None]
