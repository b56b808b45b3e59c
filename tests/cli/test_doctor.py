"""`outweigh doctor` says what works here, and finds tasks that could show nothing before anybody pays for them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.prerequisites import require

from outweigh.app.starter_suite import starter_files
from outweigh.model.preflight_result import PreflightResult
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

ARMS = '[arms.a]\nagent = "noop"\n[arms.b]\nagent = "oracle"\n'
LOCAL = '[sandbox]\nkind = "local"\n'


def write(folder: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return str(folder)


def a_suite(folder: Path, check: str, *, arms: str = ARMS, sandbox: str = LOCAL) -> str:
    files = {
        "suite.toml": f'name = "s"\ntasks = ["task"]\nbaseline = "a"\n{arms}{sandbox}',
        "task/task.toml": f'[[metadata.outweigh.checks]]\nname = "done"\n{check}',
        "task/instruction.md": "Answer.",
        "task/environment/question.txt": "6 x 7",
        "task/solution/solve.sh": "#!/bin/sh\necho 42 > answer.txt\n",
    }
    return write(folder, files)


ANSWERS = 'type = "file_contains"\npath = "answer.txt"\ntext = "42"\n'


@pytest.fixture
def starter(tmp_path: Path) -> str:
    return write(tmp_path / "starter", {name: content.decode() for name, content in starter_files().items()})


def parts(answer: Any) -> dict[str, dict[str, Any]]:
    return {f"{part['kind']} {part['name']}".strip(): part for part in answer.json()["parts"]}


def test_without_a_suite_every_part_is_listed(outweigh: Any) -> None:
    answer = outweigh("doctor", "--format", "json")

    found = parts(answer)
    assert answer.code == 0
    assert found.keys() >= {"python", "git", "disk for store", "sandbox bubblewrap", "sandbox container", "agent shell"}
    assert found.keys() >= {f"judge backend {name}" for name in ("anthropic", "claude-cli", "command")}
    assert found["prices"]["detail"].startswith("genai-prices-")
    assert 0 < found["sandbox local"]["startup_seconds"] < 5
    assert answer.json()["tasks"] is None


def test_text_says_it_in_one_page(outweigh: Any) -> None:
    answer = outweigh("doctor")

    assert answer.code == 0
    assert answer.out.startswith("set up; name a suite with -c to try its tasks\n")
    assert "sandbox local " in answer.out
    assert " ms\n" in answer.out


def test_a_suite_whose_tasks_are_fit_is_set_up(outweigh: Any, starter: str) -> None:
    answer = outweigh("doctor", "-c", starter)

    assert answer.code == 0, answer.out + answer.err
    assert answer.out.startswith("starter is set up: 2 tasks tried\n")
    assert "write-greeting  fails (0 of 1)  fails (0 of 1)  passes (1 of 1)  yes" in answer.out


def test_the_evidence_is_kept_where_it_is_asked_for(outweigh: Any, starter: str, tmp_path: Path) -> None:
    answer = outweigh("doctor", "-c", starter, "-o", str(tmp_path / "store"), "--format", "json")

    kept = msgspec.json.decode((tmp_path / "store" / "preflight.json").read_bytes())
    results = msgspec.convert(kept["tasks"], tuple[PreflightResult, ...])
    assert (kept["schema"], kept["suite"]) == ("outweigh.preflight/2", "starter")
    assert [result.task_id for result in results] == [task["task_id"] for task in answer.json()["tasks"]]
    assert all(result.fit for result in results)


def test_a_task_that_passes_with_no_work_is_in_the_way(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("doctor", "-c", a_suite(tmp_path, 'type = "command"\nrun = "true"\n'))

    assert answer.code == 1
    assert answer.out.startswith("not set up: 1 problem to fix\n")
    assert "task task: Every required check passes on the untouched workspace" in answer.out


def test_a_solution_that_fails_is_in_the_way(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("doctor", "-c", a_suite(tmp_path, ANSWERS.replace("42", "43")), "--format", "json")

    (task,) = answer.json()["tasks"]
    assert (answer.code, answer.json()["blocked"], task["fit"]) == (1, True, False)
    assert [finding["kind"] for finding in task["findings"]] == ["solution_fails"]


def test_an_agent_that_is_missing_is_in_the_way_and_the_tasks_are_tried_all_the_same(
    outweigh: Any, tmp_path: Path
) -> None:
    arms = '[arms.a]\nagent = "noop"\n[arms.b]\nagent = "shell"\noptions = { command = ["no-such-agent"] }\n'

    answer = outweigh("doctor", "-c", a_suite(tmp_path, ANSWERS, arms=arms), "--format", "json")

    assert answer.code == 1
    assert "no program 'no-such-agent'" in parts(answer)["arm b"]["missing"]
    assert [task["fit"] for task in answer.json()["tasks"]] == [True]


def test_a_secret_that_is_not_there_is_in_the_way(outweigh: Any, tmp_path: Path) -> None:
    arms = ARMS.replace('"oracle"', '"oracle"\nsecrets = ["OUTWEIGH_TEST_NO_SUCH_KEY"]')

    answer = outweigh("doctor", "-c", a_suite(tmp_path, ANSWERS, arms=arms))

    assert answer.code == 1
    assert "secret OUTWEIGH_TEST_NO_SUCH_KEY: it is not in the environment; export it." in answer.out


def test_a_sandbox_that_the_suite_did_not_describe_is_in_the_way_and_nothing_is_tried(
    outweigh: Any, tmp_path: Path
) -> None:
    answer = outweigh("doctor", "-c", a_suite(tmp_path, ANSWERS, sandbox='[sandbox]\nkind = "container"\n'))

    assert answer.code == 1
    assert "sandbox container: " in answer.out
    assert "Tasks without an agent" not in answer.out


@pytest.mark.needs_bubblewrap
def test_the_tasks_are_tried_in_the_sandbox_of_the_suite(outweigh: Any, tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    answer = outweigh("doctor", "-c", a_suite(tmp_path, ANSWERS, sandbox=""), "-o", str(tmp_path), "--format", "json")

    kept = msgspec.json.decode((tmp_path / "preflight.json").read_bytes())
    assert answer.code == 0, answer.out
    assert [task["sandbox"] for task in kept["tasks"]] == ["bubblewrap"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-c", "no/such/suite"), "There is no suite at no/such/suite"),
        (("-o", "somewhere"), "name the suite with -c"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(outweigh: Any, arguments: tuple[str, ...], said: str) -> None:
    answer = outweigh("doctor", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_folder_that_cannot_be_written_is_one_paragraph(outweigh: Any, starter: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    answer = outweigh("doctor", "-c", starter, "-o", str(tmp_path / "file" / "store"))

    assert answer.code == 2
    assert "cannot be made: Not a directory" in answer.err
