import pytest
from msgspec.structs import replace

from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.judge_calls import JudgeCallFact, judge_call_fact
from outweigh.model.judgment import Judgment
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_judgment, a_run

RUNS = [a_run(f"task-{number}", "old") for number in range(1, 9)]
SCORES = [0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def facts(judgments: list[Judgment]) -> dict[str, list[JudgeCallFact]]:
    return {"old": [judge_call_fact(judgment) for judgment in judgments], "new": []}


def test_without_judgments_there_is_no_panel() -> None:
    assert summarise_judges({"old": [], "new": []}, 0) is None


def test_a_total_that_is_not_the_sum_of_its_parts_is_counted() -> None:
    judged = [
        a_judgment(run, 0.5, stated_total=total)
        for run, total in zip(RUNS, (0.5, 0.52, 0.53, 0.4, None, None, None, None), strict=True)
    ]
    panel = summarise_judges(facts(judged), 0)

    assert panel is not None
    (judge,) = panel.judges
    assert (judge.stated_totals, judge.notable_gaps) == (4, 2)
    assert judge.mean_gap == pytest.approx(0.0375)


def test_invalid_and_flagged_answers_are_counted_by_arm() -> None:
    judged = [
        a_judgment(RUNS[0], warnings=("the run's diff speaks to its judge",)),
        a_judgment(RUNS[1], invalid_reason="refused", criteria=()),
    ]
    panel = summarise_judges(facts(judged), 0)

    assert panel is not None
    (judge,) = panel.judges
    assert (judge.answers, judge.invalid, judge.flagged) == ({"old": 2, "new": 0}, {"old": 1, "new": 0}, 1)


def voiced(judgment: Judgment, version: str | None, **fields: object) -> Judgment:
    return replace(judgment, judge=replace(judgment.judge, version=version), **fields)


def test_a_judge_that_did_not_answer_is_not_another_judge() -> None:
    answered = [voiced(a_judgment(run), "v1") for run in RUNS[:3]]
    silent = [voiced(a_judgment(run), None, invalid_reason="timeout", criteria=()) for run in RUNS[3:5]]

    panel = summarise_judges(facts([*silent, *answered]), 0)
    unclear = summarise_judges(facts([*silent, *answered, voiced(a_judgment(RUNS[5]), "v2")]), 0)

    assert panel is not None
    assert unclear is not None
    (judge,) = panel.judges
    assert (judge.judge_version.version, judge.answers["old"], judge.invalid["old"]) == ("v1", 5, 2)
    assert len(unclear.judges) == 3  # whose failures they are, nobody can say


def test_a_judge_that_did_not_answer_is_not_one_of_another_name() -> None:
    silent = voiced(a_judgment(RUNS[0]), None, invalid_reason="timeout", criteria=())
    named = replace(silent, judge=replace(silent.judge, name="second"))

    panel = summarise_judges(facts([voiced(a_judgment(RUNS[1]), "v1"), named]), 0)

    assert panel is not None
    assert {judge.judge_version.name: judge.invalid["old"] for judge in panel.judges} == {"judge": 0, "second": 1}


def test_judges_agree_with_each_other_and_with_themselves_on_a_scale_of_their_own() -> None:
    judged = [a_judgment(run, score, judge="a") for run, score in zip(RUNS, SCORES, strict=True)]
    judged += [a_judgment(run, score, judge="a", pass_index=2) for run, score in zip(RUNS, SCORES, strict=True)]
    judged += [a_judgment(run, score, judge="b") for run, score in zip(RUNS, reversed(SCORES), strict=True)]
    panel = summarise_judges(facts(judged), 0)

    assert panel is not None
    first, second = panel.judges
    assert first.retest.point == pytest.approx(1)
    assert second.retest.point is None
    assert panel.agreement.point is not None
    assert panel.agreement.point < 0


def test_the_cost_of_judging_is_unknown_as_soon_as_one_answer_has_none() -> None:
    paid = [a_judgment(run, cost=reported_cost(0.25)) for run in RUNS]
    whole, torn = summarise_judges(facts(paid), 0), summarise_judges(facts([*paid[1:], a_judgment(RUNS[0])]), 0)

    assert whole is not None
    assert torn is not None
    assert whole.cost_usd["old"].value == pytest.approx(2)
    assert torn.cost_usd["old"].value is None
    assert "1 of 8 answers" in (torn.cost_usd["old"].reason or "")
