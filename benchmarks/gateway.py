"""What the model gateway adds to a request: the same request to the same server, directly and through it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from urllib.parse import urlsplit

import msgspec

from benchmarks.measure import OUTWEIGH, median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.provider import ApiFamily
from outweigh.model.usage import Component
from outweigh.ports.gateways import ArmMarker, MeterRequest

ADDED_SECONDS = 0.005
"""What the gateway may add at the median."""

ROUNDS = 300
SIZES = {"30 kB": 30_000, "500 kB": 500_000}
"""A first request of a coding agent, and one with much behind it."""

_MODEL = "bench"
_SCRIPT = '[[turn]]\ntext = "It is done."\n'
_PRICES = PriceTables(
    UserPriceTable("bench", {_MODEL: ModelPrices(input_usd_per_million=3.0, output_usd_per_million=15.0)})
)
_MARKER = ArmMarker(name="skill:bench", component=Component.SKILL_PROMPT, text="A skill is a page of advice. " * 100)


def measure(setting: Setting) -> list[Ratio]:
    """The server is a process of its own, as a provider is; the gateway is a thread, as in an engine."""
    with _server(setting.folder) as url, _door(url) as (port, key):
        return [_row(name, size, urlsplit(url).port or 0, port, key) for name, size in SIZES.items()]


def _row(name: str, size: int, server_port: int, door_port: int, key: str) -> Ratio:
    body = _request_of(size)
    seconds = median_seconds(
        {
            "direct": partial(_ask, HTTPConnection("127.0.0.1", server_port), body, key),
            "through": partial(_ask, HTTPConnection("127.0.0.1", door_port), body, key),
        },
        ROUNDS,
    )
    added = seconds["through"] - seconds["direct"]
    return Ratio(
        name=f"what the gateway adds to a streamed request of {name} : {1e3 * ADDED_SECONDS:.0f} ms",
        measured=added / ADDED_SECONDS,
        target=1.0,
        better="lower",
        note=f"{1e3 * added:.2f} ms more than {1e3 * seconds['direct']:.2f} ms",
    )


def _request_of(size: int) -> bytes:
    """Instructions, tools and a conversation of many turns, about as agents send them."""
    turn = "The tests of the parser fail since the last change. " * 20
    talk = [{"role": role, "content": turn} for _ in range(size // 2 // len(turn)) for role in ("user", "assistant")]
    return msgspec.json.encode(
        {
            "model": _MODEL,
            "max_tokens": 100,
            "stream": True,
            "system": [{"type": "text", "text": _MARKER.text}],
            "tools": [{"name": f"tool{number}", "input_schema": {"type": "object"}} for number in range(20)],
            "messages": [*talk, {"role": "user", "content": "Go on."}],
        }
    )


def _ask(connection: HTTPConnection, body: bytes, key: str) -> None:
    connection.request("POST", "/v1/messages", body, {"x-api-key": key, "content-type": "application/json"})
    answer = connection.getresponse()
    if b"message_stop" not in answer.read():
        raise RuntimeError(f"no answer: {answer.status}")


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    script = folder / "model.toml"
    script.write_text(_SCRIPT)
    command = [*OUTWEIGH, "dev", "model-server", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http://"))
        finally:
            process.terminate()


@contextmanager
def _door(url: str) -> Iterator[tuple[int, str]]:
    upstreams = {provider: ModelUpstream(url=url, variable="", key="") for provider in ApiFamily}
    request = MeterRequest(label="bench", budget_usd=1e6, tokens=None, markers=(_MARKER,), keep_bodies=False)
    listening = create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    with ModelGateway(upstreams, _PRICES) as gateway, gateway.meter(request) as meter, meter.port.serve(listening):
        yield port, meter.key
