"""What only a process of its own can show."""

import subprocess
import sys
from pathlib import Path
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
    for words in (("compare",), ("verdict",), ("ladder",), ("store", "export")):
        answer = outweigh_process(*words, "--help")
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


VERDICT = [sys.executable, "-m", "outweigh", "verdict", "-", *ARMS, "--policy", "gates"]


def test_a_reader_that_goes_away_does_not_change_the_exit_code() -> None:
    """The records know no tokens, so the verdict is inconclusive: 3, whoever reads it."""
    process = subprocess.Popen(VERDICT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(RECORDS)
    process.stdin.close()

    assert process.wait() == 3
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_verb_that_says_things_on_its_way_goes_on_when_nobody_listens_any_more(tmp_path: Path) -> None:
    jobs = Path(__file__).parents[2] / "examples" / "harbor" / "jobs"
    command = [sys.executable, "-m", "outweigh", "import", str(jobs), "-o", str(tmp_path / "runs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()

    _, complaints = process.communicate()

    assert process.returncode == 0
    assert b"Errno" not in complaints
    assert (tmp_path / "runs" / "imports.json").exists()


def test_an_answer_that_cannot_be_written_is_an_error() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("wb") as nowhere:
        done = subprocess.run(VERDICT, input=RECORDS, stdout=nowhere, stderr=subprocess.PIPE, check=False)

    assert done.returncode == 2
    assert b"the answer cannot be written" in done.stderr


def test_closed_standard_streams_give_no_traceback() -> None:
    command = " ".join(VERDICT)

    no_input = subprocess.run(["sh", "-c", f"{command} <&-"], capture_output=True, check=False)
    no_output = subprocess.run(["sh", "-c", f"{command} >&-"], input=RECORDS, capture_output=True, check=False)

    assert (no_input.returncode, b"standard input is closed" in no_input.stderr) == (2, True)
    assert (no_output.returncode, no_output.stderr) == (3, b"")


REFUSED = """
import atexit, sys, threading, time
from outweigh.cli.main import entry_point
sys.argv = ["outweigh", "no-such-verb"]
"""
"""A program around the entry point, whose command line is refused with exit code 2."""


def test_handlers_for_the_end_run_and_what_they_print_is_written() -> None:
    program = f"{REFUSED}atexit.register(print, 'handler ran', flush=False)\nentry_point()"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (2, b"handler ran\n")
    assert b"there is no verb" in done.stderr


def test_handlers_for_the_end_run_and_the_exit_code_is_kept_when_the_reader_is_gone(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    handler = "def handler(path):\n    print('nobody reads this')\n    open(path, 'w').close()\n"
    program = f"{REFUSED}{handler}atexit.register(handler, {str(ran)!r})\nsys.stdin.read()\nentry_point()"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()

    assert process.wait() == 2
    assert ran.exists()
    assert b"Errno" not in process.stderr.read()
    process.stderr.close()


def test_a_thread_that_still_runs_is_waited_for() -> None:
    program = (
        f"{REFUSED}threading.Thread(target=lambda: (time.sleep(0.3), print('thread ended'))).start()\nentry_point()"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (2, b"thread ended\n")
