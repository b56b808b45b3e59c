"""Checks of what an agent did, through the command line."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.engine.engine_fixtures import write_suite

MADE = {"type": "created_files", "name": "made", "glob": "out/**"}
SAID = {"type": "transcript_contains", "name": "said", "regex": "step [0-9]", "count": 2}
USED = {"type": "tool_calls", "name": "used", "tool": "Bash", "required": False}
IDLE = {"idle": {"agent": "noop"}, "other": {"agent": "oracle"}}
ONCE = {"type": "answer_contains", "name": "once", "text": "step", "count": 1, "required": False}


def test_created_files_and_output_are_checked_and_calls_that_are_not_shown_are_unknown(
    outweigh: Any, tmp_path: Path
) -> None:
    script = "mkdir out; echo x >out/a.txt; echo step 1; echo step 2"
    arms: dict[str, dict[str, Any]] = {
        "works": {"agent": "shell", "options": {"command": ["sh", "-c", script]}},
        "idle": {"agent": "noop"},
    }
    # The command leaves a file behind, which is not the agent's.
    leaves = {"type": "command", "name": "leaves", "run": "mkdir -p out && echo x >out/b.txt"}
    suite = write_suite(tmp_path / "suite", arms, task={"checks": [leaves, MADE, SAID, USED, ONCE]}, repeats=1)

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 0, answer.err
    found = {
        run.trial.arm: {check.name: check.passed for check in run.checks or ()} for run in records(tmp_path / "store")
    }
    assert found["works"] == {"leaves": True, "made": True, "said": True, "used": None, "once": False}
    assert found["idle"]["made"] is False
    assert found["idle"]["used"] is None


@pytest.mark.parametrize(
    ("check", "fault"),
    [
        ({"type": "tool_calls", "tool": "X", "at_most": 0}, "write at_least = 0 and at_most = 0"),
        ({"type": "tool_calls", "tool": "X", "input_regex": "("}, "'(' is not a regular expression"),
        ({"type": "tool_order", "first": {"tool": "X"}, "then": {"tool": "Y", "input_regex": "["}}, "not a regular"),
        ({"type": "transcript_contains"}, "state either text or regex"),
        ({"type": "transcript_contains", "text": "", "count": 1}, "an empty text cannot be counted"),
        ({"type": "answer_contains", "text": "x", "absent": True, "count": 1}, "state either absent or count"),
        ({"type": "created_files"}, "state either glob or regex"),
        ({"type": "created_files", "glob": "../x"}, "leads out of the workspace"),
        ({"type": "created_files", "glob": "a["}, "has a '[' without a ']'"),
    ],
)
def test_a_check_that_could_never_be_evaluated_is_refused(
    outweigh: Any, tmp_path: Path, check: dict[str, Any], fault: str
) -> None:
    suite = write_suite(tmp_path / "suite", IDLE, task={"checks": [{"name": "c", **check}]})

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 2
    assert fault in answer.err
