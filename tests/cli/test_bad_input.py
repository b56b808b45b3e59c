"""Bad input gets one clear paragraph and a non-zero exit: never a traceback, never a made-up number."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.model.codec import encode
from outweigh.testing.builders import a_run

GOOD = b'{"task_id": "t", "arm": "a", "repeat": 1, "success": true, "duration_seconds": 1.5}\n'
OTHER = b'{"task_id": "t", "arm": "b", "repeat": 1, "success": true, "duration_seconds": 1.5}\n'
NATIVE = encode(a_run()) + b"\n"
ARMS = ("--baseline", "a", "--candidate", "b")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(GOOD + OTHER)
    return path


def refusal(answer: Any, code: int) -> str:
    assert answer.code == code
    assert answer.out == ""
    assert answer.err.startswith("outweigh: ")
    assert answer.err.count("\n") == 1, "one paragraph"
    assert "Traceback" not in answer.err
    assert len(answer.err) < 1000
    message: str = answer.err
    return message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOD + OTHER + GOOD, "runs.jsonl:1 and"),
        (GOOD + OTHER.replace(b"1.5", b"-1.5"), "runs.jsonl:2: Expected `float` >= 0.0 - at `$.duration_seconds`"),
        (GOOD + OTHER.replace(b"1.5", b"NaN"), "runs.jsonl:2: JSON has no NaN or Infinity"),
        (GOOD + OTHER.replace(b"1.5", b"Infinity"), "runs.jsonl:2: JSON has no NaN or Infinity"),
        (GOOD + OTHER.replace(b"1.5", b'"1.5"'), "runs.jsonl:2: Expected `float | null`, got `str`"),
        (GOOD + OTHER[:-20], "runs.jsonl:2: the file ends in the middle of a record"),
        (
            GOOD + NATIVE.replace(b'"attempt":1', b'"attempt":1,"colour":1'),
            "runs.jsonl:2: Object contains unknown field",
        ),
        (GOOD + OTHER.replace(b"1.5", b"1e400"), "runs.jsonl:2: "),
        (GOOD + OTHER.replace(b"1.5", b"1" * 400), "runs.jsonl:2: "),
        (GOOD + OTHER.replace(b"1.5", b"1e13"), "runs.jsonl:2: Expected `float` <= "),
        (GOOD + OTHER.replace(b"1.5}", b'1.5, "input_tokens": ' + b"9" * 400 + b"}"), "runs.jsonl:2: "),
        (GOOD + OTHER.replace(b"1.5}", b'1.5, "x": ' + b"[" * 90_000 + b"]" * 90_000 + b"}"), "nested too deeply"),
        (b"", "holds no run record"),
        (b"\n\n", "holds no run record"),
        (b"task,arm\n1,2\n", "runs.jsonl:1: not valid JSON"),
        (b'{"results": [1]}\n', "runs.jsonl:1: not a run record"),
        (b"[]\n", "runs.jsonl:1: expected a JSON object"),
        (b"PK\x03\x04\xff\xfe\n", "runs.jsonl:1: not UTF-8"),
        (GOOD + b'{"task_id": "' + b"x" * 1_000_000 + b'"}\n', "runs.jsonl:2: the line is 1,000,000 bytes or longer"),
        (GOOD + OTHER.replace(b'"t"', b'"\xe9"'), "runs.jsonl:2: not UTF-8"),
    ],
)
@pytest.mark.parametrize("verb", ["compare", "verdict", "ladder"])
def test_records_that_cannot_be_read_are_refused_with_their_place(
    outweigh: Any, records: Path, content: bytes, expected: str, verb: str
) -> None:
    records.write_bytes(content)
    options = {"compare": ARMS, "verdict": (*ARMS, "--policy", "gates"), "ladder": ()}[verb]

    assert expected in refusal(outweigh(verb, str(records), *options), 3)


@pytest.mark.parametrize("content", [b"task,arm\n1,2\n", b'{"results": [1]}\n', b"PK\x03\x04\xff\xfe\n"])
def test_what_another_harness_wrote_is_sent_to_the_import(outweigh: Any, records: Path, content: bytes) -> None:
    records.write_bytes(content)

    assert f"`outweigh import {records} -o RUNS` reads it" in refusal(outweigh("verdict", str(records), *ARMS), 3)


def test_a_line_that_is_damaged_is_not_sent_to_the_import(outweigh: Any, records: Path) -> None:
    records.write_bytes(GOOD + OTHER[:-20])

    assert "outweigh import" not in refusal(outweigh("verdict", str(records), *ARMS), 3)


def test_a_folder_without_records_is_sent_to_the_import(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()

    sentence = refusal(outweigh("verdict", str(tmp_path / "jobs"), *ARMS), 3)

    assert f"`outweigh import {tmp_path}/jobs -o RUNS` makes records of it" in sentence


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--baseline", "a", "--candidate", "bb"), "Did you mean 'b'?"),
        (("--baseline", "a", "--candidate", "a"), "both 'a'"),
        (("--baseline", "c"), "there is no arm 'c'"),
        ((*ARMS, "--margin", "min_composite_gain=-0.1"), "at least 0, not -0.1"),
        ((*ARMS, "--margin", "min_composite_gain=nan"), "at least 0, not nan"),
        ((*ARMS, "--margin", "min_composite_gain=lots"), "'lots' is not a number"),
        ((*ARMS, "--margin", "min_composite_gain"), "write NAME=X"),
        ((*ARMS, "--margin", "objectiveDropIsRegression=0.5"), "switch"),
        ((*ARMS, "--prices", "absent.toml"), "absent.toml cannot be read"),
        ((*ARMS, "--gates", "pass_rate"), "belongs to policy evidence"),
        ((*ARMS, "--sequential"), "belongs to policy evidence"),
        ((*ARMS, "--candidate", "b"), "names an arm twice"),
        ((*ARMS, "--colour"), "--help"),
        ((*ARMS, "--format", "xml"), "--help"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_with_the_way_out(
    outweigh: Any, records: Path, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in refusal(outweigh("verdict", str(records), "--policy", "composite", *arguments), 2)


def test_a_file_that_is_not_there_is_named(outweigh: Any, tmp_path: Path) -> None:
    assert "absent.jsonl" in refusal(outweigh("compare", str(tmp_path / "absent.jsonl"), *ARMS), 2)


def test_an_unknown_verb_is_answered_with_the_nearest(outweigh: Any) -> None:
    assert "Did you mean 'compare'?" in refusal(outweigh("compair"), 2)


def test_gates_takes_no_margins(outweigh: Any, records: Path) -> None:
    answer = outweigh("verdict", str(records), *ARMS, "--policy", "gates", "--margin", "x=1")

    assert "Remove --margin" in refusal(answer, 2)


def test_an_unknown_tier_and_a_doubled_one_are_refused(outweigh: Any, records: Path) -> None:
    assert "no arm 'c'" in refusal(outweigh("ladder", str(records), "--order", "a,c"), 2)
    assert "twice" in refusal(outweigh("ladder", str(records), "--order", "a,a"), 2)


@pytest.mark.parametrize("name", ["out.xlsx", "out"])
def test_an_export_to_an_unknown_format_is_refused(outweigh: Any, records: Path, tmp_path: Path, name: str) -> None:
    assert "must end in one of" in refusal(outweigh("store", "export", str(records), "-o", str(tmp_path / name)), 2)


def test_a_failed_export_leaves_nothing_behind(outweigh: Any, records: Path, tmp_path: Path) -> None:
    records.write_bytes(GOOD + b"{\n")

    refusal(outweigh("store", "export", str(records), "-o", str(tmp_path / "out.jsonl")), 3)

    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"]


def test_a_hostile_name_cannot_command_the_terminal(outweigh: Any, records: Path) -> None:
    records.write_bytes(GOOD.replace(b'"a"', rb'"\u001b[2Ja\u202e"') + OTHER)

    answer = outweigh("compare", str(records), "--baseline", "\x1b[2Ja\u202e", "--candidate", "b")

    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert "\\x1b[2Ja\\x202e" in answer.out


def test_one_arm_missing_a_task_is_listed_and_a_hard_regression(outweigh: Any, records: Path) -> None:
    records.write_bytes(GOOD + OTHER + GOOD.replace(b'"t"', b'"t2"'))

    compared = outweigh("compare", str(records), *ARMS, "--format", "json").json()
    verdict = outweigh("verdict", str(records), *ARMS, "--policy", "composite", "--format", "json")

    assert compared["pairs"]["unpaired"] == [{"task_id": "t2", "arm": "a", "repeat": 1, "why": "no run in b"}]
    assert (verdict.code, verdict.json()["regressions"][0]["kind"]) == (1, "missing_task")


def test_the_same_file_named_twice_is_told_as_such(outweigh: Any, records: Path) -> None:
    assert "the same file is named more than once" in refusal(outweigh("compare", str(records), str(records), *ARMS), 3)


@pytest.mark.parametrize("order", ["", ",", "a,,b"])
def test_an_order_with_an_empty_name_is_refused(outweigh: Any, records: Path, order: str) -> None:
    assert "empty name" in refusal(outweigh("ladder", str(records), "--order", order), 2)


def test_an_arm_named_like_an_option_is_asked_for_with_an_equals_sign(outweigh: Any, records: Path) -> None:
    assert "--option=VALUE" in refusal(outweigh("compare", str(records), "--baseline", "--x", "--candidate", "b"), 2)


@pytest.mark.parametrize("name", ["x" * 300 + ".jsonl", "runs.jsonl/inside.jsonl"])
def test_a_path_that_the_system_refuses_is_refused(outweigh: Any, records: Path, name: str) -> None:
    answer = outweigh("compare", str(records.parent / name), *ARMS)

    assert answer.code in (2, 3)
    assert answer.err.startswith("outweigh: ")


@pytest.mark.parametrize("name", ["x" * 250 + ".csv", "runs.jsonl/x.csv"])
def test_an_output_that_the_system_refuses_is_refused(outweigh: Any, records: Path, name: str) -> None:
    assert "cannot be written" in refusal(
        outweigh("store", "export", str(records), "-o", str(records.parent / name)), 2
    )


def test_broken_lines_cannot_be_laundered_by_an_export(outweigh: Any, records: Path, tmp_path: Path) -> None:
    records.write_bytes(GOOD + b"{\n")

    answer = outweigh("store", "export", str(records), "--skip-invalid", "-o", str(tmp_path / "clean.jsonl"))

    assert "would look complete" in refusal(answer, 2)


def test_skipped_lines_are_named_with_their_place_and_reason(outweigh: Any, records: Path) -> None:
    records.write_bytes(GOOD + OTHER + b"{\n")

    warnings = outweigh("compare", str(records), *ARMS, "--skip-invalid", "--format", "json").json()["warnings"]

    assert any("runs.jsonl:3: not valid JSON" in warning for warning in warnings)


def test_a_change_listed_twice_is_refused_and_one_of_a_stranger_is_told(outweigh: Any, records: Path) -> None:
    changes = records.with_name("changes.jsonl")
    line = '{"id": "1", "arm": "zz", "failed": true, "reverted": false}\n'
    changes.write_text(line * 2)
    assert "twice" in refusal(outweigh("compare", str(records), *ARMS, "--changes", str(changes)), 2)

    changes.write_text(line)
    assert "names 'zz'" in outweigh("compare", str(records), *ARMS, "--changes", str(changes)).out


NESTED = 5000


@pytest.mark.parametrize("verb", ["run", "doctor"])
@pytest.mark.parametrize(
    "value", ["[" * NESTED + "]" * NESTED, "{a=" * NESTED + "1" + "}" * NESTED], ids=["arrays", "tables"]
)
def test_a_suite_that_is_nested_too_deeply_is_refused(outweigh: Any, tmp_path: Path, verb: str, value: str) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(f'name = "deep"\ntasks = {value}\n')

    assert f"{suite} cannot be read: it is nested too deeply" in refusal(outweigh(verb, "-c", str(suite)), 2)


def test_a_task_that_is_nested_too_deeply_is_refused(outweigh: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", {"a": shell("true")})
    (suite / "task-1" / "task.toml").write_text(f"deep = {'[' * NESTED}{']' * NESTED}\n")

    assert "task.toml cannot be read: it is nested too deeply" in refusal(outweigh("doctor", "-c", str(suite)), 2)


def test_prices_that_are_nested_too_deeply_are_refused(outweigh: Any, tmp_path: Path, records: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f"name = {'[' * NESTED}{']' * NESTED}\n")

    assert "nested too deeply" in refusal(outweigh("compare", str(records), *ARMS, "--prices", str(prices)), 2)


@pytest.mark.parametrize("verb", ["store show", "suite triggers", "history", "verdict"])
@pytest.mark.parametrize(
    ("name", "value"),
    [("deep.jsonl", '{"a":' * NESTED + "1" + "}" * NESTED), ("deep.json", "[" * NESTED + "]" * NESTED)],
)
def test_records_that_are_nested_too_deeply_are_refused_by_name(
    outweigh: Any, tmp_path: Path, verb: str, name: str, value: str
) -> None:
    path = tmp_path / name
    path.write_text(value)

    answer = outweigh(*verb.split(), str(path))

    assert answer.code == 3
    assert answer.out == ""
    assert str(path) in answer.err
    assert "what was to be read" not in answer.err


@pytest.mark.parametrize("verb", ["store show", "suite triggers", "history", "verdict", "import -o imported"])
@pytest.mark.parametrize("name", ["pipe.jsonl", "pipe.csv", "pipe"])
def test_a_named_pipe_is_refused_instead_of_waited_for(outweigh: Any, tmp_path: Path, verb: str, name: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)

    answer = outweigh(*verb.split(), str(pipe))

    assert answer.code in (2, 3)
    assert f"{pipe} is neither a file nor a folder" in answer.err


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("store show", "runs.jsonl is neither a file nor a folder"),
        ("verdict", "runs.jsonl is neither a file nor a folder"),
        ("import -o imported", "is of no format that is known here"),
    ],
)
def test_a_named_pipe_in_a_folder_is_not_waited_for(outweigh: Any, tmp_path: Path, verb: str, expected: str) -> None:
    os.mkfifo(tmp_path / "runs.jsonl")

    assert expected in refusal(outweigh(*verb.split(), str(tmp_path)), 2)


def test_what_a_shell_opens_for_a_command_is_read(outweigh: Any) -> None:
    reading, writing = os.pipe()
    os.write(writing, GOOD + OTHER)
    os.close(writing)

    answer = outweigh("compare", f"/dev/fd/{reading}", *ARMS)
    os.close(reading)

    assert answer.code == 0
    assert answer.out.startswith("b against a: 1 task")
