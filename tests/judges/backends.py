"""Judges behind the scripted model server."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from outweigh.model.suite import JudgeSpec
from outweigh.testing.model_server import CallSpec, ModelServer, Script, Turn

KEY = "OUTWEIGH_TEST_KEY"
HOUR = 3600.0


def saying(text: str) -> Turn:
    return Turn(text=text)


def handing_in(answer: str) -> Turn:
    return Turn(tool_calls=[CallSpec(name="submit_judgment", arguments=msgspec.json.decode(answer))])


def closed_port() -> int:
    """A port that nobody listens on: taken for a moment, and let go."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def a_server(*turns: Turn, **script: object) -> Iterator[ModelServer]:
    with ModelServer(msgspec.convert({"turn": [*map(msgspec.to_builtins, turns)], **script}, Script)) as server:
        yield server


def a_judge(backend: str, **options: object) -> JudgeSpec:
    return JudgeSpec(name="judge", backend=backend, model="claude-judge-1", options=dict(options))
