"""Tasks of a suite as cases of a plugin's evals: what has a counterpart is carried over, and the rest is named."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import write_suite
from tests.interop.plugin_eval.plugins import a_plugin

from outweigh.interop.plugin_eval.suite_exporter import javascript_regex
from outweigh.interop.plugin_eval.suite_reader import PluginEvalSuiteReader
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, write_and_load


def exported(outweigh: Any, tmp_path: Path, *checks: dict[str, Any], **task: Any) -> tuple[dict[str, Any], str]:
    suite = write_suite(tmp_path / "suite", {"oracle": {"agent": "oracle"}}, task={"checks": list(checks), **task})
    answer = outweigh("suite", "export", str(suite), "-o", str(tmp_path / "evals"))
    assert answer.code == 0, answer.err
    return msgspec.json.decode((tmp_path / "evals/task-1/case.yaml").read_bytes()), answer.out


def test_checks_with_a_counterpart_survive_there_and_back(outweigh: Any, tmp_path: Path) -> None:
    first = PluginEvalSuiteReader().read(a_plugin(tmp_path / "plugin"), SUITE_OVERRIDES)
    write_and_load(first, tmp_path / "suite")
    a_plugin(tmp_path / "back", **{"evals__greeting__prompt_dot_md": None})
    for folder in ("evals/greeting", "evals/deep"):
        for file in sorted((tmp_path / "back" / folder).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
    assert outweigh("suite", "export", str(tmp_path / "suite"), "-o", str(tmp_path / "back/evals")).code == 0

    second = PluginEvalSuiteReader().read(tmp_path / "back", SUITE_OVERRIDES)
    checks = [
        {task.name: {check.name: check for check in task.settings.checks} for task in draft.tasks}
        for draft in (first, second)
    ]
    assert checks[0] == checks[1]


def test_the_workspace_becomes_a_scaffold(outweigh: Any, tmp_path: Path) -> None:
    check = {"type": "answer_contains", "name": "says", "text": "a.b"}
    case, _ = exported(outweigh, tmp_path, check, setup=["echo ready > ready.txt"])

    assert case["context"] == {"scaffold_script": "scaffold.sh"}
    assert case["graders"][0]["pattern"] == r"a\.b"
    script = (tmp_path / "evals/task-1/scaffold.sh").read_text()
    assert script == 'set -e\ncp -R "$(dirname "$0")/files/." .\necho ready > ready.txt\n'
    assert (tmp_path / "evals/task-1/files/question.txt").is_file()


def test_a_check_without_a_counterpart_is_named(outweigh: Any, tmp_path: Path) -> None:
    command = {"type": "command", "name": "builds", "run": "make"}
    _, said = exported(outweigh, tmp_path, command, {"type": "file_exists", "name": "there", "path": "a.txt"})

    assert "task-1: the check 'builds' has no counterpart among graders." in said


def test_a_suite_of_which_nothing_can_be_graded_is_refused(outweigh: Any, tmp_path: Path) -> None:
    command = {"type": "command", "name": "builds", "run": "make"}
    suite = write_suite(tmp_path / "suite", {"oracle": {"agent": "oracle"}}, task={"checks": [command]})
    answer = outweigh("suite", "export", str(suite), "-o", str(tmp_path / "evals"))

    assert answer.code == 2
    assert "no task can be a case of `claude plugin eval`. task-1 was left out" in answer.err


@pytest.mark.parametrize(
    ("pattern", "javascript"),
    [
        ("(?im)^a", ("^a", "im")),
        ("(?P<x>a)", ("(?<x>a)", "")),
        (r"\Aa\Z", None),
        ("(?x)a b", None),
        ("a(?i:b)", None),
    ],
)
def test_a_pattern_of_python_is_written_as_javascript_has_it(pattern: str, javascript: object) -> None:
    assert javascript_regex(pattern) == javascript
