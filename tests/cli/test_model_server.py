"""`outweigh dev model-server` serves until it is told to stop, and writes down what it handed out."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.testing.model_server.model_clients import question, send

REAL_LOOKING_KEY = "sk-ant-" + "x" * 40 + "wxyz"


@pytest.fixture
def example(outweigh: Any, tmp_path: Path) -> Path:
    path = tmp_path / "script.toml"
    path.write_text(outweigh("dev", "model-server", "--example").out)
    return path


def serve(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "outweigh", "dev", "model-server", *arguments]
    # Unbuffered, so that what is read of a line does not swallow the rest.
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]}, bufsize=0
    )


def address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    found = re.search(rb"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert found is not None
    return found[0].decode()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(example: Path, tmp_path: Path, signal_number: int) -> None:
    ledger = tmp_path / "ledger.jsonl"
    process = serve(str(example), "--ledger", str(ledger))
    url = address(process)
    first = send(f"{url}/v1/messages", question("anthropic", "Write it."), x_api_key=REAL_LOOKING_KEY)
    send(f"{url}/v1/chat/completions", question("chat", "Write it."), authorization="Bearer dummy")
    process.send_signal(signal_number)
    out, err = process.communicate(timeout=60)

    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert (process.returncode, first.status) == (0, 200)
    shown = out.decode()
    assert f"export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=dummy\n" in shown
    assert f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=dummy\n" in shown
    assert f"export GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY=dummy\n" in shown
    assert out.decode().splitlines()[-1].startswith("2 requests, 2 with tokens: 2,400 input, 120 output")
    assert err.decode().splitlines()[0] == "1 m turn[0]: answered, 200"
    assert [line["api_key"] for line in lines] == ["…wxyz", "dummy"]
    assert lines[0]["tokens"]["cache_write_tokens"] == 4000
    assert not any("body" in line for line in lines)


def test_without_a_script_it_serves_the_example_and_says_so() -> None:
    process = serve()
    answer = send(f"{address(process)}/v1/messages", question("anthropic", "Write it."))
    process.terminate()
    _, err = process.communicate(timeout=60)

    assert (process.returncode, answer.status) == (0, 200)
    assert err.decode().startswith("outweigh: serving the example script; `outweigh dev model-server --example` prints")
    assert "1 m turn[0]: answered, 200" in err.decode()


def test_a_taken_port_is_a_usage_error(example: Path, outweigh: Any) -> None:
    process = serve(str(example))
    port = address(process).rsplit(":", 1)[1]

    answer = outweigh("dev", "model-server", str(example), "--port", port)

    process.terminate()
    process.communicate(timeout=60)
    assert answer.code == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in answer.err


def test_a_ledger_that_cannot_be_written_any_more_ends_it(example: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    process = serve(str(example), "--ledger", "/dev/full")
    send(f"{address(process)}/v1/messages", question("anthropic", "Write it."))
    _, err = process.communicate(timeout=60)

    assert process.returncode == 2
    assert b"--ledger /dev/full cannot be written" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no-such-script.toml",), "cannot be read"),
        (("script.toml", "--port", "x"), "--port x: a port is a number below 65536"),
        (("script.toml", "--port", "70000"), "--port 70000"),
        (("script.toml", "--ledger", "no/such/folder/ledger"), "--ledger no/such/folder/ledger cannot be written"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(outweigh: Any, arguments: tuple[str, ...], said: str) -> None:
    answer = outweigh("dev", "model-server", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_bad_script_is_refused_with_the_key(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('[[turn]]\nrunn = "true"\n')

    answer = outweigh("dev", "model-server", str(tmp_path / "script.toml"))

    assert answer.code == 2
    assert "unknown field `runn` - at `$.turn[0]`. Did you mean `run`?" in answer.err
