"""Pending judge calls: everything that has no answer yet, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from tests.engine.judging.judging_fixtures import A_JUDGE, RUBRIC, a_judge_call, finished, pending_calls

from outweigh.engine.judging.pointwise import JudgeCall
from outweigh.model.failure import Status
from outweigh.model.judgment import JudgeIdentity, Judgment
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec
from outweigh.testing.builders import a_judgment, a_run

OTHER = JudgeSpec(name="other", backend="fake", model="m")
THRICE = JudgeSpec(name="judge", backend="fake", model="m", passes=3)
UP_TO_FIVE = JudgeSpec(name="judge", backend="fake", model="m", most_passes=5)


def answer_to(call: JudgeCall, score: float = 0.5, **fields: object) -> Judgment:
    identity = JudgeIdentity(
        name=call.judge.name,
        model="m",
        version="m-2026",
        rubric_sha256=call.task.rubric_sha256,
        prompt_sha256=call.prompt_sha256,
    )
    answer = msgspec.structs.replace(
        a_judgment(call.run, score), judge=identity, run_sha256=call.run_sha256, pass_index=call.pass_index
    )
    return msgspec.structs.replace(answer, **fields)


def invalid_answer_to(call: JudgeCall) -> Judgment:
    return answer_to(call, invalid_reason="refusal", criteria=())


def places(calls: Sequence[JudgeCall]) -> list[tuple[str, str, int]]:
    return [(call.run.run_id, call.judge.name, call.pass_index) for call in calls]


def positioned(run: RunRecord, position: int) -> RunRecord:
    return msgspec.structs.replace(run, position=position)


def test_every_judge_is_asked_about_every_run_in_the_order_of_the_runs() -> None:
    late, early = positioned(a_run(arm="a"), 2), positioned(a_run(arm="b"), 1)

    calls = pending_calls(A_JUDGE, OTHER).open_calls(finished(late, early), {})

    assert places(calls) == [
        ("task-1/b/1", "judge", 1),
        ("task-1/b/1", "other", 1),
        ("task-1/a/1", "judge", 1),
        ("task-1/a/1", "other", 1),
    ]


def test_first_passes_come_before_second_ones() -> None:
    calls = pending_calls(THRICE).open_calls(finished(a_run(repeat=1), a_run(repeat=2)), {})

    assert [call.pass_index for call in calls] == [1, 1, 2, 2, 3, 3]


def test_what_is_answered_is_not_asked_again_whichever_version_answered() -> None:
    run = a_run()
    earlier = {run.run_id: [answer_to(a_judge_call(run))]}

    assert pending_calls().open_calls(finished(run), earlier) == []


def test_another_run_rubric_judge_model_or_prompt_is_another_question() -> None:
    run = a_run()
    earlier = {run.run_id: [answer_to(a_judge_call(run))]}
    stricter = Rubric(criteria=[*RUBRIC.criteria, BinaryCriterion(name="more", description="More.")])
    changed = msgspec.structs.replace(run, duration_seconds=61.0)

    assert len(pending_calls().open_calls(finished(changed), earlier)) == 1
    assert len(pending_calls(rubric=stricter).open_calls(finished(run), earlier)) == 1
    assert len(pending_calls(OTHER).open_calls(finished(run), earlier)) == 1
    for field, value in (("model", "m2"), ("diff_tokens", 200), ("options", {"temperature": 1})):
        other = msgspec.structs.replace(A_JUDGE, **{field: value})
        assert len(pending_calls(other).open_calls(finished(run), earlier)) == 1


def test_a_judge_without_a_stated_model_takes_any_models_answer_for_its_own() -> None:
    run = a_run()
    unstated = JudgeSpec(name="judge", backend="fake")

    assert pending_calls(unstated).open_calls(finished(run), {run.run_id: [answer_to(a_judge_call(run))]}) == []


def test_an_invalid_answer_is_an_answer_unless_it_is_asked_for_again() -> None:
    run = a_run()
    earlier = {run.run_id: [invalid_answer_to(a_judge_call(run))]}

    assert pending_calls().open_calls(finished(run), earlier) == []
    assert places(pending_calls(retry_invalid=True).open_calls(finished(run), earlier)) == [
        ("task-1/baseline/1", "judge", 1)
    ]


def test_only_the_attempt_that_counts_is_judged() -> None:
    broken = a_run(run_id="one", status=Status.INFRA_ERROR)
    counted = a_run(run_id="two", attempt=2)
    excluded = a_run(arm="b", status=Status.ARM_NOT_APPLIED)

    assert [call.run.run_id for call in pending_calls().open_calls(finished(broken, counted, excluded), {})] == ["two"]


def test_runs_that_failed_or_took_too_long_are_judged_like_the_others() -> None:
    runs = [a_run(repeat=1, passed=False), a_run(repeat=2, status=Status.TIMEOUT)]

    assert len(pending_calls().open_calls(finished(*runs), {})) == 2


def test_runs_of_tasks_without_a_rubric_are_not_judged() -> None:
    assert pending_calls(tasks=["task-2"]).open_calls(finished(a_run()), {}) == []


def test_a_judge_whose_answers_differ_is_asked_again_up_to_its_limit() -> None:
    run = a_run()
    pending = pending_calls(UP_TO_FIVE, wants_another=lambda _: True)
    earlier = [answer_to(a_judge_call(run, UP_TO_FIVE))]
    asked = []
    while (another := pending.next_call(a_judge_call(run, UP_TO_FIVE), earlier)) is not None:
        asked.append(another.pass_index)
        earlier.append(answer_to(another))

    assert asked == [2, 3, 4, 5]


def test_an_engine_that_was_stopped_in_between_goes_on_with_the_passes_that_were_wanted() -> None:
    run = a_run()
    earlier = {run.run_id: [answer_to(a_judge_call(run, UP_TO_FIVE))]}

    wanted = pending_calls(UP_TO_FIVE, wants_another=lambda _: True).open_calls(finished(run), earlier)
    enough = pending_calls(UP_TO_FIVE, wants_another=lambda _: False).open_calls(finished(run), earlier)

    assert [call.pass_index for call in wanted] == [2]
    assert enough == []


def test_earlier_answers_to_the_same_questions_are_listed_by_judge() -> None:
    run = a_run()
    answer = answer_to(a_judge_call(run))
    stranger = a_judgment(run, judge="judge")

    answers = pending_calls(A_JUDGE, OTHER).answers(finished(run), {run.run_id: [answer, stranger]})

    assert answers == {"judge": ([answer], []), "other": ([], [])}


def test_an_unusable_answer_that_was_replaced_is_listed_apart() -> None:
    run = a_run()
    failed, mended = invalid_answer_to(a_judge_call(run)), answer_to(a_judge_call(run))

    answers = pending_calls().answers(finished(run), {run.run_id: [failed, mended]})

    assert answers["judge"] == ([mended], [failed])


def test_a_pass_that_is_tried_again_keeps_its_number() -> None:
    run = a_run()
    call = a_judge_call(run, UP_TO_FIVE)
    passes = [replace(call, pass_index=number) for number in (1, 2, 3)]
    earlier = [answer_to(passes[0]), invalid_answer_to(passes[1]), answer_to(passes[2])]
    pending = pending_calls(UP_TO_FIVE, wants_another=lambda _: False, retry_invalid=True)

    open_now = pending.open_calls(finished(run), {run.run_id: earlier})
    afterwards = pending.open_calls(finished(run), {run.run_id: [*earlier, answer_to(passes[1])]})

    assert [again.pass_index for again in open_now] == [2]
    assert afterwards == []
