"""Judging a whole store: everything once, within the budget, whatever judges do."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.judging.judging_fixtures import A_JUDGE, RUBRIC, JudgingRound, pending_calls

from outweigh.compare.comparison import compare_arms
from outweigh.engine.batch import EndReason
from outweigh.engine.events import EventKind
from outweigh.engine.judging.pointwise import judging_costs
from outweigh.engine.judging.pool import JudgeBudget
from outweigh.errors import EvidenceError
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import reported_cost
from outweigh.ports.judges import JudgeQuestion
from outweigh.score.judge_scores import AS_OFTEN_AS_NEEDED, JudgeRule, JudgeRules, wants_another_pass
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_check, a_run, evidence_of
from outweigh.testing.judge_contract import FakeAnswer, FakeJudge, full_marks
from outweigh.verdict.composite_policy import CompositeThresholds, decide_by_composite
from outweigh.verdict.decision import Decision

GOOD = full_marks(RUBRIC)
OTHER = JudgeSpec(name="other", backend="fake", model="m")
UNUSABLE = "no JSON"


def scoring(score: float) -> str:
    """Full marks on one criterion, this on the other."""
    return GOOD.replace('"id":"clean","evidence":"seen","score":1.0', f'"id":"clean","evidence":"seen","score":{score}')


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FolderRunStore]:
    with FolderRunStore.open(tmp_path / "store") as opened:
        for repeat in range(1, 6):
            for arm in ("a", "b"):
                opened.append(a_run(arm=arm, repeat=repeat))
        yield opened


def test_every_run_is_judged_once_and_a_second_round_asks_nothing(store: FolderRunStore) -> None:
    judge = FakeJudge(GOOD)
    judging = JudgingRound(store, {"judge": judge}, pending_calls(), jobs=4)

    first = judging.run()
    asked = len(judge.questions)
    second = judging.run()

    assert (first.stop, first.left_open, asked) == (EndReason.DONE, 0, 10)
    assert (second.stop, len(judge.questions)) == (EndReason.DONE, 10)
    assert Counter(judgment.run_id for judgment in judging.judgments()).most_common(1)[0][1] == 1


def test_what_was_judged_is_there_for_the_next_engine(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with FolderRunStore.open(folder) as store:
        store.append(a_run(repeat=1))
        store.append(a_run(repeat=2))
        drain = Event()

        def one_and_stop(question: JudgeQuestion) -> FakeAnswer:
            drain.set()
            return GOOD

        stopped = JudgingRound(store, {"judge": FakeJudge(reply=one_and_stop)}, pending_calls(), drain=drain).run()
    judge = FakeJudge(GOOD)
    with FolderRunStore.open(folder) as store:
        resumed = JudgingRound(store, {"judge": judge}, pending_calls()).run()

    assert (stopped.stop, stopped.left_open) == (EndReason.INTERRUPTED, 1)
    assert (resumed.stop, len(judge.questions)) == (EndReason.DONE, 1)


def test_as_many_calls_run_at_once_as_there_are_jobs(store: FolderRunStore) -> None:
    together = Barrier(5)

    def meet(question: JudgeQuestion) -> FakeAnswer:
        together.wait(timeout=60)
        return GOOD

    assert JudgingRound(store, {"judge": FakeJudge(reply=meet)}, pending_calls(), jobs=5).run().stop is EndReason.DONE


def test_a_judge_whose_key_is_refused_is_set_aside_and_the_others_go_on(store: FolderRunStore) -> None:
    refused = FakeJudge(make_failure(FailureKind.UNAUTHORIZED, "HTTP 401: bad key"))
    judging = JudgingRound(store, {"judge": refused, "other": FakeJudge(GOOD)}, pending_calls(A_JUDGE, OTHER))

    judged = judging.run()

    assert judged.set_aside == {"judge": "unauthorized: HTTP 401: bad key"}
    assert (judged.stop, judged.left_open) == (EndReason.INCOMPLETE, 10)
    assert len(refused.questions) == 1
    assert {judgment.judge.name for judgment in judging.judgments()} == {"other"}


def test_unusable_answers_are_kept_as_such_and_asked_for_again_only_on_demand(store: FolderRunStore) -> None:
    judge = FakeJudge(UNUSABLE)
    JudgingRound(store, {"judge": judge}, pending_calls()).run()
    asked = len(judge.questions)
    JudgingRound(store, {"judge": judge}, pending_calls()).run()

    again = JudgingRound(store, {"judge": FakeJudge(GOOD)}, pending_calls(retry_invalid=True))
    again.run()

    assert asked == len(judge.questions) == 30
    passes = Counter((judgment.pass_index, judgment.invalid_reason is None) for judgment in again.judgments())
    assert passes == {(1, False): 10, (1, True): 10}
    assert evidence_of([*_runs(store), *again.judgments()]).arms["a"][0].judge_score == 1.0


def test_a_judge_that_is_not_sure_is_asked_again_while_it_helps(tmp_path: Path) -> None:
    spec = JudgeSpec(name="judge", backend="fake", model="m", most_passes=5)
    with FolderRunStore.open(tmp_path / "store") as store:
        store.append(a_run())
        doubtful = FakeJudge(GOOD.replace('"confidence":0.9', '"confidence":0.4'), GOOD, GOOD)
        judging = JudgingRound(store, {"judge": doubtful}, pending_calls(spec, wants_another=wants_another_pass))
        judging.run()

        assert [judgment.pass_index for judgment in judging.judgments()] == [1, 2]


def test_passes_that_are_retried_count_as_if_nothing_had_failed(tmp_path: Path) -> None:
    spec = JudgeSpec(name="judge", backend="fake", model="m", passes=2, most_passes=5, retries=0)
    with FolderRunStore.open(tmp_path / "store") as store:
        store.append(a_run())
        down = JudgingRound(
            store, {"judge": FakeJudge(UNUSABLE)}, pending_calls(spec, wants_another=wants_another_pass)
        )
        down.run()
        # The first answer back is unsure; the second, still under way, must be there before a third is asked for.
        pending = pending_calls(spec, wants_another=wants_another_pass, retry_invalid=True)
        doubtful = GOOD.replace('"confidence":0.9', '"confidence":0.4')
        up = JudgingRound(store, {"judge": FakeJudge(doubtful, GOOD)}, pending)
        up.run()

        valid = [judgment.pass_index for judgment in up.judgments() if judgment.invalid_reason is None]
        rules = JudgeRules(rules={"judge": JudgeRule(passes=2, most_passes=5)})
        (score,) = evidence_of([*_runs(store), *up.judgments()], judge_rules=rules).arms["baseline"]

    assert sorted(valid) == [1, 2]
    assert {judge_count.passes for judge_count in score.judge_counts} == {AS_OFTEN_AS_NEEDED}


class TestBudget:
    def test_no_question_is_asked_that_could_exceed_the_budget(self, store: FolderRunStore) -> None:
        judge = FakeJudge(GOOD, cost=reported_cost(0.10))
        judging = JudgingRound(store, {"judge": judge}, pending_calls())

        judged = judging.run(JudgeBudget(0.35, {"judge": None}, {}))

        assert (judged.stop, judged.left_open) == (EndReason.BUDGET, 7)
        assert len(judging.judgments()) == 3

    def test_what_was_spent_before_counts(self, store: FolderRunStore) -> None:
        judge = FakeJudge(GOOD, cost=reported_cost(0.10))
        judging = JudgingRound(store, {"judge": judge}, pending_calls())
        judging.run(JudgeBudget(0.35, {"judge": None}, {}))

        judged = judging.run(JudgeBudget(0.35, {"judge": None}, judging_costs(judging.judgments())))

        assert (judged.stop, len(judge.questions)) == (EndReason.BUDGET, 3)

    def test_a_judge_that_has_used_up_its_own_budget_does_not_stop_the_others(self, store: FolderRunStore) -> None:
        poor, rich = FakeJudge(GOOD, cost=reported_cost(1.0)), FakeJudge(GOOD, cost=reported_cost(1.0))
        judging = JudgingRound(store, {"judge": poor, "other": rich}, pending_calls(A_JUDGE, OTHER))

        judged = judging.run(JudgeBudget(None, {"judge": 2.0, "other": None}, {}))

        assert judged.set_aside == {"judge": "its budget is used up"}
        assert (len(poor.questions), len(rich.questions)) == (2, 10)

    def test_an_unknown_cost_is_not_free(self, store: FolderRunStore) -> None:
        judged = JudgingRound(store, {"judge": FakeJudge(GOOD)}, pending_calls()).run(
            JudgeBudget(5.0, {"judge": None}, {})
        )

        assert judged.left_open == 9


def test_every_judgment_is_reported_as_an_event(store: FolderRunStore) -> None:
    judging = JudgingRound(store, {"judge": FakeJudge(GOOD, cost=reported_cost(0.1))}, pending_calls())
    judging.run()

    told = [event for event in judging.events if event.kind is EventKind.JUDGED]
    assert len(told) == 10
    assert (told[0].detail, told[0].cost_usd) == ("judge, pass 1: 1.000", 0.1)


def test_a_store_that_cannot_keep_a_judgment_ends_the_judging(tmp_path: Path) -> None:
    class Full(FolderRunStore):
        def append_judgment(self, judgment: object) -> None:
            raise EvidenceError("the disk is full")

    with Full.open(tmp_path / "store") as store:
        store.append(a_run())
        with pytest.raises(EvidenceError, match="the disk is full"):
            JudgingRound(store, {"judge": FakeJudge(GOOD)}, pending_calls()).run()


def _runs(store: FolderRunStore) -> list[RunRecord]:
    return [run for attempts in store.finished().values() for run in attempts]


# What the judge can do on one side instead of giving a usable answer.
FAILURES: list[FakeAnswer] = [
    UNUSABLE,
    GOOD.replace('"works"', '"charm"'),
    GOOD.replace('"score":1.0', '"score":9.0', 1),
    make_failure(FailureKind.REFUSAL, "no"),
    make_failure(FailureKind.TIMEOUT, "no answer in time"),
    make_failure(FailureKind.RATE_LIMITED, "HTTP 429"),
    make_failure(FailureKind.CRASH, "exit code 1"),
    make_failure(FailureKind.CONTEXT_OVERFLOW, "too long"),
    make_failure(FailureKind.UNAUTHORIZED, "HTTP 401"),
]


@settings(deadline=None, max_examples=40)
@given(
    scores=st.lists(
        st.tuples(st.sampled_from([0.0, 0.3, 0.6, 1.0]), st.sampled_from([0.0, 0.3, 0.6, 1.0])), min_size=2, max_size=4
    ),
    side=st.sampled_from(["a", "b"]),
    failure=st.sampled_from(FAILURES),
    broken=st.sets(st.integers(0, 3), min_size=1),
)
def test_a_judge_that_fails_on_one_side_never_makes_the_candidate_improved(
    scores: list[tuple[float, float]], side: str, failure: FakeAnswer, broken: set[int]
) -> None:
    """The whole way: questions, retries, records, comparison. Checks are equal: only judges tell the arms apart."""
    whole = _decision(scores, None, UNUSABLE, set())
    with_failures = _decision(scores, side, failure, broken)

    assert with_failures is not Decision.IMPROVED or whole is Decision.IMPROVED


def _decision(scores: list[tuple[float, float]], side: str | None, failure: FakeAnswer, broken: set[int]) -> Decision:
    tasks = [f"task-{number}" for number in range(len(scores))]
    by_prompt: dict[str, FakeAnswer] = {}

    def reply(question: JudgeQuestion) -> FakeAnswer:
        return next(said for mark, said in by_prompt.items() if mark in question.prompt)

    with TemporaryDirectory() as folder, FolderRunStore.open(Path(folder, "store")) as store:
        for number, (task, both) in enumerate(zip(tasks, scores, strict=True)):
            for arm, score in zip("ab", both, strict=True):
                mark = f"mark-{number}-{arm}."
                store.append(a_run(task, arm, artifacts={"diff.patch": store.keep(mark.encode())}, checks=(a_check(),)))
                fails = arm == side and number in broken
                by_prompt[mark] = failure if fails else scoring(score)
        judging = JudgingRound(store, {"judge": FakeJudge(reply=reply)}, pending_calls(tasks=tasks))
        judging.run()
        evidence = evidence_of([*_runs(store), *judging.judgments()])
    return decide_by_composite(compare_arms(evidence, "a", "b"), CompositeThresholds()).decision
