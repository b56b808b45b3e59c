"""`outweigh doctor --live` asks agents and judges once, as a run would, and only then says "ready"."""

import os
import socket
import socketserver
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.cli.agent_experiment import INSTALLED, AgentDesk, require_agent
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import needs

from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn

MODEL = "claude-sonnet-4-5"
CLAUDE = {"agent": "claude-code", "model": MODEL}
ANSWER = Script(turn=[Turn(text="ready")])
REFUSED = Script(turn=[Turn(error=ErrorSpec(kind="unauthorized"))])
JUDGE = "#!/bin/sh\ncat >/dev/null\necho '{\"ready\": true}'\n"


@pytest.fixture
@needs("agent", "bubblewrap")
def claude(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    return AgentDesk(tmp_path, MODEL)


def write(desk: AgentDesk, server: ModelServer, **settings: Any) -> None:
    desk.write(server, {"plain": CLAUDE, "told": CLAUDE | {"extra_prompt": "Be brief."}}, **settings)


@pytest.fixture
def doctor(outweigh_process: Any, tmp_path: Path) -> Any:
    """The program with nothing of the caller's environment but the way to programs."""

    def ask(*arguments: str, **variables: str) -> Any:
        environment = {"PATH": f"{INSTALLED}:{os.environ['PATH']}", "HOME": str(tmp_path), **variables}
        return outweigh_process("doctor", "-c", str(tmp_path / "suite"), *arguments, environment=environment)

    return ask


def part(answer: Any, name: str) -> dict[str, Any]:
    (found,) = (part for part in answer.json()["parts"] if f"{part['kind']} {part['name']}" == name)
    return dict(found)


def test_an_agent_that_answers_is_ready_and_one_answer_is_enough_for_arms_that_ask_alike(
    claude: AgentDesk, doctor: Any
) -> None:
    with ModelServer(ANSWER) as server:
        write(claude, server)
        free = doctor("--format", "json")
        asked_for_free = server.totals().requests
        live = doctor("--live", "--yes", "--format", "json")

    assert asked_for_free == 0
    assert (free.code, free.json()["state"]) == (0, "set_up"), free.out
    assert (live.code, live.json()["state"]) == (0, "ready"), live.out
    answered = part(live, "answer of plain, told")
    assert answered["missing"] is None
    assert answered["detail"].startswith("claude-code answered with claude-sonnet-4-5")


def test_a_key_that_the_provider_refuses_is_not_ready_and_says_what_to_do(claude: AgentDesk, doctor: Any) -> None:
    with ModelServer(REFUSED) as server:
        write(claude, server)
        answer = doctor("--live", "--yes")

    assert answer.code == 1
    assert answer.out.startswith("not ready: 1 problem to fix\n")
    assert "The provider does not accept the key or the login." in " ".join(answer.out.split())


def test_without_a_terminal_nothing_is_asked_unless_yes_is_said(claude: AgentDesk, doctor: Any) -> None:
    with ModelServer(ANSWER) as server:
        write(claude, server)
        answer = doctor("--live")
        requests = server.totals().requests

    assert (answer.code, requests) == (2, 0)
    assert answer.err == (
        "outweigh: --live asks claude-code (claude-sonnet-4-5) once each, for about $0.06, and there is no terminal to "
        "confirm it; add --yes.\n"
    )


def test_a_judge_is_asked_too(claude: AgentDesk, doctor: Any) -> None:
    program = claude.suite / "judge.sh"
    program.write_text(JUDGE)
    program.chmod(0o755)
    judges = [{"name": "strict", "backend": "command", "options": {"command": [str(program)]}}]
    rubric = {"criteria": [{"type": "binary", "name": "good", "description": "It is good."}]}
    with ModelServer(ANSWER) as server:
        write(claude, server, judges=judges, task={"rubric": rubric})
        answer = doctor("--live", "--yes", "--format", "json")
        program.write_text("#!/bin/sh\nexit 3\n")
        broken = doctor("--live", "--yes", "--format", "json")

    assert (answer.code, answer.json()["state"]) == (0, "ready"), answer.out + answer.err
    assert part(answer, "answer of judge strict")["missing"] is None
    assert (broken.code, broken.json()["state"]) == (1, "not_ready")
    assert part(broken, "answer of judge strict")["missing"] is not None


@pytest.mark.usefixtures("claude")
def test_a_login_outside_of_the_sandbox_is_not_taken_for_a_login_of_the_arm(doctor: Any, tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    write_suite(tmp_path / "suite", {"a": CLAUDE, "b": {**CLAUDE, "extra_prompt": "x"}}, gateway={"mode": "direct"})

    answer = doctor("--format", "json")

    told = part(answer, "login of a")["missing"]
    assert (answer.code, answer.json()["state"]) == (1, "not_set_up")
    assert "Your login in ~/.claude/.credentials.json stays outside of the sandbox." in told
    assert (
        'run `claude setup-token`, export CLAUDE_CODE_OAUTH_TOKEN, and add secrets = ["CLAUDE_CODE_OAUTH_TOKEN"]'
        in told
    )


class _Forwarder(socketserver.StreamRequestHandler):
    """Passes bytes on to the scripted model, so that it has an address besides that of every machine itself."""

    def handle(self) -> None:
        target: ModelServer = self.server.target  # type: ignore[attr-defined]
        with socket.create_connection(("127.0.0.1", urlsplit(target.url).port or 0)) as onward:
            back = Thread(target=_copy, args=(onward, self.request), daemon=True)
            back.start()
            _copy(self.request, onward)
            back.join()


def _copy(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            to.sendall(chunk)
    with suppress(OSError):
        to.shutdown(socket.SHUT_WR)


@contextmanager
def elsewhere(server: ModelServer) -> Iterator[str]:
    """An address of the scripted model that a sandbox reaches only through the proxy."""
    with socketserver.ThreadingTCPServer(("127.0.0.2", 0), _Forwarder) as forwarder:
        forwarder.daemon_threads = True
        forwarder.target = server  # type: ignore[attr-defined]
        Thread(target=forwarder.serve_forever, daemon=True).start()
        yield f"http://127.0.0.2:{forwarder.server_address[1]}"
        forwarder.shutdown()


@pytest.mark.usefixtures("claude")
def test_an_agent_in_direct_mode_reaches_the_host_that_its_arm_names(doctor: Any, tmp_path: Path) -> None:
    with ModelServer(ANSWER) as server, elsewhere(server) as address:
        arm = {**CLAUDE, "secrets": ["ANTHROPIC_API_KEY"], "environment": {"ANTHROPIC_BASE_URL": address}}
        write_suite(
            tmp_path / "suite",
            {"a": arm, "b": {**arm, "extra_prompt": "x"}},
            gateway={"mode": "direct"},
            sandbox={"kind": "bubblewrap"},
        )
        answer = doctor("--live", "--yes", "--format", "json", ANTHROPIC_API_KEY="sk-of-the-caller")
        keys = {entry.api_key for entry in server.ledger}

    assert answer.json()["state"] == "ready", answer.out
    assert keys == {"sk-of-the-caller"}


def test_a_suite_that_asks_no_model_is_ready_at_no_cost(doctor: Any, outweigh: Any, tmp_path: Path) -> None:
    assert outweigh("init", str(tmp_path / "suite")).code == 0

    free, live = doctor(), doctor("--live")

    assert free.out.startswith("starter is set up: 2 tasks tried\n")
    assert live.out.startswith("ready to run starter: 2 tasks tried\n")


def test_live_without_a_suite_is_refused(outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    answer = outweigh("doctor", "--live")

    assert answer.code == 2
    assert "name the suite with -c" in answer.err


def test_on_a_terminal_the_price_is_told_first_and_no_means_no(claude: AgentDesk, tmp_path: Path) -> None:
    with ModelServer(ANSWER) as server:
        write(claude, server)
        declined = _type(b"n\n", tmp_path)
        requests = server.totals().requests
        agreed = _type(b"y\n", tmp_path)

    assert requests == 0
    assert "asks claude-code (claude-sonnet-4-5) once each, for about $0.06. Go on? [y/N]" in declined
    assert "suite is set up: 1 task tried" in declined
    assert "ready to run suite: 1 task tried and 1 answer" in agreed


def _type(answer: bytes, folder: Path) -> str:
    """What `doctor --live` shows on a terminal on which this is typed."""
    ours, theirs = os.openpty()
    environment = {"PATH": f"{INSTALLED}:{os.environ['PATH']}", "HOME": str(folder)}
    command = [sys.executable, "-m", "outweigh", "doctor", "-c", str(folder / "suite"), "--live"]
    os.write(ours, answer)
    done = subprocess.run(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False
    )
    os.close(ours)
    os.close(theirs)
    return done.stdout.decode()
