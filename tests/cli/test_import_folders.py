"""A folder of results is imported by one command wherever it says clearly enough what its runs are."""

import csv
import json
from pathlib import Path
from typing import Any

from tests.interop.test_agent_projects import claude_session

Answer = Any
TASKS = [f"task-{number}" for number in range(6)]


def rows_of(*arms: str) -> list[dict[str, Any]]:
    return [
        {
            "run_id": f"{arm}-{task}-{repeat}",
            "agent": arm,
            "task_id": task,
            "success": len(task + arm + repeat) % 2 == 0,
        }
        for arm in arms
        for task in TASKS
        for repeat in ("1", "22")
    ]


def a_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def a_document(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def imported(outweigh: Any, folder: Path) -> Answer:
    return outweigh("import", str(folder), "-o", str(folder.parent / "runs"))


def test_the_table_that_has_all_runs_is_read_and_its_parts_are_not(outweigh: Any, tmp_path: Path) -> None:
    results, rows = tmp_path / "results", rows_of("codex", "opus")
    a_csv(results / "runs" / "may" / "runs.csv", rows)
    a_document(results / "runs" / "may" / "failures.json", {"total": 2, "entries": rows[:2]})
    a_csv(results / "runs" / "may" / "summary.csv", [{"agent": "codex", "task_id": "task-1", "success_rate": 0.5}])
    json_lines(results / "tests" / "fixtures" / "runs_sample.jsonl", rows[:3])

    answer = imported(outweigh, results)

    assert answer.code == 0
    assert "24 runs of 2 arms on 6 tasks" in answer.out
    assert "runs_sample.jsonl' have runs of" in answer.err


def test_tables_with_runs_of_their_own_are_not_chosen_between(outweigh: Any, tmp_path: Path) -> None:
    a_csv(tmp_path / "results" / "may.csv", rows_of("codex", "opus"))
    june = [row | {"run_id": f"june {row['run_id']}", "night": 1} for row in rows_of("codex")]
    json_lines(tmp_path / "results" / "june.jsonl", june)

    answer = imported(outweigh, tmp_path / "results")

    assert answer.code == 2
    assert "may.csv" in answer.err
    assert "june.jsonl" in answer.err
    assert not (tmp_path / "runs").exists()


def test_a_table_deep_in_a_folder_is_found(outweigh: Any, tmp_path: Path) -> None:
    reports = tmp_path / "analysis" / "reports" / "horizon" / "data" / "raw"
    json_lines(reports / "runs.jsonl", rows_of("codex", "opus"))
    a_document(tmp_path / "analysis" / "params.json", {"seed": 1})

    answer = imported(outweigh, tmp_path / "analysis")

    assert answer.code == 0
    assert "24 runs of 2 arms" in answer.out


def test_the_only_table_is_asked_about_its_columns(outweigh: Any, tmp_path: Path) -> None:
    a_csv(tmp_path / "wide" / "results.csv", [{"task_id": task, "opus": 1, "gpt": 0} for task in TASKS])

    answer = imported(outweigh, tmp_path / "wide")

    assert answer.code == 3
    assert "outweigh import table " in answer.err
    assert "--map success=COLUMN" in answer.err


def test_documents_with_an_array_of_results_each_are_arms(outweigh: Any, tmp_path: Path) -> None:
    for model in ("sonnet", "gpt"):
        results = [{"task_id": task, "success": model == "gpt", "checks": [{"passed": True}]} for task in TASKS]
        a_document(tmp_path / "models" / f"{model}.json", {"model": model, "date": "2026-01-01", "results": results})

    answer = imported(outweigh, tmp_path / "models")

    assert answer.code == 0
    assert "12 runs of 2 arms on 6 tasks" in answer.out
    assert "arm=model" in answer.err


def test_maps_of_tasks_in_files_of_one_name_are_arms_by_their_folder(outweigh: Any, tmp_path: Path) -> None:
    for experiment in ("react", "plan"):
        individual = {task: {"success": experiment == "plan", "tests": 6} for task in TASKS}
        place = tmp_path / "outputs" / experiment / "evaluations" / "test.json"
        a_document(place, {"aggregate": {"completion": 50.0}, "individual": individual})

    answer = imported(outweigh, tmp_path / "outputs")

    assert answer.code == 0
    assert "12 runs of 2 arms on 6 tasks" in answer.out
    assert "  react " in answer.out


def test_a_map_of_arms_and_tasks_has_the_many_keys_as_tasks(outweigh: Any, tmp_path: Path) -> None:
    outcomes = {arm: {task: len(task + arm) % 2 == 0 for task in TASKS} for arm in ("opus", "gpt")}
    a_document(tmp_path / "map" / "results.json", outcomes)

    answer = imported(outweigh, tmp_path / "map")

    assert answer.code == 0
    assert "12 runs of 2 arms on 6 tasks" in answer.out
    assert "task_id=key2, arm=key, success=value" in answer.err


def test_a_file_for_each_run_is_no_arm(outweigh: Any, tmp_path: Path) -> None:
    for row in rows_of("codex", "opus"):
        nested = {"agent": {"id": row["agent"]}, "task": {"id": row["task_id"]}, "outcome": {"success": row["success"]}}
        a_document(tmp_path / "trials" / row["run_id"] / "result.json", nested)

    answer = imported(outweigh, tmp_path / "trials")

    assert answer.code == 0
    assert "24 runs of 2 arms on 6 tasks" in answer.out
    assert "arm=agent.id" in answer.err


def test_a_folder_without_anything_that_names_tasks_and_results_is_refused(outweigh: Any, tmp_path: Path) -> None:
    a_document(tmp_path / "site" / "aggregates.json", {"decompilers": ["a", "b"], "totals": {"a": [1, 2]}})

    answer = imported(outweigh, tmp_path / "site")

    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert not (tmp_path / "runs").exists()


def test_sessions_of_several_agents_in_one_folder_are_read_together(outweigh: Any, tmp_path: Path) -> None:
    rollout = (Path(__file__).parents[1] / "agents" / "samples" / "codex" / "rollout.jsonl").read_text()
    thread = json.loads(rollout.splitlines()[0])["payload"]["id"]
    for arm in ("claude-code", "codex"):
        (tmp_path / "results" / arm / "traces").mkdir(parents=True)
    for task in ("one", "two"):
        results = tmp_path / "results"
        claude_session(results / "claude-code" / "traces" / f"{task}.session.jsonl", f"s-{task}", "/w", "main")
        copied = rollout.replace(thread, f"{thread[:-3]}{task}")
        (results / "codex" / "traces" / f"{task}.session.jsonl").write_text(copied)

    answer = imported(outweigh, tmp_path / "results")

    assert answer.code == 0
    assert "2 arms on 2 tasks" in answer.out
    assert "outweigh compare " in answer.out
    assert "holds more that was not read" not in answer.err


def test_a_document_for_each_run_is_read_and_not_the_summary_of_them_beside_it(outweigh: Any, tmp_path: Path) -> None:
    rows = [row | {"calls": [{"name": "bash"}], "duration_seconds": 9.5} for row in rows_of("codex", "opus")]
    for row in rows:
        a_document(tmp_path / "pilot" / "runs" / f"{row['run_id']}.json", row)
    summary = [{name: row[name] for name in ("run_id", "agent", "task_id", "success")} for row in rows]
    a_document(tmp_path / "pilot" / "summary.json", {"version": 1, "runs": summary})
    a_document(tmp_path / "pilot" / "manifest.json", {"tasks": [{"id": task} for task in TASKS]})

    answer = imported(outweigh, tmp_path / "pilot")

    assert answer.code == 0
    assert "24 runs of 2 arms on 6 tasks" in answer.out
    assert "duration_seconds=duration_seconds" in answer.err
    assert "summary.json' has runs of" in answer.err


def test_an_id_that_no_two_runs_share_tells_that_two_files_have_the_same_runs(outweigh: Any, tmp_path: Path) -> None:
    rows = [row | {"directoryId": row.pop("run_id")} for row in rows_of("codex", "opus")]
    for row in rows:
        a_document(tmp_path / "tests" / "tasks" / f"{row['directoryId']}.json", row)
    a_document(tmp_path / "tests" / "summary.json", rows)

    answer = imported(outweigh, tmp_path / "tests")

    assert answer.code == 0
    assert "24 runs of 2 arms on 6 tasks" in answer.out


def test_runs_that_a_document_of_a_task_counts_are_repeats_and_no_arms(outweigh: Any, tmp_path: Path) -> None:
    results = tmp_path / "model_results"
    for model, passes in (("big", 3), ("small", 1)):
        for task in TASKS:
            runs = {
                f"run-{number}": {
                    "agent_execution_time": 12.5,
                    "execution_result": {"success": number <= passes, "error_message": None},
                    "token_usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
                    "turn_count": 4,
                }
                for number in range(1, 5)
            }
            a_document(results / model / f"{task}.json", {"task_name": task, "model": model, "runs": runs})

    answer = imported(outweigh, results)

    assert "48 runs of 2 arms on 6 tasks" in answer.out
    assert shown_arm(answer, "big") == ["24", "24", "0", "18", "75", "%", "unknown", "2,640"]
    assert shown_arm(answer, "small") == ["24", "24", "0", "6", "25", "%", "unknown", "2,640"]


def shown_arm(answer: Answer, arm: str) -> list[str]:
    """The cells of an arm in the table that an import ends with."""
    (line,) = [line for line in answer.out.splitlines() if line.split()[:1] == [arm]]
    cells: list[str] = line.split()[1:]
    return cells


def test_sessions_beside_files_of_other_programs_are_read_as_one_folder(outweigh: Any, tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    for arm in ("plain", "skill"):
        for task in ("one", "two", "three"):
            claude_session(sessions / arm / task / "out.jsonl", f"{arm}-{task}", "/w", "main")
        a_document(sessions / arm / "one" / "config.json", {"model": "opus"})

    answer = imported(outweigh, sessions)

    assert answer.code == 0
    assert "6 runs of 2 arms on 3 tasks read as claude-code" in answer.out
    assert "config.json is not a session or an output of Claude Code and was passed by" in answer.err


def test_documents_of_several_experiments_are_read_from_the_folder_of_each(outweigh: Any, tmp_path: Path) -> None:
    for experiment in ("planner", "game"):
        for arm in ("control", "treatment"):
            for task in ("one", "two"):
                run = {"run_id": f"{experiment}-{arm}-{task}", "task_id": f"{experiment} {task}", "condition": arm}
                document = run | {"succeeded": arm == "treatment", "duration_seconds": 5}
                a_document(tmp_path / "all" / experiment / "runs" / arm / f"{task}.json", document)
        a_document(tmp_path / "all" / experiment / "manifest.json", {"experiment": experiment})

    answer = imported(outweigh, tmp_path / "all")

    assert answer.code == 0
    assert "now: 2 arms on 4 tasks" in answer.out


def test_documents_that_do_not_name_their_arm_are_not_read_folder_by_folder(outweigh: Any, tmp_path: Path) -> None:
    for arm in ("control", "treatment"):
        for task in ("one", "two"):
            run = {"run_id": f"{arm}-{task}", "task_id": task, "succeeded": arm == "treatment"}
            a_document(tmp_path / "all" / arm / "runs" / f"{task}.json", run)
        a_document(tmp_path / "all" / arm / "manifest.json", {"arm": arm})

    answer = imported(outweigh, tmp_path / "all")

    assert answer.code == 2
    assert not (tmp_path / "runs").exists()
