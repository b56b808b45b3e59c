"""Logs of Inspect become runs: samples are tasks, epochs repeats, and a sample that was not attempted is not
a failure.
"""

import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.inspect_ai.inspect_logs import eval_log, finished_log, header, summary

from outweigh.errors import EvidenceError
from outweigh.interop.inspect_ai.importer import InspectImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(InspectImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def one(tmp_path: Path, **sample: Any) -> RunRecord:
    (run,), _ = runs_of(finished_log(tmp_path / "one.eval", [summary(**sample)]))
    return run


class TestArchives(ImporterContract):
    # The time of work, else the whole time.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> InspectImporter:
        return InspectImporter()

    def example(self, folder: Path) -> Path:
        return finished_log(folder / "log.eval", [summary(1), summary(1, epoch=2), summary("two")])


class TestDocuments(ImporterContract):
    # The time of work, else the whole time.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> InspectImporter:
        return InspectImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "log.json"
        path.write_bytes(msgspec.json.encode(header() | {"samples": [summary(1), summary(2)]}))
        return path


def test_a_sample_is_a_task_and_an_epoch_a_repeat(tmp_path: Path) -> None:
    run = one(tmp_path, sample="a", epoch=2)

    assert (run.trial.task_id, run.trial.arm, run.trial.repeat) == ("sums/a", "openai/gpt-4o-mini", 2)
    assert (run.status, run.duration_seconds, run.step_count, run.family) == (Status.COMPLETED, 2.0, 3, "sums")
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cache_read_tokens) == (60, 5, None)
    assert run.cost.usd is None


@pytest.mark.parametrize(
    ("value", "passed"),
    [("C", True), ("I", False), ("P", False), ("N", False), (1, True), (0.5, False), (True, True), ("no", False)],
)
def test_full_credit_is_success(tmp_path: Path, value: object, passed: bool) -> None:
    checks = one(tmp_path, scores={"match": {"value": value}}).checks

    assert checks is not None
    assert [check.passed for check in checks] == [passed]


@pytest.mark.parametrize("value", [7, -1, "blue", [1], {}, None])
def test_a_score_that_is_no_share_is_unknown_and_kept(tmp_path: Path, value: object) -> None:
    run = one(tmp_path, scores={"match": {"value": value}})

    assert run.checks is not None
    assert run.checks[0].passed is None
    assert run.extra["scores"] == {"match": value}


def test_an_error_is_no_attempt_and_a_cancelled_sample_was_not_run(tmp_path: Path) -> None:
    failed = one(tmp_path, error="RuntimeError('boom')", scores={})
    cancelled = one(tmp_path, error="CancelledError()", scores={})

    assert (failed.status, failed.status_detail, failed.checks) == (Status.INFRA_ERROR, "RuntimeError('boom')", None)
    assert cancelled.status is Status.NOT_RUN


def test_a_sample_at_its_limit_counts_as_it_was_scored(tmp_path: Path) -> None:
    scored = one(tmp_path, limit="message")
    unscored = one(tmp_path, limit="time", scores={})

    assert (scored.status, scored.status_detail) == (Status.COMPLETED, "ended by its message limit")
    assert unscored.status is Status.TIMEOUT


def test_input_that_includes_the_cache_is_told_by_its_total(tmp_path: Path) -> None:
    inclusive = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105, "input_tokens_cache_read": 80}
    exclusive = inclusive | {"total_tokens": 185}

    assert one(tmp_path, model_usage={"m": inclusive}).usage.input_tokens == 20
    assert one(tmp_path, model_usage={"m": exclusive}).usage.input_tokens == 100


def test_a_cost_is_known_when_every_model_states_one(tmp_path: Path) -> None:
    assert one(tmp_path, model_usage={"a": {"total_cost": 1.5}, "b": {"total_cost": 0.5}}).cost.usd == 2.0
    assert one(tmp_path, model_usage={"a": {"total_cost": 1.5}, "b": {}}).cost.usd is None


def test_a_log_that_broke_off_is_read_from_its_journal(tmp_path: Path) -> None:
    members = {
        "_journal/start.json": header(),
        "samples/1_epoch_1.json": summary(1),
        "_journal/summaries/2.json": [summary(2)],
        "_journal/summaries/1.json": [summary(1)],
        "samples/3_epoch_1.json": summary(3),
    }

    runs, notes = runs_of(eval_log(tmp_path / "crashed.eval", members))

    assert [run.trial.task_id for run in runs] == ["sums/1", "sums/2", "sums/3"]
    assert "breaks off" in next(iter(notes.warnings))


