"""Evals of a plugin become a suite: cases are tasks, graders checks and criteria, the plugin is the change."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interop.plugin_eval.plugins import FILES, a_plugin

from outweigh.errors import UsageError
from outweigh.interop.plugin_eval.grader_checks import python_regex
from outweigh.interop.plugin_eval.suite_reader import PluginEvalSuiteReader
from outweigh.model.task import AnswerContainsCheck, Check, FileContainsCheck
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallPattern,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, TaskDraft
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load


def read(path: Path) -> SuiteDraft:
    return PluginEvalSuiteReader().read(path, SUITE_OVERRIDES)


def tasks_of(draft: SuiteDraft) -> dict[str, TaskDraft]:
    return {task.name: task for task in draft.tasks}


def checks_of(task: TaskDraft) -> dict[str, Check]:
    return {check.name: check for check in task.settings.checks}


class TestPluginEvals(SuiteReaderContract):
    mutations = 30

    def reader(self) -> PluginEvalSuiteReader:
        return PluginEvalSuiteReader()

    def example(self, folder: Path) -> Path:
        return a_plugin(folder / "plugin")


def test_a_case_of_either_form_is_a_task(tmp_path: Path) -> None:
    tasks = tasks_of(read(a_plugin(tmp_path)))

    assert {name: task.instruction for name, task in tasks.items()} == {
        "write-report": "Write report.md about data.csv.",
        "greeting": "Write a greeting.",
    }
    assert (tasks["write-report"].settings.timeout_seconds, tasks["greeting"].settings.timeout_seconds) == (120, 300)
    assert tasks["write-report"].settings.environment == {"EVAL_MODE": "test"}


def test_all_six_kinds_of_graders_are_converted(tmp_path: Path) -> None:
    tasks = tasks_of(read(a_plugin(tmp_path)))
    report, greeting = checks_of(tasks["write-report"]), checks_of(tasks["greeting"])

    assert report == {
        "created": CreatedFilesCheck(name="created", glob="**/*.md", weight=2),
        "no-secrets": CreatedFilesCheck(name="no-secrets", glob="secret.txt", absent=True),
        "names": FileContainsCheck(name="names", path="report.md", regex="(?i)(?P<who>anna|berta)"),
        "traced": TranscriptContainsCheck(name="traced", regex="report", count=2),
        "listed": CreatedFilesCheck(name="listed", regex="(?m)^report"),
        "ordered": ToolOrderCheck(
            name="ordered",
            first=ToolCallPattern(tool="Read"),
            then=ToolCallPattern(tool="Write", input_regex="report"),
        ),
        "few": ToolCallsCheck(name="few", tool="Write", at_least=0, at_most=3),
    }
    assert greeting == {
        "fired": ToolCallsCheck(name="fired", tool="Skill", weight=0, required=False),
        "hello": AnswerContainsCheck(name="hello", regex="HELLO"),
    }
    polite, before = (tasks[name].settings.rubric for name in ("greeting", "write-report"))
    assert polite is not None
    assert before is not None
    assert [(one.name, one.weight) for one in polite.criteria] == [("polite", 2)]
    assert "Look at the agent's last message." in polite.criteria[0].description
    assert 'calls Write: {"path":"r"}\nsays: Written.' in before.criteria[0].description


def test_a_grader_for_the_plugin_alone_is_scored_where_there_is_no_other(tmp_path: Path) -> None:
    draft = read(
        a_plugin(tmp_path, evals__greeting__graders__hello_dot_md=None, evals__greeting__graders__polite_dot_md=None)
    )

    assert checks_of(tasks_of(draft)["greeting"])["fired"] == ToolCallsCheck(name="fired", tool="Skill")


def test_the_plugin_is_the_change_and_its_evals_stay_outside(tmp_path: Path) -> None:
    draft = read(a_plugin(tmp_path / "plugin"))
    suite = write_and_load(draft, tmp_path / "suite")

    without, plugged = suite.arms["without"], suite.arms["with"]
    assert (without.overlay, suite.spec.baseline, suite.spec.repeats) == ((), "without", 3)
    assert plugged.flags == (*without.flags, "--plugin-dir", ".claude-plugins/tiny")
    assert {file.path for file in plugged.overlay} == {
        f".claude-plugins/tiny/{path}" for path in FILES if not path.startswith("evals/")
    }


def test_tools_that_no_case_allows_are_withheld(tmp_path: Path) -> None:
    arm = read(a_plugin(tmp_path)).spec.arms["without"]

    assert arm.flags == ["--disallowedTools=Edit,NotebookEdit,WebFetch,WebSearch"]
    assert arm.options == {"max_turns": 8}


def test_the_scaffold_fills_the_workspace_and_is_gone_before_the_agent(tmp_path: Path) -> None:
    task = tasks_of(read(a_plugin(tmp_path)))["write-report"]

    assert set(task.files) == {
        "environment/workspace/.scaffold/scaffold.sh",
        "environment/workspace/.scaffold/data.csv",
        "environment/workspace/.scaffold/golden.jsonl",
    }
    assert [getattr(command, "run", None) for command in task.settings.setup] == [
        "bash .scaffold/'scaffold.sh' && rm -rf .scaffold"
    ]


def test_what_cannot_be_carried_over_is_a_note(tmp_path: Path) -> None:
    notes = "\n".join(read(a_plugin(tmp_path)).notes)

    for words in (
        "`runs` is the same for all cases of a suite, so it is 3 for 'write-report', too.",
        "`max_turns` is the same for all cases of a suite, so it is 8 for 'greeting', too.",
        "'greeting' allow fewer tools than others; here every case may use 'Bash', 'Write'.",
        "The tag 'smoke' is on 'write-report'",
        "The mock of 'mail' was left out: the plugin's .mcp.json has no such server.",
        "asks its judge three times",
    ):
        assert words in notes


def test_a_judge_is_asked_three_times_and_the_majority_decides(tmp_path: Path) -> None:
    suite = write_and_load(read(a_plugin(tmp_path)), tmp_path / "suite")

    assert [(judge.passes, judge.consensus) for judge in suite.spec.judges] == [(3, "majority")]


def answers_of(suite: Path, *requests: dict[str, object]) -> list[dict[str, Any]]:
    """What the stand-in of the server `mail` says to these requests."""
    folder = suite / "plugins/tiny"
    server = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["mail"]
    words = [word.replace("${CLAUDE_PLUGIN_ROOT}", str(folder)) for word in server["args"]]
    lines = "".join(json.dumps({"jsonrpc": "2.0", "id": 1, **request}) + "\n" for request in requests)
    done = subprocess.run([sys.executable, *words], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line)["result"] for line in done.stdout.splitlines()]


def test_a_mock_answers_in_place_of_the_plugin_s_server(tmp_path: Path) -> None:
    servers = json.dumps({"mcpServers": {"mail": {"command": "mail-server"}, "other": {"command": "other-server"}}})
    tools = json.dumps({"tools": [{"name": "send", "description": "Sends it.", "inputSchema": {"type": "object"}}]})
    refused = "---\nerror: true\n---\nThe mailbox is full.\n"
    files: dict[str, str | None] = {
        "_dot_mcp_dot_json": servers,
        "evals__mocks__mail___tools_dot_json": tools,
        "evals__mocks__mail__receive_dot_md": refused,
    }
    draft = read(a_plugin(tmp_path / "plugin", **files))
    write_and_load(draft, tmp_path / "suite")

    listed, sent, received = answers_of(
        tmp_path / "suite",
        {"method": "tools/list"},
        {"method": "tools/call", "params": {"name": "send", "arguments": {}}},
        {"method": "tools/call", "params": {"name": "receive", "arguments": {}}},
    )
    assert {tool["name"]: tool["description"] for tool in listed["tools"]} == {"send": "Sends it.", "receive": ""}
    assert (sent["content"][0]["text"], sent["isError"]) == ("Sent.", False)
    assert (received["content"][0]["text"], received["isError"]) == ("The mailbox is full.", True)
    assert any("servers without a mock ('other') are started in the sandbox" in note for note in draft.notes)


@pytest.mark.parametrize(
    ("mock", "words"),
    [
        ("---\ntype: agent\n---\nA mailbox.\n", "a model plays its tool 'send'"),
        ("---\nexpect: {to: anna}\n---\nSent.\n", "its tool 'send' looks at what it is given"),
    ],
)
def test_a_mock_that_depends_on_the_call_is_left_out(tmp_path: Path, mock: str, words: str) -> None:
    servers = json.dumps({"mcpServers": {"mail": {"command": "mail-server"}}})
    draft = read(a_plugin(tmp_path, _dot_mcp_dot_json=servers, evals__mocks__mail__send_dot_md=mock))

    assert any(f"The mock of 'mail' was left out: {words}." in note for note in draft.notes)
    assert draft.files["plugins/tiny/.mcp.json"].content.decode() == servers


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        (
            "{name: x, type: regex, pattern: '('}",
            "the grader 'x' was left out: its pattern '(' is no regular expression",
        ),
        ("{name: x, type: regex, pattern: a, target: mock_calls}", "its target 'mock_calls' has no counterpart"),
        ("{name: x, type: novel}", "its type is 'novel', which is none of the six kinds"),
        ("{name: x, type: tool_used}", "`tool` is missing, or no text"),
    ],
)
def test_a_grader_that_cannot_be_converted_is_named(tmp_path: Path, grader: str, words: str) -> None:
    case = f"schema_version: '1.0'\nname: odd\nexecution: {{prompt: Go.}}\ngraders:\n  - {grader}\n"
    draft = read(a_plugin(tmp_path, evals__odd__case_dot_yaml=case))

    assert any(note.startswith("odd: ") and words in note for note in draft.notes)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("name: odd\n", "its schema_version is None; outweigh reads version 1"),
        ("schema_version: '2.0'\nname: odd\n", "its schema_version is '2.0'"),
        ("schema_version: '1.0'\nname: odd\ngraders: [{name: a}]\n", "it has no prompt"),
        ("schema_version: '1.0'\nname: odd\nexecution: {prompt: Go.}\n", "it has no graders"),
        (": [\n", "is not valid YAML"),
    ],
)
def test_a_case_that_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path, case: str, words: str) -> None:
    draft = read(a_plugin(tmp_path, evals__odd__case_dot_yaml=case))

    assert len(draft.tasks) == 2
    assert any(re.match(r"evals.odd was left out: ", note) and words in note for note in draft.notes)


def test_the_folder_of_evals_and_a_case_stand_for_the_plugin(tmp_path: Path) -> None:
    a_plugin(tmp_path)

    assert PluginEvalSuiteReader().recognises(tmp_path / "evals")
    assert len(read(tmp_path / "evals").tasks) == 2


def test_another_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="codex does not load plugins of Claude Code"):
        PluginEvalSuiteReader().read(a_plugin(tmp_path), SuiteOverrides(agent="codex", model=None))


@pytest.mark.parametrize(
    ("pattern", "flags", "python"),
    [
        ("a.b", "", "a.b"),
        ("a", "gi", "(?i)a"),
        (r"(?<x>a)\k<x>", "", "(?P<x>a)(?P=x)"),
        ("(?<=a)b(?<!c)", "ms", "(?ms)(?<=a)b(?<!c)"),
    ],
)
def test_a_pattern_of_javascript_is_written_as_python_has_it(pattern: str, flags: str, python: str) -> None:
    assert python_regex(pattern, flags) == python
