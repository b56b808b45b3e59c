"""What only a process of its own can show."""

from typing import Any

import pytest

LINE = b'{"task_id": "t\xc3\xa9", "arm": "%s", "repeat": 1, "success": true}\n'
RECORDS = LINE % b"a" + LINE % b"b"
ARMS = ("--baseline", "a", "--candidate", "b")


@pytest.mark.parametrize(("option", "expected"), [("--version", "outweigh 0."), ("--help", "verdict"), ("-h", "usage")])
def test_the_quick_answers_go_to_standard_output(outweigh_process: Any, option: str, expected: str) -> None:
    answer = outweigh_process(option)

    assert (answer.code, answer.err) == (0, "")
    assert expected in answer.out


def test_every_verb_explains_itself(outweigh_process: Any) -> None:
    for verb in ("compare", "verdict", "ladder", "export"):
        answer = outweigh_process(verb, "--help")
        assert (answer.code, answer.err) == (0, "")
        assert "RUNS" in answer.out


def test_records_can_come_through_a_pipe(outweigh_process: Any) -> None:
    answer = outweigh_process("compare", "-", *ARMS, "--format", "json", stdin=RECORDS)

    assert answer.code == 0
    assert answer.json()["pairs"]["paired"] == 1


def test_an_empty_pipe_is_refused(outweigh_process: Any) -> None:
    answer = outweigh_process("compare", "-", *ARMS)

    assert (answer.code, answer.out) == (3, "")
    assert "<stdin> holds no run record" in answer.err


def test_a_terminal_that_knows_only_ascii_does_not_end_the_program(outweigh_process: Any) -> None:
    records = RECORDS.replace(b'"a"', b'"\xc3\xa9"')

    answer = outweigh_process(
        "compare", "-", "--baseline", "b", "--candidate", "zz", stdin=records, environment={"PYTHONIOENCODING": "ascii"}
    )

    assert answer.code == 2
    assert "\\xe9" in answer.err
    assert "Traceback" not in answer.err


def test_output_is_plain_when_it_is_no_terminal(outweigh_process: Any) -> None:
    assert "\x1b" not in outweigh_process("compare", "-", *ARMS, stdin=RECORDS).out
