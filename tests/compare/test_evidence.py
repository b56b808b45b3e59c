from collections.abc import Iterator

import pytest

from outweigh.compare.evidence import gather
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import InvalidLine, LocatedRecord, refuse_invalid
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.trigger_case import TriggerCase, trigger_label
from outweigh.testing.builders import a_judgment, a_run, evidence_of, runs_of_arm


def test_a_trial_recorded_twice_is_refused_with_both_places() -> None:
    records = [LocatedRecord(a_run(), "a.jsonl", 3), LocatedRecord(a_run(), "b.jsonl", 7)]

    with pytest.raises(EvidenceError, match=r"a\.jsonl:3 and b\.jsonl:7"):
        gather(records, prices=PriceTables())


def test_a_trial_recorded_twice_is_refused_before_a_later_line_that_cannot_be_read() -> None:
    def read() -> Iterator[LocatedRecord]:
        yield LocatedRecord(a_run(), "a.jsonl", 1)
        yield LocatedRecord(a_run(), "a.jsonl", 2)
        refuse_invalid(InvalidLine("a.jsonl", 3, "not valid JSON"))

    with pytest.raises(EvidenceError, match="recorded twice"):
        gather(read(), prices=PriceTables())


def test_runs_of_trigger_cases_are_told_apart_wherever_they_stand() -> None:
    label = trigger_label(TriggerCase(skill="review", should_fire=True))
    runs = [
        a_run(f"task-{task}", repeat=repeat, extra=label if task % 3 == 0 else {})
        for task in range(30)
        for repeat in (1, 2, 3)
    ]

    evidence = evidence_of(runs)

    assert evidence.triggers is not None
    tasks = [{score.task_id for score in each.arm("baseline")} for each in (evidence, evidence.triggers)]
    assert tasks == [{f"task-{task}" for task in range(30) if bool(task % 3) is plain} for plain in (True, False)]


def test_a_later_attempt_replaces_an_infrastructure_failure_in_any_order() -> None:
    failed, done = a_run(status=Status.INFRA_ERROR, run_id="first"), a_run(attempt=2, run_id="second")

    for records in ([failed, done], [done, failed]):
        evidence = evidence_of(*records)
        assert [score.run_id for score in evidence.arm("baseline")] == ["second"]
        assert "superseded" in evidence.warnings[0]


def test_a_trial_that_counted_cannot_be_attempted_again() -> None:
    with pytest.raises(EvidenceError, match="recorded twice"):
        evidence_of(a_run(passed=False), a_run(attempt=2))


def test_an_unknown_arm_is_answered_with_the_nearest() -> None:
    evidence = evidence_of(a_run(arm="with_skill"), a_run(arm="without_skill"))

    with pytest.raises(UsageError, match=r"Did you mean 'with_skill'\?"):
        evidence.arm("with_skil")


def test_judgments_find_their_run_wherever_they_stand() -> None:
    run = a_run()

    scores = evidence_of(a_judgment(run, 0.5), run).arm("baseline")

    assert scores[0].judge_score == 0.5
    assert "judge_score" not in scores[0].reasons


def test_a_judgment_without_a_run_is_counted_and_not_used() -> None:
    evidence = evidence_of(a_run(), a_judgment(a_run(task="elsewhere")))

    assert evidence.warnings == ("1 judgments name a run that is not in the records; they are not used.",)


def test_the_same_pass_of_the_same_judge_twice_is_refused() -> None:
    run = a_run()

    with pytest.raises(EvidenceError, match="judged twice"):
        evidence_of(run, a_judgment(run, 0.1), a_judgment(run, 0.9))


def test_a_run_id_that_names_two_judged_runs_is_refused() -> None:
    one, two = a_run(run_id="same"), a_run(repeat=2, run_id="same")

    with pytest.raises(EvidenceError, match="names two runs"):
        evidence_of(one, two, a_judgment(one))


def test_a_run_id_that_names_two_runs_is_no_matter_where_neither_is_judged() -> None:
    evidence = evidence_of(a_run(run_id="same"), a_run(repeat=2, run_id="same"))

    assert len(evidence.arms["baseline"]) == 2


def test_the_fingerprint_covers_judgments_and_only_the_arms_asked_for() -> None:
    run, other = a_run(), a_run(arm="other")

    plain, judged = evidence_of(run, other), evidence_of(run, other, a_judgment(run))

    assert plain.sha256("baseline") != judged.sha256("baseline")
    assert plain.sha256("other") == judged.sha256("other")


def test_records_without_a_run_are_no_evidence() -> None:
    with pytest.raises(EvidenceError, match="no run"):
        evidence_of(a_judgment(a_run()))


def test_runs_are_in_the_order_of_their_trials_whoever_finished_first() -> None:
    runs = [*runs_of_arm("a", [[True, False], [False, True]]), *runs_of_arm("b", [[True, True], [False, False]])]

    forwards, backwards = evidence_of(runs), evidence_of(runs[::-1])

    for arm in ("a", "b"):
        trials = [[(run.task_id, run.repeat) for run in found.arms[arm]] for found in (forwards, backwards)]
        assert trials[0] == trials[1] == sorted(trials[0])