def test_an_old_summary_without_figures_is_completed_from_its_sample(tmp_path: Path) -> None:
    old = {name: value for name, value in summary(1).items() if name in ("id", "epoch", "input", "target", "scores")}

    (run,), _ = runs_of(
        eval_log(
            tmp_path / "old.eval",
            {"samples/1_epoch_1.json": summary(1), "summaries.json": [old], "header.json": header()},
        )
    )

    assert (run.usage.input_tokens, run.duration_seconds) == (60, 2.0)


def test_configurations_of_one_model_become_arms_of_their_own(tmp_path: Path) -> None:
    finished_log(tmp_path / "a.eval", [summary(1)], header(task_id="t1", eval_id="e1"))
    finished_log(tmp_path / "b.eval", [summary(1)], header(task_id="t2", eval_id="e2", task_args={"hint": True}))

    runs, notes = runs_of(tmp_path)

    assert {run.trial.arm for run in runs} == {"openai/gpt-4o-mini", "openai/gpt-4o-mini hint=true"}
    assert len({run.task_checksum for run in runs}) == 1
    assert any("b.eval" in warning for warning in notes.warnings)


def test_tasks_with_their_own_arguments_and_plans_share_the_arms_of_their_models(tmp_path: Path) -> None:
    tasks = {
        "sums": {"task_args": {"digits": 3}, "plan": {"steps": [{"solver": "generate"}], "config": {"max_tokens": 5}}},
        "words": {"task_args": {"few_shot": True}, "plan": {"steps": [{"solver": "chain"}, {"solver": "generate"}]}},
    }
    for number, (task, model) in enumerate(product(tasks, ("openai/gpt-5", "anthropic/claude-opus-4-5"))):
        about = header(
            task=task, model=model, task_args=tasks[task]["task_args"], task_id=str(number), eval_id=str(number)
        )
        about["plan"] = tasks[task]["plan"]
        finished_log(tmp_path / f"{number}.eval", [summary(1)], about)

    runs, _ = runs_of(tmp_path)

    found = {arm: {run.trial.task_id for run in runs if run.trial.arm == arm} for arm in {r.trial.arm for r in runs}}
    assert found == {key: {"sums/1", "words/1"} for key in ("openai/gpt-5", "anthropic/claude-opus-4-5")}
    assert len({run.arm_fingerprint for run in runs}) == 2


def test_an_argument_that_selects_samples_is_the_tasks(tmp_path: Path) -> None:
    for subject in ("law", "physics"):
        about = header(
            task_id=subject, eval_id=subject, task_args={"subject": subject}, dataset={"sample_ids": [f"{subject}-1"]}
        )
        finished_log(tmp_path / f"{subject}.eval", [summary(f"{subject}-1")], about)

    assert {run.trial.arm for run in runs_of(tmp_path)[0]} == {"openai/gpt-4o-mini"}


def test_plans_and_settings_of_one_model_on_one_task_are_arms(tmp_path: Path) -> None:
    plans = {"a": [{"solver": "generate"}], "b": [{"solver": "chain_of_thought"}, {"solver": "generate"}]}
    for name, steps in plans.items():
        about = header(task_id=name, eval_id=name) | {"plan": {"steps": steps}}
        finished_log(tmp_path / f"{name}.eval", [summary(1)], about)

    assert {run.trial.arm for run in runs_of(tmp_path)[0]} == {
        "openai/gpt-4o-mini plan=generate",
        "openai/gpt-4o-mini plan=chain_of_thought+generate",
    }


def test_logs_that_differ_in_how_requests_are_sent_are_of_one_arm(tmp_path: Path) -> None:
    for name, connections in (("a", 4), ("b", 10)):
        about = header(task_id=name, eval_id=name, model_generate_config={"max_connections": connections})
        about["plan"]["config"] = {"max_connections": connections}
        finished_log(tmp_path / f"{name}.eval", [summary(1)], about)

    runs, _ = runs_of(tmp_path)

    assert {(run.trial.arm, run.trial.repeat) for run in runs} == {("openai/gpt-4o-mini", 1), ("openai/gpt-4o-mini", 3)}


