"""Results of `claude plugin eval` become runs with and without the plugin, and every grader a check."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.plugin_eval.results import a_case, a_grade, a_result, a_result_run, written

from outweigh.app.choose_importer import choose_importer
from outweigh.compare.comparison import compare_arms
from outweigh.errors import EvidenceError
from outweigh.interop.plugin_eval.importer import PluginEvalImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord, stated_result
from outweigh.ports.importers import ImportNotes
from outweigh.score.objective import objective, passed
from outweigh.testing.builders import evidence_of
from outweigh.testing.importer_contract import ImporterContract, read_all
from outweigh.verdict.confounding import order_confounded

SAMPLE = Path(__file__).parents[4] / "shared/samples/claude_plugin_eval/aggregate-result.json"


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(PluginEvalImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def only_run(tmp_path: Path, run: dict[str, Any], arm: str = "with", **result: Any) -> RunRecord:
    case = a_case(arms={arm: [run]})
    (found,), _ = runs_of(written(tmp_path / "result.json", a_result(case, **result)))
    return found


def arms_of(runs: list[RunRecord]) -> list[str]:
    return list(dict.fromkeys(run.trial.arm for run in runs))


class TestResultFile(ImporterContract):
    alternatives = frozenset({"cost"})  # the agent's is the whole cost without that of its judge

    def importer(self) -> PluginEvalImporter:
        return PluginEvalImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "result.json", a_result(a_case(), a_case("farewell")))


class TestPluginFolder(ImporterContract):
    alternatives = frozenset({"cost"})

    def importer(self) -> PluginEvalImporter:
        return PluginEvalImporter()

    def example(self, folder: Path) -> Path:
        for version in ("0.1.0", "0.2.0"):
            written(folder / f"plug/evals/results/{version}/aggregate-result.json", a_result(version=version))
        return folder / "plug"


def test_a_case_is_a_task_a_run_a_repeat_and_the_runs_without_the_plugin_come_first(tmp_path: Path) -> None:
    runs, _ = runs_of(written(tmp_path / "result.json", a_result()))

    assert [(run.trial.task_id, run.trial.arm, run.trial.repeat) for run in runs] == [
        ("greeting", "without", 1),
        ("greeting", "without", 2),
        ("greeting", "with", 1),
        ("greeting", "with", 2),
    ]
    assert {run.task_checksum for run in runs} == {runs[0].task_checksum}
    assert runs[0].agent.version == "2.1.325"
    assert runs[0].arm_fingerprint != runs[2].arm_fingerprint


def test_the_score_of_a_run_is_the_one_that_the_source_states(tmp_path: Path) -> None:
    runs, _ = runs_of(written(tmp_path / "result.json", a_result()))

    for run in runs:
        stated = stated_result(run)
        assert stated is not None
        assert objective(run).share.value == stated.score
        assert passed(run).value == stated.passed


def test_a_grader_that_is_for_the_plugin_alone_is_kept_and_not_scored(tmp_path: Path) -> None:
    run = only_run(tmp_path, a_result_run(fired=1))

    assert run.checks is not None
    assert [(check.name, check.required, check.weight) for check in run.checks] == [
        ("fired", False, 0),
        ("hello", True, 1),
        ("polite", True, 3),
    ]
    assert run.extra["graders"]["fired"] == {"type": "tool_used", "weight": 1, "with_only": True, "scored": False}
    assert run.extra["graders"]["polite"]["judge_votes"] == [True, True, True]


@pytest.mark.parametrize(("calls", "used"), [(0, ()), (2, ("tiny",))])
def test_a_call_of_the_tool_skill_says_that_the_plugin_fired(tmp_path: Path, calls: int, used: tuple[str, ...]) -> None:
    run = only_run(tmp_path, a_result_run(fired=calls))

    assert run.loaded is not None
    assert run.loaded.skills_used == used
    assert run.loaded.skills is None


def test_without_such_a_grader_it_is_unknown_whether_the_plugin_fired(tmp_path: Path) -> None:
    assert only_run(tmp_path, a_result_run()).loaded is None


def test_the_cost_of_the_judge_is_not_the_agent_s(tmp_path: Path) -> None:
    run = only_run(tmp_path, a_result_run(mocks={"calls": {"costUsd": 0.0001}}))

    assert run.cost.usd == pytest.approx(0.0005)
    assert (run.extra["judge_cost_usd"], run.extra["mock_cost_usd"]) == (0.0018, 0.0001)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"error": "timed out after 300s", "passed": False}, Status.TIMEOUT),
        ({"error": "timed out after 300s", "passed": True}, Status.COMPLETED),
        ({"error": "exit 1: Reached maximum number of turns (1)", "passed": False}, Status.AGENT_ERROR),
        ({"error": "scaffold failed (exit 3): ", "passed": False, "graders": []}, Status.INFRA_ERROR),
        ({"error": "exit 1: API Error: 529 Overloaded", "passed": False, "graders": []}, Status.INFRA_ERROR),
        ({"error": "exit 1: API Error: 400 prompt is too long", "passed": False, "graders": []}, Status.AGENT_ERROR),
        ({"error": "exit 1: stderr: Error: sandbox required but unavailable", "passed": False}, Status.INFRA_ERROR),
        ({"error": "the run directory was moved", "passed": False, "graders": []}, Status.INFRA_ERROR),
    ],
)
def test_an_error_is_kept_as_it_is_and_counts_as_what_it_says(
    tmp_path: Path, fields: dict[str, Any], status: Status
) -> None:
    run = only_run(tmp_path, a_result_run(**fields))

    assert (run.status, run.status_detail) == (status, fields["error"])


def test_a_run_with_an_error_that_counted_nothing_has_no_cost_and_no_turns(tmp_path: Path) -> None:
    run = only_run(tmp_path, a_result_run(error="timed out after 2s", passed=False, costUsd=0, judgeCostUsd=0, turns=0))

    assert (run.cost.usd, run.step_count) == (None, None)


def test_a_run_that_a_mock_aborted_failed(tmp_path: Path) -> None:
    aborted = {"server": "mail", "tool": "send", "reason": "sent twice"}
    run = only_run(tmp_path, a_result_run(graders=[], score=0, passed=False, aborted=aborted))

    assert run.status_detail == "aborted by the mock mail/send: sent twice"
    assert passed(run).value == 0


@pytest.mark.parametrize("words", ["skipped: cost ceiling", "grader threw: API Error: 529 Overloaded"])
def test_a_grader_that_never_judged_is_unknown_and_no_failure(tmp_path: Path, words: str) -> None:
    run = only_run(tmp_path, a_result_run(graders=[a_grade("polite", False, explanation=words)]))

    assert run.checks is not None
    assert run.checks[0].passed is None


def test_a_grader_that_missed_a_file_of_the_agent_failed(tmp_path: Path) -> None:
    words = "grader threw: focus file out.md does not exist"
    run = only_run(tmp_path, a_result_run(graders=[a_grade("report", False, explanation=words)]))

    assert run.checks is not None
    assert run.checks[0].passed is False


def test_runs_of_a_plugin_that_was_not_loaded_do_not_count(tmp_path: Path) -> None:
    result = a_result()
    result["suite"]["plugins"][0]["problem"] = "manifest_invalid"
    runs, notes = runs_of(written(tmp_path / "result.json", result))

    assert {run.trial.arm: run.status for run in runs} == {"with": Status.ARM_NOT_APPLIED, "without": Status.COMPLETED}
    assert any("was not loaded (manifest_invalid)" in warning for warning in notes.warnings)


def test_results_of_several_versions_are_arms_by_version(tmp_path: Path) -> None:
    for version in ("0.10.0", "0.9.0"):
        written(tmp_path / f"evals/results/{version}/aggregate-result.json", a_result(version=version))
    runs, _ = runs_of(tmp_path)

    assert arms_of(runs) == ["without", "with-0.9.0", "with-0.10.0"]
    assert {run.trial.repeat for run in runs if run.trial.arm == "without"} == {1, 2, 3, 4}


def test_further_results_of_one_version_are_further_repeats(tmp_path: Path) -> None:
    for day in (15, 16):
        written(tmp_path / f"{day}/aggregate-result.json", a_result(startedAt=f"2026-11-{day}T19:00:00.000Z"))
    runs, _ = runs_of(tmp_path)

    assert sorted(run.trial.repeat for run in runs if run.trial.arm == "with") == [1, 2, 3, 4]


def test_a_copy_of_a_result_is_not_counted_again(tmp_path: Path) -> None:
    for name in ("1", "2"):
        written(tmp_path / name / "aggregate-result.json", a_result())
    runs, notes = runs_of(tmp_path)

    assert len(runs) == 4
    assert any("is a copy of" in warning for warning in notes.warnings)


def test_results_with_another_model_are_other_arms(tmp_path: Path) -> None:
    for model in ("haiku", "opus"):
        result = a_result()
        result["suite"]["modelOverride"] = model
        written(tmp_path / model / "aggregate-result.json", result)
    runs, _ = runs_of(tmp_path)

    assert arms_of(runs) == ["without-haiku", "with-haiku", "without-opus", "with-opus"]
    assert {run.agent.model for run in runs} == {"haiku", "opus"}


def test_results_of_several_plugins_have_tasks_of_their_own(tmp_path: Path) -> None:
    other = a_result()
    other["suite"]["plugins"][0]["name"] = "other"
    written(tmp_path / "a/evals/results/1/aggregate-result.json", a_result())
    written(tmp_path / "b/evals/results/1/aggregate-result.json", other)
    runs, _ = runs_of(tmp_path)

    assert {run.trial.task_id for run in runs} == {"tiny/greeting", "other/greeting"}
    assert arms_of(runs) == ["without", "with"]


def test_a_name_for_the_arm_is_that_of_the_plugin_s(tmp_path: Path) -> None:
    runs, _ = runs_of(written(tmp_path / "result.json", a_result()), arm="new")

    assert arms_of(runs) == ["new-without", "new"]


def test_results_without_a_baseline_say_so(tmp_path: Path) -> None:
    runs, notes = runs_of(written(tmp_path / "result.json", a_result(a_case(arms={"with": [a_result_run()]}))))

    assert arms_of(runs) == ["with"]
    assert any("no runs without the plugin" in warning for warning in notes.warnings)


def test_a_threshold_below_full_credit_is_said_beside_the_passes(tmp_path: Path) -> None:
    result = a_result()
    result["suite"]["threshold"] = 0.5
    _, notes = runs_of(written(tmp_path / "result.json", result))

    assert any("passed there from a score of 0.5 on" in warning for warning in notes.warnings)


def test_a_partial_result_says_so(tmp_path: Path) -> None:
    _, notes = runs_of(written(tmp_path / "result.json", a_result(partial=True, partialReason="cost_ceiling")))

    assert any("is partial (cost_ceiling)" in warning for warning in notes.warnings)


def test_keys_that_nobody_knows_are_ignored(tmp_path: Path) -> None:
    result = a_result(a_case(novel={"a": 1}), future=True)
    result["suite"]["novel"] = []

    assert len(runs_of(written(tmp_path / "result.json", result))[0]) == 4


def test_a_later_version_of_the_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="its schemaVersion is 2; outweigh reads version 1"):
        runs_of(written(tmp_path / "result.json", a_result(schemaVersion=2)))


def test_a_damaged_result_among_others_is_named(tmp_path: Path) -> None:
    written(tmp_path / "1/aggregate-result.json", a_result())
    whole = msgspec.json.encode(a_result(version="0.2.0"))
    (tmp_path / "2").mkdir()
    (tmp_path / "2/aggregate-result.json").write_bytes(whole[:-200])
    runs, notes = runs_of(tmp_path)

    assert len(runs) == 4
    assert [Path(row.source).parent.name for row in notes.unreadable] == ["2"]


def test_the_source_s_own_figures_are_kept_by_arm(tmp_path: Path) -> None:
    _, notes = runs_of(written(tmp_path / "result.json", a_result()))

    assert notes.arm_facts == {
        "with": {"score": 0.875, "pass_rate": 0.5, "delta": 0.125},
        "without": {"score": 0.75, "pass_rate": 0.0},
    }


def test_a_trace_that_still_exists_adds_tokens_tools_and_the_skill_s_name(tmp_path: Path) -> None:
    trace = tmp_path / "claude-eval-abc/out/trace.jsonl"
    trace.parent.mkdir(parents=True)
    call = {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "tiny:haiku"}}
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    events = [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x", "skills": ["tiny:haiku"]},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call], "usage": usage}},
        {"type": "result", "subtype": "success", "usage": usage, "duration_ms": 505, "num_turns": 2},
    ]
    trace.write_bytes(b"\n".join(map(msgspec.json.encode, events)) + b"\n")
    run = only_run(tmp_path, a_result_run(fired=1, tracePath=str(trace)))

    assert (run.usage.input_tokens, run.duration_seconds, run.agent.model) == (100, 0.505, "claude-x")
    assert run.loaded is not None
    assert run.loaded.skills_used == ("tiny:haiku",)
    assert "trajectory.json" in run.artifacts


def test_no_file_but_a_trace_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "claude-eval-abc/out/secret.jsonl"
    secret.parent.mkdir(parents=True)
    secret.write_text('{"type": "system", "subtype": "init", "session_id": "s", "skills": ["x"]}\n')

    assert only_run(tmp_path, a_result_run(tracePath=str(secret))).loaded is None


def test_the_order_guard_says_that_one_arm_ran_after_the_other_within_every_case(tmp_path: Path) -> None:
    cases = []
    for number in range(6):
        six = [a_result_run(minute=9 * number + place) for place in range(6)]
        cases.append(a_case(f"case-{number}", arms={"with": six[:3], "without": six[3:]}))
    runs, _ = runs_of(written(tmp_path / "result.json", a_result(*cases)))
    compared = compare_arms(evidence_of(runs), "without", "with")

    why = order_confounded(compared.baseline_table, compared.candidate_table)
    assert why is not None
    assert "the runs of without came after those of with, task by task" in why


@pytest.mark.needs_data
@pytest.mark.skipif(not SAMPLE.is_file(), reason="the public samples are not beside the repository")
def test_the_sample_is_read_as_it_is() -> None:
    runs, notes = runs_of(SAMPLE)

    assert choose_importer(None, SAMPLE, mapped=False).name == "plugin-eval"
    assert [(run.trial.arm, objective(run).share.value) for run in runs] == [("without", 1.0)] * 3 + [("with", 1.0)] * 3
    assert notes.arm_facts["with"]["delta"] == 0
