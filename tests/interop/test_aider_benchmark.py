"""A run of aider's benchmark becomes an arm, and an exercise passes as aider counts it."""

from pathlib import Path
from typing import Any

import msgspec
from tests.interop.imported import imported_runs, is_pass

from outweigh.interop.aider_benchmark import AiderBenchmarkImporter
from outweigh.testing.importer_contract import ImporterContract


def exercise(folder: Path, run: str, name: str, *outcomes: bool, language: str = "python", **more: Any) -> Path:
    file = folder / run / language / "exercises" / "practice" / name / ".aider.results.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "testdir": f"/benchmarks/{run}/{language}/exercises/practice/{name}",
        "testcase": name,
        "model": "acme/large",
        "edit_format": "diff",
        "tests_outcomes": outcomes,
        "cost": 0.02,
        "duration": 12.5,
        "test_timeouts": 0,
    }
    file.write_bytes(msgspec.json.encode(found | more))
    return file


class TestAiderBenchmark(ImporterContract):
    def importer(self) -> AiderBenchmarkImporter:
        return AiderBenchmarkImporter()

    def example(self, folder: Path) -> Path:
        exercise(folder, "2026-01-02-03-04-05--plain", "bowling", False, True)
        return folder


def test_an_exercise_passes_where_a_try_passes_and_the_first_try_is_told_apart(tmp_path: Path) -> None:
    run = "2026-01-02-03-04-05--plain"
    exercise(tmp_path, run, "bowling", False, True)
    exercise(tmp_path, run, "forth", True)
    exercise(tmp_path, run, "zipper", False, False)

    runs = {each.trial.task_id: each for each in imported_runs(AiderBenchmarkImporter(), tmp_path)[0]}

    assert {task: is_pass(each) for task, each in runs.items()} == {
        "python/bowling": True,
        "python/forth": True,
        "python/zipper": False,
    }
    assert [check.passed for check in runs["python/bowling"].checks or ()] == [True, False]
    assert runs["python/forth"].cost.usd == 0.02
    assert runs["python/forth"].duration_seconds == 12.5
    assert runs["python/forth"].agent.model == "acme/large"
    assert runs["python/forth"].family == "python"


def test_runs_of_one_name_are_repeats_and_exercises_of_two_languages_are_two_tasks(tmp_path: Path) -> None:
    for run in ("2026-01-02-03-04-05--plain", "2026-01-03-03-04-05--plain", "2026-01-02-03-04-05--notes"):
        exercise(tmp_path, run, "bowling", True)
        exercise(tmp_path, run, "bowling", True, language="go")

    runs, _ = imported_runs(AiderBenchmarkImporter(), tmp_path)

    trials = sorted((run.trial.arm, run.trial.task_id, run.trial.repeat) for run in runs)
    assert trials == [
        ("notes", "go/bowling", 1),
        ("notes", "python/bowling", 1),
        ("plain", "go/bowling", 1),
        ("plain", "go/bowling", 2),
        ("plain", "python/bowling", 1),
        ("plain", "python/bowling", 2),
    ]


def test_what_aider_does_not_know_is_unknown(tmp_path: Path) -> None:
    run = "2026-01-02-03-04-05--local"
    exercise(tmp_path, run, "bowling", True, cost=0.0)
    broken = exercise(tmp_path, run, "forth")
    broken.write_bytes(b'{"exception": "the connection was lost"}')

    runs = {each.trial.task_id: each for each in imported_runs(AiderBenchmarkImporter(), tmp_path)[0]}

    assert runs["python/bowling"].cost.usd is None
    assert is_pass(runs["python/forth"]) is None
    assert runs["python/forth"].extra == {"exception": "the connection was lost"}
