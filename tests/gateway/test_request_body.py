"""One run's requests, however large, are read beside those of the others and never before them."""

import asyncio
import gzip
from datetime import UTC, datetime
from threading import Event, current_thread

import msgspec
from tests.gateway.gateway_fixtures import MODEL, PRICES, a_gateway, a_way_through
from tests.gateway.plain_http import ask, post

from outweigh.gateway.request_body import RequestReader, pause_after
from outweigh.gateway.request_parsing import MAX_SEPARATORS, ParsedRequest, Route, find_route
from outweigh.gateway.run_ledger import RunLedger
from outweigh.ports.gateways import MeterRequest
from outweigh.testing.model_server import ModelServer, Script, Turn

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
SCRIPT = Script(turn=[Turn(text="Done.")])
PATIENCE_SECONDS = 60.0
_ROUTE = find_route("POST", "/v1/messages", {})
assert _ROUTE is not None
ROUTE: Route = _ROUTE


class WaitingLedger(RunLedger):
    """Reads a request when it is told to."""

    def __init__(self) -> None:
        request = MeterRequest(label="run", budget_usd=None, tokens=None, markers=(), keep_bodies=False)
        super().__init__(request, PRICES, {}, lambda: datetime.now(UTC))
        self.begun: list[bytes] = []
        self.may_end = Event()

    def read_request(self, route: Route, body: bytes) -> ParsedRequest:
        self.begun.append(body)
        assert self.may_end.wait(PATIENCE_SECONDS)
        return super().read_request(route, body)


def test_another_run_is_served_while_a_request_is_being_read() -> None:
    async def both() -> bool:
        slow, quick = WaitingLedger(), WaitingLedger()
        quick.may_end.set()
        first = asyncio.create_task(RequestReader(slow.read_request).read(ROUTE, msgspec.json.encode(BODY)))
        second = RequestReader(quick.read_request).read(ROUTE, msgspec.json.encode(BODY))
        await asyncio.wait_for(second, PATIENCE_SECONDS)
        was_done = first.done()
        slow.may_end.set()
        await first
        return was_done

    assert asyncio.run(both()) is False


def test_a_run_reads_one_request_at_a_time_even_where_a_client_has_hung_up() -> None:
    async def three() -> list[bytes]:
        run = WaitingLedger()
        reader = RequestReader(run.read_request)
        first = asyncio.create_task(reader.read(ROUTE, b"{}"))
        second = asyncio.create_task(reader.read(ROUTE, b'{"n": 2}'))
        while not run.begun:
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        begun = list(run.begun)
        run.may_end.set()
        await second
        return begun

    assert asyncio.run(three()) == [b"{}"]


def test_after_a_request_that_took_long_to_read_the_runs_next_one_waits() -> None:
    async def begun_requests(pause_seconds: float) -> list[bytes]:
        run = WaitingLedger()
        run.may_end.set()
        reader = RequestReader(run.read_request, lambda used: pause_seconds if used >= 0 else 0)
        await reader.read(ROUTE, msgspec.json.encode(BODY))
        second = asyncio.create_task(reader.read(ROUTE, b"{}"))
        await asyncio.wait([second], timeout=PATIENCE_SECONDS if pause_seconds == 0 else 0.2)
        second.cancel()
        return run.begun[1:]

    assert asyncio.run(begun_requests(pause_seconds=0)) == [b"{}"]
    assert asyncio.run(begun_requests(pause_seconds=3600)) == []


def test_a_run_that_sends_large_requests_gets_a_twentieth_of_the_time_and_small_ones_never_wait() -> None:
    assert pause_after(0.02) == 0
    assert pause_after(0.1) == 0.1 * 19


def test_requests_are_not_read_in_the_thread_that_serves_them() -> None:
    class Ledger(WaitingLedger):
        def read_request(self, route: Route, body: bytes) -> ParsedRequest:
            self.begun.append(current_thread().name.encode())
            return RunLedger.read_request(self, route, body)

    async def one() -> list[bytes]:
        run = Ledger()
        await RequestReader(run.read_request).read(ROUTE, msgspec.json.encode(BODY))
        return run.begun

    (name,) = asyncio.run(one())
    assert name.startswith(b"outweigh-requests")


def test_a_packed_request_is_refused_before_it_is_unpacked() -> None:
    packed = gzip.compress(msgspec.json.encode(BODY))
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway) as way:
        headers = {"authorization": f"Bearer {way.key}", "content-encoding": "gzip"}
        answer = ask("POST", f"{way.url}/v1/messages", packed, headers)

    assert answer.status == 400
    assert "send it uncompressed" in answer.json["error"]["message"]
    assert list(server.ledger) == []


def test_a_request_with_more_values_than_any_context_holds_is_refused() -> None:
    body = {**BODY, "extra": [0] * (MAX_SEPARATORS + 1)}
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway) as way:
        answer = post(f"{way.url}/v1/messages", body, {"authorization": f"Bearer {way.key}"})

    assert answer.status == 400
    assert "too many values" in answer.json["error"]["message"]
