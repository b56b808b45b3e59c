"""Starts a tool server in the agent's place and records its handshake, as a program that runs inside the sandbox.

    python handshake_recorder.py RECORD SERVER SECONDS COMMAND...

What the agent and the server send each other is passed on unchanged, as are signals, standard error and the exit
code. RECORD gets one line of JSON for each part of the handshake; a server that leaves the agent waiting for SECONDS
is ended. It uses the standard library only, in the syntax of old versions: it is copied into a trial's home and
started with the Python that is found there. `handshake_recorder.js` does the same with Node.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Lock, Thread, Timer
from typing import Any

DISCOVER = "server/discover"
"""The first request of newer agents; a server that does not know it is asked to `initialize` instead."""
HANDSHAKE = ("initialize", "tools/list")
LONGEST_LINE = 8 * 2**20
KEPT_STDERR = 500
LAST_OUTPUT_SECONDS = 2.0
NOT_FOUND = 127
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Handshake:
    """Reads the messages of both sides until the server has said which tools it has."""

    def __init__(self, record: str, server: str, seconds: float) -> None:
        self._record, self._server, self._seconds = record, server, seconds
        self._process: Any = None
        self._waiting: dict[str, str] = {}
        self._timers: dict[str, Timer] = {}
        self._discovering = ""
        self._rest = {"agent": b"", "server": b""}
        self._lock = Lock()
        self.is_done = False

    def watch(self, process: Any) -> None:
        """Note that the server was started; it is ended when it leaves the agent waiting."""
        self._process = process
        self.note("started")

    def note(self, event: str, **details: Any) -> None:
        """Append a line to the record; a disk that is full must not stop the server."""
        line = json.dumps({"server": self._server, "event": event, **details}).encode() + b"\n"
        try:
            file = os.open(self._record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(file, line)
            os.close(file)
        except OSError:
            pass

    def read(self, side: str, chunk: bytes) -> None:
        """Read what one side sent; a line that is too long is not part of a handshake."""
        with self._lock:
            if self.is_done:
                return
            *lines, rest = (self._rest[side] + chunk).split(b"\n")
            self._rest[side] = b"" if len(rest) > LONGEST_LINE else rest
            for line in lines:
                self._read_line(side, line)

    def _read_line(self, side: str, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict) or "id" not in message:
            return
        if side == "agent":
            self._asked(json.dumps(message["id"]), message.get("method"))
        elif "method" not in message:
            self._answered(json.dumps(message["id"]), message)

    def _asked(self, number: str, method: Any) -> None:
        if method == DISCOVER:
            self._discovering = number
        elif method in HANDSHAKE:
            self._waiting[number] = method
            timer = self._timers[number] = Timer(self._seconds, self._give_up)
            timer.daemon = True
            timer.start()

    def _answered(self, number: str, message: dict[str, Any]) -> None:
        method = DISCOVER if number == self._discovering else self._waiting.pop(number, None)
        if method is None:
            return
        if number in self._timers:
            self._timers.pop(number).cancel()
        result = message.get("result")
        if not isinstance(result, dict):
            if method != DISCOVER:
                self.note("refused", method=method, error=whole_words(str(message.get("error"))[-KEPT_STDERR - 1 :]))
        elif method != "tools/list":
            capabilities = result.get("capabilities")
            self.note("initialized", has_tools=isinstance(capabilities, dict) and "tools" in capabilities)
        else:
            named = (tool.get("name") for tool in result.get("tools") or () if isinstance(tool, dict))
            self.note("listed", tools=[name for name in named if isinstance(name, str)])
            self.is_done = not result.get("nextCursor")

    def end(self, code: int, stderr: str) -> None:
        """Note the end of a server that has not said which tools it has."""
        if not self.is_done:
            self.note("ended", code=code, stderr=stderr, unanswered=next(iter(self._waiting.values()), None))

    def _give_up(self) -> None:
        """End a server that did not answer in time."""
        with self._lock:
            if self._waiting and not self.is_done:
                self.note("silent", method=next(iter(self._waiting.values())), seconds=self._seconds)
                self.is_done = True
                self._process.kill()


def copy(source: int, target: int, read: Callable[[bytes], None]) -> None:
    """Pass on all that is sent, after it was read, until one side closes."""
    try:
        while True:
            chunk = os.read(source, 2**16)
            if not chunk:
                return
            read(chunk)
            while chunk:
                chunk = chunk[os.write(target, chunk) :]
    except OSError:
        return  # the other side is gone


def main(arguments: list[str]) -> int:
    """Start the server and stay between it and the agent; returns its exit code."""
    record, name, seconds, *command = arguments
    handshake = Handshake(record, name, float(seconds))
    try:
        server = subprocess.Popen(
            command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as fault:
        handshake.note("not_started", error=f"{command[0]}: {fault.strerror}")
        print(f"{command[0]}: {fault.strerror}", file=sys.stderr)
        return NOT_FOUND
    handshake.watch(server)
    for number in FORWARDED:
        signal.signal(number, lambda number, _: server.send_signal(number))
    last_words = bytearray()

    def remember(chunk: bytes) -> None:
        last_words.extend(chunk)
        del last_words[: -KEPT_STDERR - 1]

    def pass_on_answers() -> None:
        stdout = descriptor(server.stdout)
        copy(stdout, 1, lambda chunk: handshake.read("server", chunk))
        os.close(stdout)
        leave_agent(1, server)

    def pass_on_requests() -> None:
        stdin = descriptor(server.stdin)
        copy(0, stdin, lambda chunk: handshake.read("agent", chunk))
        os.close(stdin)
        leave_agent(0, server)

    answers = Thread(target=pass_on_answers, daemon=True)
    errors = Thread(target=copy, args=(descriptor(server.stderr), 2, remember), daemon=True)
    requests = Thread(target=pass_on_requests, daemon=True)
    for thread in (answers, errors, requests):
        thread.start()
    code = server.wait()
    for thread in (answers, errors):
        thread.join(LAST_OUTPUT_SECONDS)
    handshake.end(code, whole_words(last_words.decode(errors="replace")))
    return code


def whole_words(text: str) -> str:
    """The end of a long text, from the first whole word on: a part of a secret could not be redacted."""
    return text if len(text) <= KEPT_STDERR else " ".join(text.split()[1:])


def leave_agent(stream: int, server: Any) -> None:
    """Close a stream of the agent, once the server has had time to end: agents kill what closes its streams at once,
    before the end of the server could be recorded.
    """
    try:
        server.wait(LAST_OUTPUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.close(stream)


def descriptor(stream: Any) -> int:
    """The file descriptor of a pipe, without the object that would close it."""
    number = os.dup(stream.fileno())
    stream.close()
    return number


def end_like(code: int) -> None:
    """End with the server's exit code, or by the signal that ended it."""
    if code < 0:
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)  # a thread may still wait for the agent


if __name__ == "__main__":
    end_like(main(sys.argv[1:]))