def test_one_value_of_a_scorer_with_several_can_decide(tmp_path: Path) -> None:
    head = header(scorers=[{"name": "multi"}])
    head["results"]["scores"] = [{"name": part, "scorer": "multi", "metrics": {}} for part in ("a", "b")]
    path = finished_log(tmp_path / "log.eval", [summary(1, scores={"multi": {"value": {"a": 1, "b": "I"}}})], head)

    (unmapped,), notes = runs_of(path)
    (by_place,), _ = runs_of(path, columns={"success": "multi.a"})
    (by_name,), _ = runs_of(path, columns={"success": "b"})

    assert [(check.name, check.passed) for check in unmapped.checks or () if check.required] == [("multi", None)]
    assert [(check.name, check.passed) for check in by_place.checks or () if check.required] == [("multi.a", True)]
    assert [(check.name, check.passed) for check in by_name.checks or () if check.required] == [("multi.b", False)]
    assert any("--map success=multi.a" in warning for warning in notes.warnings)
    assert by_place.extra["scores"] == {"multi": {"a": 1, "b": "I"}}
    with pytest.raises(EvidenceError, match=r"multi\.a, multi\.b"):
        runs_of(path, columns={"success": "multi.c"})


def test_a_retried_log_replaces_the_first_and_a_second_evaluation_goes_on_counting(tmp_path: Path) -> None:
    finished_log(tmp_path / "a.eval", [summary(1)], header(created="2026-01-01"))
    finished_log(tmp_path / "b.eval", [summary(1), summary(2)], header(created="2026-01-02", eval_id="e2"))
    finished_log(tmp_path / "c.eval", [summary(1)], header(created="2026-01-03", task_id="t3", eval_id="e3"))

    runs, notes = runs_of(tmp_path)

    assert [(run.trial.task_id, run.trial.repeat) for run in runs] == [("sums/1", 1), ("sums/2", 1), ("sums/1", 3)]
    assert {run.extra["repeat_label"] for run in runs} == {"arbitrary"}
    assert any("a.eval is left out" in warning for warning in notes.warnings)


def test_the_first_scorer_decides_and_another_one_can(tmp_path: Path) -> None:
    head = header(scorers=[{"name": "match"}, {"name": "judge"}])
    scores = {"match": {"value": "C"}, "judge": {"value": "I"}}
    path = finished_log(tmp_path / "log.eval", [summary(1, scores=scores)], head)

    (first,), notes = runs_of(path)
    (second,), _ = runs_of(path, columns={"success": "judge"})

    assert [check.name for check in first.checks or () if check.required] == ["match"]
    assert [check.name for check in second.checks or () if check.required] == ["judge"]
    assert any("--map success=SCORER" in warning for warning in notes.warnings)
    with pytest.raises(EvidenceError, match="no scorer 'other'"):
        runs_of(path, columns={"success": "other"})


def test_results_without_samples_stay_aggregates(tmp_path: Path) -> None:
    runs, notes = runs_of(finished_log(tmp_path / "log.eval", []))

    assert not runs
    assert notes.aggregates[0]["results"]["scores"][0]["metrics"]["accuracy"] == {"value": 0.5}


def test_a_broken_sample_is_noted_with_its_place(tmp_path: Path) -> None:
    members = {"samples/9_epoch_1.json": b"{broken", "summaries.json": [summary(1)], "header.json": header()}

    runs, notes = runs_of(eval_log(tmp_path / "log.eval", members))

    assert len(runs) == 1
    assert notes.unreadable[0].source.endswith("log.eval!samples/9_epoch_1.json")


def test_a_member_that_unpacks_to_more_than_it_claims_is_refused(tmp_path: Path) -> None:
    path = finished_log(tmp_path / "log.eval", [summary(number) for number in range(50)])
    with zipfile.ZipFile(path) as opened:
        size = opened.getinfo("summaries.json").file_size
    path.write_bytes(path.read_bytes().replace(size.to_bytes(4, "little"), (size - 1).to_bytes(4, "little")))

    with pytest.raises(EvidenceError, match="not what was put in"):
        runs_of(path)


def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="leads out of it"):
        runs_of(eval_log(tmp_path / "log.eval", {"header.json": header(), "../evil.json": {}}))
