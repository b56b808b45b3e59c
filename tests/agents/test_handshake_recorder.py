"""The recorder passes on all that agent and server send, and records their handshake, in Python as in Node."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which

import pytest
from tests.agents.live_agent import TOOL_SERVER
from tests.agents.programs import PROGRAMS, a_program
from tests.prerequisites import needs, require

from outweigh.agents import handshake_recorder
from outweigh.agents.server_start import read_server_starts, recorded_servers, recorder_files, with_recorders
from outweigh.model.arm import McpServer
from outweigh.ports.agents import ServerStart
from outweigh.testing.agent_contract import an_agent_arm

ASKED = (
    b'{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}\n'
    b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
    b'{"jsonrpc": "2.0", "id": "a", "method": "tools/list"}\n'
)
NODE = str(PROGRAMS / "node") if (PROGRAMS / "node").exists() else which("node")


@pytest.fixture(params=["python", "node"])
@needs("agent")
def recorder(request: pytest.FixtureRequest) -> list[str]:
    program = Path(handshake_recorder.__file__)
    if request.param == "python":
        return [sys.executable, "-I", "-S", str(program)]
    require("agent", None if NODE else "node is not installed; run `make agents`")
    return [str(NODE), str(program.with_suffix(".js"))]


class Recorded:
    """What came out of a server behind its recorder."""

    def __init__(self, recorder: list[str], folder: Path, command: list[str], sent: bytes, seconds: float = 60) -> None:
        record = folder / "record.jsonl"
        self.done = subprocess.run(
            [*recorder, str(record), "zoo", str(seconds), *command],
            input=sent,
            capture_output=True,
            check=False,
            timeout=60,
        )
        self.events = [json.loads(line) for line in record.read_bytes().splitlines()]

    @property
    def start(self) -> ServerStart:
        return read_server_starts(["zoo"], b"\n".join(json.dumps(event).encode() for event in self.events))["zoo"]


def test_a_handshake_is_recorded_and_everything_is_passed_on(recorder: list[str], tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TOOL_SERVER)
    command = [sys.executable, str(tmp_path / "server.py")]

    found = Recorded(recorder, tmp_path, command, ASKED)

    alone = subprocess.run(command, input=ASKED, capture_output=True, check=False, timeout=60)
    assert (found.done.stdout, found.done.stderr, found.done.returncode) == (alone.stdout, alone.stderr, 0)
    assert found.start.tools == ("feed_the_zebra",)
    assert (found.start.has_answered, found.start.fault) == (True, None)


DISCOVERED = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"tools": [{"name": "feed"}]} if asked["method"] == "tools/list" else {"capabilities": {"tools": {}}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("server", [DISCOVERED, TOOL_SERVER])
def test_an_agent_may_discover_a_server_first_whether_the_server_knows_that_or_not(
    recorder: list[str], tmp_path: Path, server: str
) -> None:
    (tmp_path / "server.py").write_text(server)
    first = b'{"jsonrpc": "2.0", "id": 7, "method": "server/discover"}\n'
    asked = first + (ASKED if server == TOOL_SERVER else ASKED.splitlines(keepends=True)[2])

    found = Recorded(recorder, tmp_path, [sys.executable, str(tmp_path / "server.py")], asked)

    assert (found.start.has_answered, found.start.fault) == (True, None)
    assert len(found.start.tools or ()) == 1


def test_long_lines_and_bytes_that_are_no_text_are_passed_on_unchanged(recorder: list[str], tmp_path: Path) -> None:
    sent = b"\xff\x00 no json\n" + b"x" * 3_000_000 + b"\n" + ASKED

    assert Recorded(recorder, tmp_path, ["cat"], sent).done.stdout == sent


def test_a_server_that_cannot_start_is_recorded(recorder: list[str], tmp_path: Path) -> None:
    found = Recorded(recorder, tmp_path, ["no-such-server"], ASKED)

    assert found.done.returncode == 127
    assert (found.start.has_answered, found.start.tools) == (False, None)
    assert "could not be started (no-such-server: " in (found.start.fault or "")


def test_a_server_that_ends_at_once_is_recorded_with_what_it_said(recorder: list[str], tmp_path: Path) -> None:
    found = Recorded(recorder, tmp_path, ["sh", "-c", "read line; echo no licence >&2; exit 3"], ASKED)

    assert (found.done.returncode, found.done.stderr) == (3, b"no licence\n")
    assert found.start.fault == "ended before it answered initialize (exit code 3): no licence"


def test_only_whole_words_are_kept_of_what_a_server_said_at_length(recorder: list[str], tmp_path: Path) -> None:
    words = " ".join(f"token-{number:05}-end" for number in range(200))

    found = Recorded(recorder, tmp_path, ["sh", "-c", f"echo {words} >&2; exit 1"], ASKED)

    (ended,) = (event for event in found.events if event["event"] == "ended")
    assert found.done.stderr.decode() == words + "\n"
    assert 300 < len(ended["stderr"]) <= 500
    assert set(ended["stderr"].split()) <= set(words.split())


def test_a_server_that_does_not_answer_is_recorded_and_ended(recorder: list[str], tmp_path: Path) -> None:
    found = Recorded(recorder, tmp_path, ["sleep", "600"], ASKED, seconds=0.2)

    assert found.done.returncode == -signal.SIGKILL
    assert found.start.fault == "did not answer initialize within 0.2 s"


def test_a_server_that_refuses_to_list_its_tools_is_recorded(recorder: list[str], tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TOOL_SERVER.replace('"tools/list"', '"tools/other"'))

    found = Recorded(recorder, tmp_path, [sys.executable, str(tmp_path / "server.py")], ASKED)

    assert (found.start.has_answered, found.start.tools) == (True, None)
    assert "answered tools/list with an error" in (found.start.fault or "")


def test_a_server_that_says_that_it_has_no_tools_lists_none(recorder: list[str], tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(TOOL_SERVER.replace('"capabilities": {"tools": {}}', '"capabilities": {}'))
    first = ASKED.splitlines(keepends=True)[0]

    found = Recorded(recorder, tmp_path, [sys.executable, str(tmp_path / "server.py")], first)

    assert (found.start.has_answered, found.start.tools, found.start.fault) == (True, (), None)


def test_signals_reach_the_server_and_its_exit_code_the_agent(recorder: list[str], tmp_path: Path) -> None:
    script = "trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    command = [*recorder, str(tmp_path / "record.jsonl"), "zoo", "60", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

        process.terminate()

        assert (process.stdout.read(), process.wait(30)) == (b"ended\n", 7)


def started(folder: Path, server: McpServer, environment: Mapping[str, str], path: str) -> tuple[bytes, ServerStart]:
    """What a server answers when it is started by its script, with nothing but this PATH."""
    arm = an_agent_arm("codex", mcp_servers={"my zoo": server})
    for name, content in recorder_files(arm, str(folder), environment, "no-such-python").items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    command = with_recorders(arm, str(folder)).mcp_servers["my zoo"].command
    done = subprocess.run(command, input=ASKED, capture_output=True, check=False, timeout=60, env={"PATH": path})
    records = b"".join(file.read_bytes() for file in folder.glob(".outweigh-servers/*.jsonl"))
    return done.stdout, read_server_starts(recorded_servers(arm), records)["my zoo"]


def test_where_nothing_can_record_the_server_starts_all_the_same_and_nothing_is_claimed(tmp_path: Path) -> None:
    for program in ("cat", "sh"):
        a_program(tmp_path / "bin" / program, f'exec {which(program)} "$@"')

    answer, start = started(tmp_path, McpServer(command=["cat"]), {}, str(tmp_path / "bin"))

    assert answer == ASKED
    assert (start.is_recorded, start.was_started, start.fault) == (False, True, None)


def test_a_command_and_its_variables_reach_the_server_exactly_as_they_are_written(tmp_path: Path) -> None:
    odd = "it's $HOME ${HOME} {env:HOME} `id` \"\\ \n*"
    server = McpServer(
        command=["sh", "-c", 'printf "%s|%s|%s" "$1" "$ODD" "$PLAIN"', "sh", odd], environment={"ODD": odd}
    )

    answer, _ = started(tmp_path, server, {"PLAIN": "suite", "ODD": "overridden"}, os.environ["PATH"])

    assert answer.decode() == f"{odd}|{odd}|suite"


@pytest.mark.parametrize(
    "record", [b"", b"\xff\xfe{]\n", b'[1]\n{"server": 3}\n', b'{"server": "other", "event": "listed"}\n']
)
def test_a_record_that_says_nothing_about_a_server_means_that_it_was_never_started(record: bytes) -> None:
    start = read_server_starts(["zoo"], record)["zoo"]

    assert (start.was_started, start.has_answered, start.tools, start.fault) == (False, False, None, None)


def test_the_best_of_several_starts_counts() -> None:
    failed = b'{"server": "zoo", "event": "not_started", "error": "busy"}\n'
    listed = b'{"server": "zoo", "event": "listed", "tools": ["feed"]}\n'

    assert read_server_starts(["zoo"], failed + listed + failed)["zoo"].fault is None
    assert read_server_starts(["zoo"], failed + failed)["zoo"].fault == "could not be started (busy)"
