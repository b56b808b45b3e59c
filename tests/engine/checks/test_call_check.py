"""The check that calls code by itself and compares what it answers, outside the sandbox."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine.checks.test_checks import Scene, write
from tests.engine.fake_sandboxes import plain_sandbox_request
from tests.prerequisites import require

from outweigh.engine.checks.call_check import run_call_check
from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.model.run_record import CheckResult
from outweigh.model.task import CallCase, CallCheck
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def function_check(*cases: CallCase, **fields: Any) -> CallCheck:
    return CallCheck(
        name="c",
        function="work:double",
        cases=list(cases),
        **{"python": sys.executable, "timeout_seconds": 60, **fields},
    )


def call(*arguments: Any, expected: Any) -> CallCase:
    return CallCase(arguments=list(arguments), expected=expected)


def answer(scene: Scene, code: str, *cases: CallCase, **fields: Any) -> CheckResult:
    write(scene.workspace / "work.py", code)
    return scene.check(function_check(*cases, **fields))


def test_a_function_passes_when_every_answer_is_the_expected_one(scene: Scene) -> None:
    code = "def double(x):\n    print('said')\n    return [x + x] if x < 3 else x\n"

    right = answer(scene, code, call(1, expected=[2]), call(2, expected=[4.0]))
    half = answer(scene, code, call(1, expected=[2]), call(3, expected=[6]), call(4, expected=[8]))

    assert (right.passed, right.cases_passed, right.cases_total) == (True, 2, 2)
    assert (half.passed, half.cases_passed, half.cases_total) == (False, 1, 3)
    assert half.detail == "1 of 3 calls answered as expected; call 2 answered 3, expected [6]"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "class Equal:\n    def __eq__(self, other):\n        return True\ndef double(x):\n    return Equal()\n",
        "class Equal(int):\n    def __eq__(self, other):\n        return True\ndef double(x):\n    return Equal(3)\n",
        "import json\njson.dump = lambda *_: None\ndef double(x):\n    return 2\n",
        "import unittest\nraise unittest.SkipTest('no')\n",
        "def double(x):\n    return True\n",
        "def double(x):\n    return '2'\n",
        "import atexit, os\natexit.register(lambda: os._exit(1))\ndef double(x):\n    return 2\n",
        "",
    ],
)
def test_nothing_but_the_right_answer_passes(scene: Scene, code: str) -> None:
    assert answer(scene, code, call(1, expected=2), call(1, expected=2)).passed is False


def test_a_command_gets_arguments_and_input_and_its_text_or_json_is_compared(scene: Scene) -> None:
    text = CallCase(arguments=["a b", "$HOME"], stdin="in\n", expected="a b|$HOME|in")
    script = 'printf "%s|%s|%s\\n" "$1" "$2" "$(cat)"'
    listed = CallCheck(name="c", run=["printf", "%s"], cases=[CallCase(arguments=['{"a": 1.0}'], expected={"a": 1})])

    assert scene.check(CallCheck(name="c", run=script, cases=[text])).passed is True
    assert scene.check(listed).passed is True
    assert scene.check(CallCheck(name="c", run="echo 1; exit 3", cases=[CallCase(expected=1)])).passed is False
    assert scene.check(CallCheck(name="c", run="echo '1 '", cases=[CallCase(expected="1")])).passed is False


def test_a_call_that_does_not_end_is_the_last(scene: Scene) -> None:
    cases = [CallCase(expected=""), CallCase(expected="")]
    write(scene.workspace / "slow.sh", "echo x >> started; sleep 600\n")

    result = scene.check(CallCheck(name="c", run="sh slow.sh", cases=cases, timeout_seconds=0.5))

    assert (result.passed, result.cases_passed, result.cases_total) == (False, 0, 2)
    assert "call 1 was not done after 0.5 s" in (result.detail or "")
    assert (scene.workspace / "started").read_text() == "x\n"


def test_folders_to_import_from_can_be_named(scene: Scene) -> None:
    write(scene.workspace / "src/work.py", "def double(x):\n    return x + x\n")

    assert scene.check(function_check(call(2, expected=4), python_path=["src"])).passed is True
    assert scene.check(function_check(call(2, expected=4))).passed is False


@pytest.mark.needs_bubblewrap
def test_neither_tests_nor_answers_are_to_be_found_where_the_code_runs(scene: Scene) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    write(scene.tests / "cases.json", "[]")
    request = CheckSandboxRequest(
        provider=BubblewrapSandboxProvider(),
        sandbox=plain_sandbox_request(scene.workspace, scene.home),
        folder=scene.folder / "checks",
        tests=str(scene.tests),
    )
    look = 'ls -d /tests /logs "$HOME"/* 2>/dev/null; env | grep OUTWEIGH; touch "$HOME/left"; echo end'
    check = CallCheck(name="c", run=look, cases=[CallCase(expected="end"), CallCase(expected="end")])

    with open_check_sandbox(request) as sandbox:
        outcome = run_call_check(check, sandbox)

    assert (outcome.passed, outcome.detail) == (True, "2 of 2 calls answered as expected")
