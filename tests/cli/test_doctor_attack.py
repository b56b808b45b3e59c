"""`outweigh doctor -c SUITE --attack` says of each task which of the known cheats would pass it."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_doctor import a_suite, write

from outweigh.app.starter_suite import starter_files
from outweigh.engine.cheats import CHEATS

ROOT = Path(__file__).resolve().parents[2]
NAMES = [cheat.name for cheat in CHEATS]


def tried(answer: Any) -> dict[str, dict[str, bool | None]]:
    return {
        task["task_id"]: {outcome["cheat"]: outcome["passes"] for outcome in task["cheats"]}
        for task in answer.json()["tasks"]
    }


def attack(outweigh: Any, suite: str) -> Any:
    return outweigh("doctor", "-c", suite, "--attack", "--format", "json")


@pytest.mark.parametrize("suite", ["starter", "demo"])
def test_no_cheat_passes_a_task_of_ours(outweigh: Any, suite: str, tmp_path: Path) -> None:
    starter = write(tmp_path, {name: content.decode() for name, content in starter_files().items()})

    answer = attack(outweigh, starter if suite == "starter" else str(ROOT / "examples/demo"))

    outcomes = tried(answer)
    assert answer.code == 0
    assert len(outcomes) == {"starter": 2, "demo": 12}[suite]
    assert all(list(cheats) == NAMES and True not in cheats.values() for cheats in outcomes.values())
    assert all(False in cheats.values() for cheats in outcomes.values())


@pytest.mark.parametrize(
    ("check", "files", "passing"),
    [
        (
            "run = 'python3 work.py'\n",
            {"work.py": "raise SystemExit(1)\n"},
            {"exit-0", "known-answers", "edited-runner", "forged-report"},
        ),
        ("run = 'make test'\n", {"Makefile": "test:\n\t@exit 1\n"}, {"edited-runner"}),
        (
            "run = 'if [ -e test_it.sh ]; then sh test_it.sh; fi'\n",
            {"test_it.sh": "exit 1\n"},
            {"deleted-tests", "emptied-tests", "exit-0", "known-answers", "edited-runner"},
        ),
        (
            'run = \'[ "$(sh answer.sh)" = "$(cat "$OUTWEIGH_TESTS/expected")" ]\'\n',
            {"answer.sh": "exit 1\n", "../tests/expected": "42\n"},
            {"known-answers"},
        ),
        ("run = 'test -e answer.txt'\n", {"old/solve.sh": "echo 42 > answer.txt\n"}, {"found-solution"}),
    ],
)
def test_a_cheat_that_passes_is_named_with_its_remedy(
    outweigh: Any, tmp_path: Path, check: str, files: dict[str, str], passing: set[str]
) -> None:
    suite = a_suite(tmp_path, f'type = "command"\n{check}')
    write(tmp_path / "task/environment", files)

    answer, shown = attack(outweigh, suite), outweigh("doctor", "-c", suite, "--attack")

    assert (answer.code, shown.code) == (1, 1)
    assert {name for name, passes in tried(answer)["task"].items() if passes} == passing
    for name in passing:
        assert f"the cheat {name} passes" in " ".join(shown.out.split())


def test_a_cheat_with_nothing_to_change_is_not_called_stopped(outweigh: Any, tmp_path: Path) -> None:
    answer = attack(outweigh, a_suite(tmp_path, 'type = "file_exists"\npath = "answer.txt"\n'))

    cheats = tried(answer)["task"]
    assert answer.code == 0
    assert {name for name, passes in cheats.items() if passes is None} == {
        *("exit-0", "deleted-tests", "emptied-tests", "skipped-tests", "known-answers", "forged-report")
    }


def test_without_attack_no_cheat_is_tried(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh(
        "doctor", "-c", a_suite(tmp_path, 'type = "file_exists"\npath = "answer.txt"\n'), "--format", "json"
    )

    assert [task["cheats"] for task in answer.json()["tasks"]] == [None]


def test_an_attack_needs_a_suite(outweigh: Any) -> None:
    answer = outweigh("doctor", "--attack")

    assert answer.code == 2
    assert "name the suite with -c" in answer.err
