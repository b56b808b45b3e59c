"""Maps, lists, leaderboards and folders of SWE-bench: whose outcomes they are, and what else they state."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conftest import Outweigh

from outweigh.errors import UsageError
from outweigh.interop.agent_sessions import MiniSweAgentImporter
from outweigh.interop.swe_bench import SweBenchImporter
from outweigh.interop.swe_bench_submissions import is_results_file
from outweigh.model.run_record import DIFF_ARTIFACT, RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

DETAILS = {
    "django__django-1": {"cost": 0.5, "api_calls": 20, "resolved": True},
    "django__django-2": {"cost": 0.25, "api_calls": 9, "resolved": False},
}


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(document))
    return path


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(SweBenchImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def outcomes(runs: list[RunRecord]) -> dict[tuple[str, str], bool | None]:
    return {(run.trial.arm, run.trial.task_id): run.checks[0].passed for run in runs if run.checks}


class TestMaps(ImporterContract):
    def importer(self) -> SweBenchImporter:
        return SweBenchImporter()

    def example(self, folder: Path) -> Path:
        return write(folder / "gpt-5.json", DETAILS)


def test_a_map_keeps_its_costs(tmp_path: Path) -> None:
    path = write(tmp_path / "20250726_mini_gpt-5" / "per_instance_details.json", DETAILS)

    runs, _ = runs_of(path)

    assert SweBenchImporter().recognises(path)
    assert [(run.trial.arm, run.cost.usd, run.extra["api_calls"]) for run in runs] == [
        ("mini_gpt-5", 0.5, 20),
        ("mini_gpt-5", 0.25, 9),
    ]


def test_costs_that_are_all_zero_are_unknown(tmp_path: Path) -> None:
    runs, notes = runs_of(write(tmp_path / "m.json", {"babel": {"cost": 0.0, "resolved": True}}))

    assert [run.cost.usd for run in runs] == [None]
    assert "every run of 'm' cost 0, which is taken as unknown." in notes.warnings


def test_a_map_of_booleans_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "gpt-5.json", {"django__django-1": True, "django__django-2": False})

    runs, _ = runs_of(path)

    assert SweBenchImporter().recognises(path)
    assert outcomes(runs) == {("gpt-5", "django__django-1"): True, ("gpt-5", "django__django-2"): False}


def test_settings_that_are_true_or_false_are_no_map(tmp_path: Path) -> None:
    assert not SweBenchImporter().recognises(write(tmp_path / "settings.json", {"strict": True, "fast": False}))


def leaderboard(folder: Path) -> Path:
    entries: list[dict[str, Any]] = [
        {"name": "mini + gpt-5", "resolved": 50.0, "cost": 0.75, "mini-swe-agent_version": "1.0"}
        | {"per_instance_details": DETAILS},
        {"name": "other", "resolved": 12.5, "per_instance_details": None},
    ]
    boards = [{"name": "bash-only", "results": entries}, {"name": "Verified", "results": entries}]
    return write(folder / "leaderboards.json", {"leaderboards": boards})


def test_a_leaderboard_with_instances_is_read_and_is_no_trajectory(tmp_path: Path) -> None:
    path = leaderboard(tmp_path)

    runs, notes = runs_of(path)

    assert SweBenchImporter().recognises(path)
    assert not MiniSweAgentImporter().recognises(path)
    assert [(run.trial.arm, run.cost.usd) for run in runs] == [("mini + gpt-5", 0.5), ("mini + gpt-5", 0.25)]
    assert notes.arm_facts == {"mini + gpt-5": {"pass_rate": 0.5, "cost_usd": 0.75}}
    assert notes.aggregates[0]["name"] == "other"


def test_a_mention_of_the_format_makes_no_trajectory(tmp_path: Path) -> None:
    path = write(tmp_path / "x.traj.json", {"notes": {"trajectory_format": "mini-swe-agent-1.1"}, "messages": []})

    assert not MiniSweAgentImporter().recognises(path)


def test_predictions_and_what_was_resolved_are_one_result(tmp_path: Path) -> None:
    folder = tmp_path / "20250601_agent"
    write(folder / "results" / "results.json", {"resolved": ["a__a-1"], "no_generation": ["a__a-3"], "no_logs": []})
    lines = [
        {"instance_id": f"a__a-{number}", "model_name_or_path": "agent + gpt-5", "model_patch": "diff"}
        for number in (1, 2)
    ]
    (folder / "all_preds.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))

    runs, _ = runs_of(folder)

    assert SweBenchImporter().recognises(folder)
    assert outcomes(runs) == {
        ("agent + gpt-5", "a__a-1"): True,
        ("agent + gpt-5", "a__a-2"): False,
        ("agent + gpt-5", "a__a-3"): False,
    }
    assert [DIFF_ARTIFACT in run.artifacts for run in runs] == [True, True, False]


def test_predictions_beside_a_report_add_their_patches(tmp_path: Path) -> None:
    report = {"total_instances": 2, "resolved_ids": ["a__a-1"], "unresolved_ids": ["a__a-2"]}
    write(tmp_path / "gpt-5.run.json", report)
    line = {"instance_id": "a__a-1", "model_name_or_path": "m", "model_patch": "diff"}
    (tmp_path / "all_preds.jsonl").write_bytes(msgspec.json.encode(line) + b"\n")

    runs, _ = runs_of(tmp_path)

    assert outcomes(runs) == {("gpt-5", "a__a-1"): True, ("gpt-5", "a__a-2"): False}
    assert [DIFF_ARTIFACT in run.artifacts for run in runs] == [True, False]


def test_a_list_without_predictions_asks_for_the_suite_with_a_whole_command(tmp_path: Path) -> None:
    write(tmp_path / "results" / "results.json", {"resolved": ["a__a-1"], "no_generation": [], "no_logs": []})

    with pytest.raises(UsageError, match=f"outweigh import swe-bench {tmp_path} -o RUNS --tasks FILE"):
        runs_of(tmp_path)


def submission(folder: Path, resolved: list[str], *, predicted: list[str] = []) -> None:  # noqa: B006 - never changed
    """A submission to the leaderboard, with the sums by repository that lie beside its list."""
    write(folder / "results" / "results.json", {"no_generation": [], "no_logs": [], "resolved": resolved})
    write(folder / "results" / "resolved_by_repo.json", {"a/a": {"resolved": len(resolved), "total": 3}})
    rows = [{"instance_id": each, "model_name_or_path": "m", "model_patch": "diff"} for each in predicted]
    if rows:
        (folder / "all_preds.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def test_submissions_of_a_benchmark_are_arms_named_by_what_tells_them_apart(tmp_path: Path) -> None:
    instances = ["a__a-1", "a__a-2", "a__a-3"]
    verified = tmp_path / "evaluation" / "verified"
    submission(verified / "20240620_agent", ["a__a-1"], predicted=instances)
    submission(verified / "20241029_other", ["a__a-1", "a__a-2"], predicted=instances)

    runs, notes = runs_of(tmp_path)

    passed = {arm: [outcomes(runs)[arm, each] for each in instances] for arm in ("agent", "other")}
    assert passed == {"agent": [True, False, False], "other": [True, True, False]}
    assert not notes.warnings


def test_two_submissions_of_one_name_are_told_apart_by_their_dates(tmp_path: Path) -> None:
    submission(tmp_path / "20240620_agent", ["a__a-1"], predicted=["a__a-1"])
    submission(tmp_path / "20250620_agent", ["a__a-1"], predicted=["a__a-1"])

    assert {run.trial.arm for run in runs_of(tmp_path)[0]} == {"20240620_agent", "20250620_agent"}


def test_lists_side_by_side_are_compared_on_what_they_name_together_and_that_is_said(tmp_path: Path) -> None:
    submission(tmp_path / "verified" / "20240620_agent", ["a__a-1"])
    submission(tmp_path / "verified" / "20241029_other", ["a__a-1", "a__a-2"])

    runs, notes = runs_of(tmp_path)

    assert outcomes(runs) == {
        ("agent", "a__a-1"): True,
        ("agent", "a__a-2"): False,
        ("other", "a__a-1"): True,
        ("other", "a__a-2"): True,
    }
    (said,) = notes.warnings
    assert "no file of verified names all instances, so the 2 that any of its 2 submissions names" in said
    assert said.endswith(f"`outweigh import swe-bench {tmp_path} -o RUNS --tasks FILE`.")


def test_instances_that_have_logs_belong_to_the_suite_of_lists_side_by_side(tmp_path: Path) -> None:
    for folder, resolved in (("20240620_agent", ["a__a-1"]), ("20241029_other", ["a__a-1", "a__a-2"])):
        submission(tmp_path / "verified" / folder, resolved)
        for instance in ("a__a-1", "a__a-2", "a__a-3"):
            write(tmp_path / "verified" / folder / "logs" / instance / "report.json", {instance: {"resolved": True}})

    runs, notes = runs_of(tmp_path)

    assert [outcomes(runs)[arm, "a__a-3"] for arm in ("agent", "other")] == [False, False]
    assert any("3 that any of its 2 submissions names or has logs of" in each for each in notes.warnings)


@pytest.mark.parametrize("instance", ["instance_NodeBB__NodeBB-04998908ba-vnan", "elastic/logstash:pr-17021"])
def test_a_map_of_booleans_is_read_for_instances_without_a_number(tmp_path: Path, instance: str) -> None:
    for model in ("gpt-5", "opus"):
        write(tmp_path / model / "eval_results.json", {instance: model == "opus"})

    assert SweBenchImporter().recognises(tmp_path)
    assert outcomes(runs_of(tmp_path)[0]) == {("gpt-5", instance): False, ("opus", instance): True}


def logs(folder: Path, resolved: bool) -> None:
    status: dict[str, Any] = {"FAIL_TO_PASS": {"success": [], "failure": []}}
    write(folder / "a__a-1" / "report.json", {"a__a-1": {"resolved": resolved, "tests_status": status}})


def test_a_folder_of_logs_names_no_arm(tmp_path: Path) -> None:
    logs(tmp_path / "20240620_agent" / "logs", True)
    logs(tmp_path / "20241029_other" / "logs", False)

    assert outcomes(runs_of(tmp_path)[0]) == {("20240620_agent", "a__a-1"): True, ("20241029_other", "a__a-1"): False}


def test_a_model_that_was_evaluated_in_several_runs_is_an_arm_for_each(tmp_path: Path) -> None:
    logs(tmp_path / "logs" / "run_evaluation" / "plain" / "opus", False)
    logs(tmp_path / "logs" / "run_evaluation" / "skill" / "opus", True)

    assert outcomes(runs_of(tmp_path)[0]) == {("opus plain", "a__a-1"): False, ("opus skill", "a__a-1"): True}


def test_a_folder_of_agents_models_and_benchmarks_becomes_arms_that_share_tasks(
    tmp_path: Path, outweigh: Outweigh
) -> None:
    for agent, model in (("openhands", "gpt-5"), ("openhands", "claude"), ("codex", "gpt-5")):
        for benchmark in ("commit0", "gaia"):
            instances = {f"task-{number}": {"cost": 0.1 * number, "resolved": number > 2} for number in range(1, 5)}
            write(tmp_path / "index" / agent / model / "instance_results" / f"{benchmark}.json", instances)
        write(tmp_path / "index" / agent / model / "scores.json", [{"benchmark": "gaia", "score": 50.0}])

    runs, _ = runs_of(tmp_path / "index")

    assert {run.trial.arm for run in runs} == {"openhands/gpt-5", "openhands/claude", "codex/gpt-5"}
    assert len({run.trial.task_id for run in runs}) == 8
    imported = outweigh("import", str(tmp_path / "index"), "-o", str(tmp_path / "runs"))
    assert (imported.code, "24 runs of 3 arms on 8 tasks" in imported.out) == (0, True)
    arms = ("--baseline", "codex/gpt-5", "--candidate", "openhands/gpt-5")
    assert outweigh("compare", str(tmp_path / "runs"), *arms).code == 0


def test_maps_in_one_folder_are_the_arms_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "gpt-5.json", DETAILS)
    write(tmp_path / "claude.json", DETAILS)

    assert {run.trial.arm for run in runs_of(tmp_path)[0]} == {"gpt-5", "claude"}


def test_a_file_with_many_members_and_no_outcome_is_told_apart_without_trying_every_reading(tmp_path: Path) -> None:
    members = ", ".join(f'"figure {number}": {number}.25' for number in range(2_000))
    other = tmp_path / "benchmark.json"
    other.write_text(f'{{"metadata": {{{members}, "model": "resolved"}}}}')
    results = tmp_path / "results.json"
    results.write_text(f'{{"django__django-1": {{{members}, "note": "{{\\"resolved\\": [", "resolved": true}}}}')

    assert not is_results_file(other)
    assert is_results_file(results)


def result_line(instance: str, *, resolved: bool) -> dict[str, Any]:
    return {"instanceId": instance, "agent": "claude-code", "model": "opus", "costUsd": 0.5, "resolved": resolved}


def lists_beside_lines(folder: Path) -> Path:
    rows = [result_line("a__a-1", resolved=True), result_line("a__a-2", resolved=False)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ours.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    write(folder / "one-resolved.json", {"system": "One", "score": 79.2, "resolvedIds": ["a__a-2", "a__a-9"]})
    write(folder / "two-resolved.json", {"system": "Two", "score": 60.0, "resolvedIds": []})
    return folder


def test_lists_beside_result_lines_are_of_the_instances_that_the_lines_name(tmp_path: Path) -> None:
    folder = lists_beside_lines(tmp_path / "published")

    runs, notes = runs_of(folder)

    assert SweBenchImporter().recognises(folder)
    assert outcomes(runs) == {
        ("claude-code opus", "a__a-1"): True,
        ("claude-code opus", "a__a-2"): False,
        ("One", "a__a-1"): False,
        ("One", "a__a-2"): True,
        ("Two", "a__a-1"): False,
        ("Two", "a__a-2"): False,
    }
    assert [run.cost.usd for run in runs if run.trial.arm == "claude-code opus"] == [0.5, 0.5]
    (said,) = notes.warnings
    assert "the 2 instances of 'ours.jsonl' are taken for the suite of the lists beside it" in said
    assert "1 more" in said
    assert notes.arm_facts == {"One": {"score": 79.2}, "Two": {"score": 60.0}}


def test_a_map_that_names_every_instance_gives_its_suite_to_the_lists_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "gpt-5.json", DETAILS)
    write(tmp_path / "other.json", {"resolved": ["django__django-2"]})

    runs, _ = runs_of(tmp_path)

    assert outcomes(runs) == {
        ("gpt-5", "django__django-1"): True,
        ("gpt-5", "django__django-2"): False,
        ("other", "django__django-1"): False,
        ("other", "django__django-2"): True,
    }


def test_tasks_that_are_named_decide_about_lines_and_lists(tmp_path: Path) -> None:
    runs, notes = runs_of(lists_beside_lines(tmp_path), tasks=frozenset({"a__a-2", "a__a-3"}))

    assert outcomes(runs)["claude-code opus", "a__a-3"] is False
    assert outcomes(runs)["One", "a__a-2"] is True
    assert {task for _, task in outcomes(runs)} == {"a__a-2", "a__a-3"}
    assert not any("taken for the suite" in said for said in notes.warnings)


def test_lists_in_one_folder_are_compared_on_what_they_name_together(tmp_path: Path) -> None:
    write(tmp_path / "one.json", {"resolved": ["a__a-1"]})
    write(tmp_path / "two.json", {"resolved": ["a__a-1", "a__a-2"]})

    runs, notes = runs_of(tmp_path)

    assert outcomes(runs)["one", "a__a-2"] is False
    assert any("the 2 that any of its 2 submissions names" in said for said in notes.warnings)
