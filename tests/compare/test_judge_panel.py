import pytest
from msgspec.structs import replace

from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.judge_calls import JudgeCallFact, judge_call_fact
from outweigh.model.judgment import Judgment
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_judgment, a_run

RUNS = [a_run(f"task-{number}", "old") for number in range(1, 9)]
TASK_OF = {run.run_id: run.trial.task_id for run in RUNS}
SCORES = [0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def facts(judgments: list[Judgment]) -> dict[str, list[JudgeCallFact]]:
    return {"old": [judge_call_fact(judgment, TASK_OF[judgment.run_id]) for judgment in judgments], "new": []}


def test_without_judgments_there_is_no_panel() -> None:
    assert summarise_judges({"old": [], "new": []}) is None


def test_a_total_that_is_not_the_sum_of_its_parts_is_counted() -> None:
    judged = [
        a_judgment(run, 0.5, stated_total=total)
        for run, total in zip(RUNS, (0.5, 0.52, 0.53, 0.4, None, None, None, None), strict=True)
    ]
    panel = summarise_judges(facts(judged))

    assert panel is not None
    (judge,) = panel.judges
    assert (judge.stated_totals, judge.notable_gaps) == (4, 2)
    assert judge.mean_gap == pytest.approx(0.0375)


def test_invalid_and_flagged_answers_are_counted_by_arm() -> None:
    judged = [
        a_judgment(RUNS[0], warnings=("the run's diff speaks to its judge",)),
        a_judgment(RUNS[1], invalid_reason="refused", criteria=()),
    ]
    panel = summarise_judges(facts(judged))

    assert panel is not None
    (judge,) = panel.judges
    assert (judge.answers, judge.invalid, judge.flagged) == ({"old": 2, "new": 0}, {"old": 1, "new": 0}, 1)


def voiced(judgment: Judgment, version: str | None, **fields: object) -> Judgment:
    return replace(judgment, judge=replace(judgment.judge, version=version), **fields)


def test_a_judge_that_did_not_answer_is_not_another_judge() -> None:
    answered = [voiced(a_judgment(run), "v1") for run in RUNS[:3]]
    silent = [voiced(a_judgment(run), None, invalid_reason="timeout", criteria=()) for run in RUNS[3:5]]

    panel = summarise_judges(facts([*silent, *answered]))
    unclear = summarise_judges(facts([*silent, *answered, voiced(a_judgment(RUNS[5]), "v2")]))

    assert panel is not None
    assert unclear is not None
    (judge,) = panel.judges
    assert (judge.judge_version.version, judge.answers["old"], judge.invalid["old"]) == ("v1", 5, 2)
    assert len(unclear.judges) == 3  # whose failures they are, nobody can say


def test_a_judge_that_did_not_answer_is_not_one_of_another_name() -> None:
    silent = voiced(a_judgment(RUNS[0]), None, invalid_reason="timeout", criteria=())
    named = replace(silent, judge=replace(silent.judge, name="second"))

    panel = summarise_judges(facts([voiced(a_judgment(RUNS[1]), "v1"), named]))

    assert panel is not None
    assert {judge.judge_version.name: judge.invalid["old"] for judge in panel.judges} == {"judge": 0, "second": 1}


def test_judges_agree_with_each_other_and_with_themselves_on_a_scale_of_their_own() -> None:
    judged = [a_judgment(run, score, judge="a") for run, score in zip(RUNS, SCORES, strict=True)]
    judged += [a_judgment(run, score, judge="a", pass_index=2) for run, score in zip(RUNS, SCORES, strict=True)]
    judged += [a_judgment(run, score, judge="b") for run, score in zip(RUNS, reversed(SCORES), strict=True)]
    panel = summarise_judges(facts(judged))

    assert panel is not None
    first, second = panel.judges
    assert first.retest.overall.point == pytest.approx(1)
    assert second.retest.overall.point is None
    assert panel.agreement.overall.point is not None
    assert panel.agreement.overall.point < 0


def test_every_two_judges_are_compared_with_the_bias_of_the_first() -> None:
    judged = [
        a_judgment(run, score + lift, judge=judge)
        for run, score in zip(RUNS, (0.1, 0.2, 0.4, 0.5, 0.6, 0.2, 0.3, 0.4), strict=True)
        for judge, lift in (("mild", 0.3), ("strict", 0.0))
    ]
    judged += [a_judgment(run, 0.5, judge="vague") for run in RUNS[:6]]

    panel = summarise_judges(facts(judged))

    assert panel is not None
    found = {(pair.first.name, pair.second.name): pair for pair in panel.pairs}
    assert set(found) == {("mild", "strict"), ("mild", "vague"), ("strict", "vague")}
    assert found["mild", "strict"].bias.point == pytest.approx(0.3)
    assert (found["strict", "vague"].bias.n, found["strict", "vague"].alphas.runs) == (6, 6)


def test_the_bias_of_a_judge_counts_every_task_once_and_its_interval_is_over_tasks() -> None:
    runs = [
        a_run(f"task-{task}", "old", repeat)
        for task, repeats in ((1, 8), (2, 1), (3, 1))
        for repeat in range(1, repeats + 1)
    ]
    lifts = {"task-1": 0.3, "task-2": 0.0, "task-3": 0.0}
    calls = {
        "old": [
            judge_call_fact(a_judgment(run, 0.5 + lift, judge=judge), run.trial.task_id)
            for run in runs
            for judge, lift in (("a", lifts[run.trial.task_id]), ("b", 0.0))
        ]
    }

    panel = summarise_judges(calls)

    assert panel is not None
    (pair,) = panel.pairs
    bias = pair.bias
    # Differences of .3, 0 and 0: mean .1, standard error .1, t of 2 degrees of freedom 4.303.
    assert [bias.point, bias.standard_error, bias.n] == pytest.approx([0.1, 0.1, 3])
    assert bias.interval is not None
    assert bias.interval.high == pytest.approx(0.1 + 4.3027 * 0.1, abs=1e-4)
    assert bias.warnings == ("the interval rests on only 3 tasks",)


def test_judges_who_share_no_run_have_no_bias() -> None:
    panel = summarise_judges(facts([a_judgment(RUNS[0], 0.5, judge="a"), a_judgment(RUNS[1], 0.5, judge="b")]))

    assert panel is not None
    assert panel.pairs[0].bias.point is None
    assert panel.pairs[0].bias.warnings == ("no run has both scores",)


def test_the_cost_of_judging_is_unknown_as_soon_as_one_answer_has_none() -> None:
    paid = [a_judgment(run, cost=reported_cost(0.25)) for run in RUNS]
    whole, torn = summarise_judges(facts(paid)), summarise_judges(facts([*paid[1:], a_judgment(RUNS[0])]))

    assert whole is not None
    assert torn is not None
    assert whole.cost_usd["old"].value == pytest.approx(2)
    assert torn.cost_usd["old"].value is None
    assert "1 of 8 answers" in (torn.cost_usd["old"].reason or "")
