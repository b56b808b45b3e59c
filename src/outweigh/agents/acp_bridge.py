"""The client side of the Agent Client Protocol, as a program that runs inside the sandbox beside the agent.

    python acp_bridge.py SETTINGS.json [FLAG...]

It starts the agent, opens a session, sends one prompt, grants every permission the agent asks for, and ends when
the prompt has ended. What the agent writes goes to standard output unchanged. It uses the standard library only: it
is copied into a trial's home, where nothing else of outweigh is visible.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

PROTOCOL_VERSION = 1
UNKNOWN_METHOD, FAILED = -32601, -32603
EXIT_WAIT_SECONDS = 5.0
TERMINAL_OUTPUT_LIMIT = 1_000_000
Json = dict[str, Any]


class AgentRefusedError(Exception):
    """The agent answered with an error, or was gone before it answered."""


class AcpTerminal:
    """A command that the client runs for the agent."""

    def __init__(self, request: Json) -> None:
        environment = {each["name"]: each["value"] for each in request.get("env") or ()}
        self._limit = request.get("outputByteLimit") or TERMINAL_OUTPUT_LIMIT
        self._output, self._truncated, self._lock = b"", False, Lock()
        self._process = subprocess.Popen(
            _command_words(request["command"], request.get("args")),
            cwd=request.get("cwd"),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def output(self) -> Json:
        """The output so far; only the end of it where it is too long."""
        code = self._process.poll()
        with self._lock:
            text = self._output.decode(errors="replace")
        return {"output": text, "truncated": self._truncated, "exitStatus": None if code is None else _status(code)}

    def wait(self) -> Json:
        """Wait for the command to end; returns its exit status."""
        code = self._process.wait()
        self._reading.join()
        return _status(code)

    def kill(self) -> Json:
        """Kill the command, if it is still running."""
        self._process.kill()
        return {}

    def _read(self) -> None:
        assert self._process.stdout is not None
        while chunk := os.read(self._process.stdout.fileno(), 2**16):
            with self._lock:
                self._output += chunk
                if len(self._output) > self._limit:
                    self._output, self._truncated = self._output[-self._limit :], True


def _command_words(command: str, arguments: list[str] | None) -> list[str]:
    """A program and its arguments; without arguments, a command for a shell."""
    return [command, *arguments] if arguments else ["/bin/sh", "-c", command]


def _status(code: int) -> Json:
    return {"exitCode": code, "signal": None} if code >= 0 else {"exitCode": None, "signal": str(-code)}


class AcpClient:
    """Answers the agent's requests. Everything is granted; the sandbox sets the limits."""

    def __init__(self) -> None:
        self._terminals: dict[str, AcpTerminal] = {}
        self._answers: Mapping[str, Callable[[Json], Json]] = {
            "session/request_permission": _allow,
            "fs/read_text_file": _read,
            "fs/write_text_file": _write,
            "terminal/create": self._create,
            "terminal/output": lambda request: self._terminals[request["terminalId"]].output(),
            "terminal/wait_for_exit": lambda request: self._terminals[request["terminalId"]].wait(),
            "terminal/kill": lambda request: self._terminals[request["terminalId"]].kill(),
            "terminal/release": lambda request: self._terminals.pop(request["terminalId"]).kill(),
        }

    def answer(self, method: str, request: Json) -> Json:
        """The result or error of a JSON-RPC response."""
        if method not in self._answers:
            return {"error": {"code": UNKNOWN_METHOD, "message": f"this client does not know {method}"}}
        try:
            return {"result": self._answers[method](request)}
        except (OSError, KeyError, TypeError, ValueError) as fault:
            return {"error": {"code": FAILED, "message": f"{type(fault).__name__}: {fault}"}}

    def _create(self, request: Json) -> Json:
        name = f"terminal-{len(self._terminals) + 1}-{os.urandom(4).hex()}"
        self._terminals[name] = AcpTerminal(request)
        return {"terminalId": name}


