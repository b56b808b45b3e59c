"""What is put before judges: everything that has no answer yet, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from tests.engine.judging.judging_fixtures import A_JUDGE, RUBRIC, a_case, a_docket, finished

from outweigh.engine.judging.pointwise import JudgeCall
from outweigh.model.judgment import JudgeIdentity, Judgment
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.run_record import RunRecord, Status
from outweigh.model.suite import JudgeSpec
from outweigh.testing.builders import a_judgment, a_run

OTHER = JudgeSpec(name="other", backend="fake", model="m")
THRICE = JudgeSpec(name="judge", backend="fake", model="m", passes=3)
UP_TO_FIVE = JudgeSpec(name="judge", backend="fake", model="m", most_passes=5)


def answer_to(case: JudgeCall, score: float = 0.5, **fields: object) -> Judgment:
    identity = JudgeIdentity(
        name=case.judge.name,
        model="m",
        version="m-2026",
        rubric_sha256=case.brief.rubric_sha256,
        prompt_sha256=case.prompt_sha256,
    )
    answer = msgspec.structs.replace(
        a_judgment(case.run, score), judge=identity, run_sha256=case.run_sha256, pass_index=case.pass_index
    )
    return msgspec.structs.replace(answer, **fields)


def invalid_answer_to(case: JudgeCall) -> Judgment:
    return answer_to(case, invalid_reason="refusal", criteria=())


def places(cases: Sequence[JudgeCall]) -> list[tuple[str, str, int]]:
    return [(case.run.run_id, case.judge.name, case.pass_index) for case in cases]


def positioned(run: RunRecord, position: int) -> RunRecord:
    return msgspec.structs.replace(run, position=position)


def test_every_run_goes_before_every_judge_in_the_order_of_the_runs() -> None:
    late, early = positioned(a_run(arm="a"), 2), positioned(a_run(arm="b"), 1)

    cases = a_docket(A_JUDGE, OTHER).open_cases(finished(late, early), {})

    assert places(cases) == [
        ("task-1/b/1", "judge", 1),
        ("task-1/b/1", "other", 1),
        ("task-1/a/1", "judge", 1),
        ("task-1/a/1", "other", 1),
    ]


def test_first_passes_come_before_second_ones() -> None:
    cases = a_docket(THRICE).open_cases(finished(a_run(repeat=1), a_run(repeat=2)), {})

    assert [case.pass_index for case in cases] == [1, 1, 2, 2, 3, 3]


def test_what_is_answered_is_not_asked_again_whichever_version_answered() -> None:
    run = a_run()
    given = {run.run_id: [answer_to(a_case(run))]}

    assert a_docket().open_cases(finished(run), given) == []


def test_another_run_rubric_judge_model_or_prompt_is_another_question() -> None:
    run = a_run()
    given = {run.run_id: [answer_to(a_case(run))]}
    stricter = Rubric(criteria=[*RUBRIC.criteria, BinaryCriterion(name="more", description="More.")])
    changed = msgspec.structs.replace(run, duration_seconds=61.0)

    assert len(a_docket().open_cases(finished(changed), given)) == 1
    assert len(a_docket(rubric=stricter).open_cases(finished(run), given)) == 1
    assert len(a_docket(OTHER).open_cases(finished(run), given)) == 1
    for field, value in (("model", "m2"), ("diff_tokens", 200), ("options", {"temperature": 1})):
        other = msgspec.structs.replace(A_JUDGE, **{field: value})
        assert len(a_docket(other).open_cases(finished(run), given)) == 1


def test_a_judge_without_a_stated_model_takes_any_models_answer_for_its_own() -> None:
    run = a_run()
    unstated = JudgeSpec(name="judge", backend="fake")

    assert a_docket(unstated).open_cases(finished(run), {run.run_id: [answer_to(a_case(run))]}) == []


def test_an_invalid_answer_is_an_answer_unless_it_is_asked_for_again() -> None:
    run = a_run()
    given = {run.run_id: [invalid_answer_to(a_case(run))]}

    assert a_docket().open_cases(finished(run), given) == []
    assert places(a_docket(retry_invalid=True).open_cases(finished(run), given)) == [("task-1/baseline/1", "judge", 1)]


def test_only_the_attempt_that_counts_is_judged() -> None:
    broken = a_run(run_id="one", status=Status.INFRA_ERROR)
    counted = a_run(run_id="two", attempt=2)
    excluded = a_run(arm="b", status=Status.ARM_NOT_APPLIED)

    assert [case.run.run_id for case in a_docket().open_cases(finished(broken, counted, excluded), {})] == ["two"]


def test_runs_that_failed_or_took_too_long_are_judged_like_the_others() -> None:
    runs = [a_run(repeat=1, passed=False), a_run(repeat=2, status=Status.TIMEOUT)]

    assert len(a_docket().open_cases(finished(*runs), {})) == 2


def test_tasks_without_a_rubric_are_let_be() -> None:
    assert a_docket(tasks=["task-2"]).open_cases(finished(a_run()), {}) == []


def test_a_judge_whose_answers_differ_is_asked_again_up_to_its_limit() -> None:
    run = a_run()
    docket = a_docket(UP_TO_FIVE, wants_another=lambda _: True)
    given = [answer_to(a_case(run, UP_TO_FIVE))]
    asked = []
    while (another := docket.next_case(a_case(run, UP_TO_FIVE), given)) is not None:
        asked.append(another.pass_index)
        given.append(answer_to(another))

    assert asked == [2, 3, 4, 5]


def test_an_engine_that_was_stopped_in_between_goes_on_with_the_passes_that_were_wanted() -> None:
    run = a_run()
    given = {run.run_id: [answer_to(a_case(run, UP_TO_FIVE))]}

    wanted = a_docket(UP_TO_FIVE, wants_another=lambda _: True).open_cases(finished(run), given)
    settled = a_docket(UP_TO_FIVE, wants_another=lambda _: False).open_cases(finished(run), given)

    assert [case.pass_index for case in wanted] == [2]
    assert settled == []


def test_what_was_said_so_far_is_told_by_judge() -> None:
    run = a_run()
    answer = answer_to(a_case(run))
    stranger = a_judgment(run, judge="judge")

    answers = a_docket(A_JUDGE, OTHER).answers(finished(run), {run.run_id: [answer, stranger]})

    assert answers == {"judge": ([answer], []), "other": ([], [])}


def test_a_try_that_was_replaced_is_told_apart() -> None:
    run = a_run()
    failed, mended = invalid_answer_to(a_case(run)), answer_to(a_case(run))

    answers = a_docket().answers(finished(run), {run.run_id: [failed, mended]})

    assert answers["judge"] == ([mended], [failed])


def test_a_pass_that_is_tried_again_keeps_its_number() -> None:
    run = a_run()
    case = a_case(run, UP_TO_FIVE)
    passes = [replace(case, pass_index=number) for number in (1, 2, 3)]
    given = [answer_to(passes[0]), invalid_answer_to(passes[1]), answer_to(passes[2])]
    docket = a_docket(UP_TO_FIVE, wants_another=lambda _: False, retry_invalid=True)

    open_now = docket.open_cases(finished(run), {run.run_id: given})
    afterwards = docket.open_cases(finished(run), {run.run_id: [*given, answer_to(passes[1])]})

    assert [again.pass_index for again in open_now] == [2]
    assert afterwards == []
