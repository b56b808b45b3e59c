"""An assertion becomes a check only if it plainly states what a program can decide; a guess would invent a result."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from outweigh.interop.skill_creator.eval_rubric import JudgedStatement, read_assertion
from outweigh.model.task import (
    AnswerContainsCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
)


@pytest.mark.parametrize(
    ("said", "check"),
    [
        (
            {"type": "file_exists", "path": "out/report.md"},
            FileExistsCheck(name="file_exists-out-report.md", path="out/report.md"),
        ),
        ({"type": "file-exists", "name": "Report", "target": "r.md"}, FileExistsCheck(name="report", path="r.md")),
        (
            {"type": "file_contains", "id": "c", "path": "r.md", "value": "Total"},
            FileContainsCheck(name="c", path="r.md", text="Total"),
        ),
        (
            {"type": "file_contains", "id": "c", "path": "r.md", "pattern": "^Total"},
            FileContainsCheck(name="c", path="r.md", regex="^Total"),
        ),
        (
            {"type": "regex", "id": "c", "file": "r.md", "pattern": r"\d+"},
            FileContainsCheck(name="c", path="r.md", regex=r"\d+"),
        ),
        (
            {"type": "contains", "id": "c", "path": "r.md", "text": "Total"},
            FileContainsCheck(name="c", path="r.md", text="Total"),
        ),
        (
            {"type": "command", "id": "c", "run": "make check", "expect_exit": 2},
            CommandCheck(name="c", run="make check", exit_code=2),
        ),
        (
            {"type": "command", "id": "c", "cmd": ["test", "-s", "r.md"]},
            CommandCheck(name="c", run=["test", "-s", "r.md"]),
        ),
        (
            {"type": "json_path", "id": "c", "path": "a.json", "selector": "$.rows[0].name", "expected": "x"},
            JsonValueCheck(name="c", path="a.json", at="rows.0.name", equals="x"),
        ),
    ],
)
def test_what_is_plainly_stated_becomes_a_check(said: dict[str, Any], check: Check) -> None:
    assert read_assertion(said) == check


@pytest.mark.parametrize(
    "said",
    [
        {"type": "file_exists"},
        {"type": "file_exists", "path": "/tmp/report.md"},
        {"type": "file_exists", "path": "../report.md"},
        {"type": "file_exists", "path": "~/report.md"},
        {"type": "file_contains", "path": "r.md"},
        {"type": "file_contains", "path": "r.md", "pattern": "("},
        {"type": "command"},
        {"type": "command", "run": " "},
        {"type": "command", "run": 7},
        {"type": "command", "run": "python evals/check.py"},
        {"type": "command", "run": "check {case_dir}"},
        {"type": "command", "run": "check", "expect_substring": "ready"},
        {"type": "command", "run": "check", "exit_code": "0"},
        {"type": "json", "path": "a.json", "at": "x", "equals": None},
        {"type": "json", "path": "a.json", "at": "rows[?(@.a)]", "equals": 1},
        {"type": "contains"},
        {"type": "regex", "pattern": "("},
        {"type": "not_regex", "path": "r.md", "pattern": "x"},
        {"type": "tool_call", "tool": "Bash"},
        {"weight": 1},
        {},
        "",
        " ",
        None,
        7,
        ["x"],
    ],
)
def test_what_is_not_is_nothing_rather_than_a_guess(said: Any) -> None:
    assert read_assertion(said) is None


@pytest.mark.parametrize("kind", ["file_exists", "command", "json", "something-new", ""])
def test_words_beside_it_are_for_the_judge(kind: str) -> None:
    said = {"type": kind, "name": "short", "description": "It is short."}

    assert read_assertion(said) == JudgedStatement(name="short", text="It is short.")


@pytest.mark.parametrize(
    ("said", "check"),
    [
        ({"type": "contains", "name": "a", "value": "42"}, {"text": "42"}),
        ({"type": "contains", "name": "a", "target": "output", "value": "42"}, {"text": "42"}),
        ({"type": "not_contains", "name": "a", "value": "sorry"}, {"text": "sorry", "absent": True}),
        ({"type": "regex", "name": "a", "pattern": "a|b"}, {"regex": "a|b"}),
        ({"type": "not_regex", "name": "a", "pattern": "a|b"}, {"regex": "a|b", "absent": True}),
        ({"type": "output_matches", "name": "a", "pattern": "a|b"}, {"regex": "a|b"}),
    ],
)
def test_without_a_file_it_is_about_what_the_agent_says(said: dict[str, Any], check: dict[str, Any]) -> None:
    assert read_assertion(said) == AnswerContainsCheck(name="a", **check)


@pytest.mark.parametrize(
    ("said", "regex", "absent"),
    [
        ("contains '100'", "(?i)100", False),
        ("contains 'SEC-004' or contains \"curl\"", r"(?i)SEC\-004|curl", False),
        ("Does not contain 'FAILED'.", "(?i)FAILED", True),
    ],
)
def test_a_sentence_that_only_says_contains_is_a_check(said: str, regex: str, absent: bool) -> None:
    check = read_assertion(said)

    assert isinstance(check, AnswerContainsCheck)
    assert (check.regex, check.absent) == (regex, absent)


@pytest.mark.parametrize("said", ["contains a table", "The report contains 'x'", "contains 'x' and 'y'", "contains ''"])
def test_a_sentence_that_says_more_is_for_the_judge(said: str) -> None:
    assert read_assertion(said) == JudgedStatement(name=None, text=said)


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ({"type": "file_exists", "path": "out/*.md"}, True),
        ({"type": "file_exists", "path": "out/*.pdf"}, False),
        ({"type": "file_absent", "path": "draft.md"}, True),
        ({"type": "file_absent", "path": "out/report.md"}, False),
        ({"type": "file_not_contains", "path": "out/report.md", "value": "-e TODO"}, True),
        ({"type": "file_not_contains", "path": "out/report.md", "value": "Total $1"}, False),
        ({"type": "file_not_contains", "path": "missing.md", "value": "x"}, False),
    ],
)
def test_checks_that_are_commands_do_what_they_say(tmp_path: Path, said: dict[str, Any], passes: bool) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.md").write_text("Total $1\n")
    check = read_assertion(said)
    assert isinstance(check, CommandCheck)
    assert isinstance(check.run, list)
    program = shutil.which(check.run[0])
    assert program is not None

    done = subprocess.run([program, *check.run[1:]], cwd=tmp_path, check=False, capture_output=True)

    assert (done.returncode == 0) is passes


@pytest.mark.parametrize(
    "said",
    [
        {"type": "llm", "prompt": "Is it tidy?"},
        {"type": "llm-rubric", "value": "Is it tidy?"},
        {"type": "LLM_judge", "criteria": "Is it tidy?"},
        {"type": "model_graded", "rubric": "Is it tidy?"},
    ],
)
def test_what_a_model_is_to_be_asked_is_for_the_judge(said: dict[str, Any]) -> None:
    assert read_assertion(said) == JudgedStatement(name=None, text="Is it tidy?")