def _allow(request: Json) -> Json:
    """Choose the most permissive option."""
    offers = {offer.get("kind"): offer["optionId"] for offer in reversed(request["options"])}
    chosen = offers.get("allow_always") or offers.get("allow_once") or request["options"][0]["optionId"]
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


def _read(request: Json) -> Json:
    lines = Path(request["path"]).read_text(errors="replace").splitlines(keepends=True)
    first, count = (request.get("line") or 1) - 1, request.get("limit")
    return {"content": "".join(lines[first : None if count is None else first + count])}


def _write(request: Json) -> Json:
    path = Path(request["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(request["content"])
    return {}


class AcpConnection:
    """JSON-RPC over the pipes of the agent."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._client, self._writing, self._waiting = AcpClient(), Lock(), dict[int, SimpleQueue[Json]]()
        Thread(target=self._read_messages, daemon=True).start()

    def ask(self, method: str, request: Json) -> Json:
        """Send a request and wait for the response."""
        number = len(self._waiting) + 1
        answers = self._waiting[number] = SimpleQueue()
        self._send({"id": number, "method": method, "params": request})
        answer = answers.get()
        if "error" in answer:
            raise AgentRefusedError(f"{method}: {json.dumps(answer['error'])}")
        return answer.get("result") or {}

    def end(self) -> int:
        """End the agent; returns its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(EXIT_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._writing:
            try:
                self._process.stdin.write(line)
                self._process.stdin.flush()
            except (OSError, ValueError):  # the agent is gone; waiting requests get an error
                return

    def _read_messages(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._handle(message)
        for answers in list(self._waiting.values()):
            answers.put({"error": {"message": "the agent ended before it answered"}})

    def _handle(self, message: Json) -> None:
        if "method" in message and "id" in message:  # in a thread, because a command may take long
            Thread(target=self._answer, args=(message,), daemon=True).start()
        elif "method" not in message and message.get("id") in self._waiting:
            self._waiting[message["id"]].put(message)

    def _answer(self, message: Json) -> None:
        self._send({"id": message["id"], **self._client.answer(message["method"], message.get("params") or {})})


def run_session(agent: AcpConnection, settings: Json) -> None:
    """Open a session and send the prompt."""
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    about = {"name": "outweigh", "version": "1"}
    agent.ask(
        "initialize",
        {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": about},
    )
    if settings["authenticate"] is not None:
        agent.ask("authenticate", {"methodId": settings["authenticate"]})
    opened = agent.ask("session/new", {"cwd": str(Path.cwd()), "mcpServers": _servers(settings)})
    session = opened.get("sessionId")
    if settings["model"] is not None:
        _choose_model(agent, opened, settings["model"])
    agent.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": settings["prompt"]}]})


def _servers(settings: Json) -> list[Json]:
    """The tool servers, with the arm's secrets in their variables or headers: no file has the values."""
    secrets = [{"name": name, "value": os.environ[name]} for name in settings["secrets"]]
    return [
        {**each, "env": [*secrets, *each["env"]]}
        if "command" in each
        else {**each, "headers": [{"name": of["name"], "value": os.environ[of["variable"]]} for of in each["headers"]]}
        for each in settings["servers"]
    ]


def _choose_model(agent: AcpConnection, opened: Json, model: str) -> None:
    """Set the model by the agent's option for it, or by the older method."""
    session = opened.get("sessionId")
    for option in opened.get("configOptions") or ():
        if "model" in (option.get("id"), option.get("category")):
            agent.ask("session/set_config_option", {"sessionId": session, "configId": option["id"], "value": model})
            return
    agent.ask("session/set_model", {"sessionId": session, "modelId": model})


def main(arguments: list[str]) -> int:
    """Run one session; returns 0 when the prompt was answered."""
    path, *flags = arguments
    settings = json.loads(Path(path).read_text())
    try:
        agent = AcpConnection([*settings["command"], *flags])
    except OSError as fault:
        print(f"the agent could not be started: {fault}", file=sys.stderr)
        return 127
    try:
        run_session(agent, settings)
    except AgentRefusedError as refusal:
        print(refusal, file=sys.stderr)
        return agent.end() or 1
    agent.end()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
