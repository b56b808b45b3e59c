"""A run that only asks whether a skill is used is over at an answer: nothing more is sent, and its agent is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server
from threading import Event

from tests.gateway.gateway_fixtures import MODEL, Way, a_gateway
from tests.gateway.plain_http import post

from outweigh.model.failure import FailureKind
from outweigh.ports.gateways import AnswerLimit, MeterRequest
from outweigh.testing.model_server import ModelServer, Script, Turn
from outweigh.testing.model_server.model_script import CallSpec

LOOK = Turn(tool_calls=[CallSpec(name="shell", arguments={"command": "ls"})])
SHELL = {"type": "function", "function": {"name": "shell", "parameters": {"type": "object", "properties": {}}}}


class CountedStops:
    def __init__(self) -> None:
        self.stops = 0
        self.called = Event()

    def stop(self) -> None:
        self.stops += 1
        self.called.set()


@contextmanager
def a_limited_way(server: ModelServer, stops: CountedStops, answers: int = 1) -> Iterator[Way]:
    limit = AnswerLimit(answers=answers, stop=stops)
    request = MeterRequest(label="run", budget_usd=None, tokens=None, markers=(), keep_bodies=False, answer_limit=limit)
    listening = create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    with a_gateway(server.url) as gateway, gateway.meter(request) as meter, meter.port.serve(listening):
        yield Way(meter, f"http://127.0.0.1:{port}")


def ask(way: Way, *, tools: bool = True) -> int:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], **({"tools": [SHELL]} if tools else {})}
    return post(f"{way.url}/v1/chat/completions", body, {"authorization": f"Bearer {way.key}"}).status


def test_an_answer_that_calls_a_tool_stops_the_run_and_nothing_more_is_sent() -> None:
    stops = CountedStops()
    with ModelServer(Script(turn=[LOOK])) as server, a_limited_way(server, stops) as way:
        first, was_stopped = ask(way), stops.called.wait(60)
        second = ask(way)
        calls = way.account().calls

    assert (first, second, was_stopped) == (200, 401, True)
    assert len(server.ledger) == 1
    assert calls[1].failure is not None
    assert calls[1].failure.kind is FailureKind.NOT_ALLOWED


def test_a_plain_answer_lets_the_agent_end_by_itself_until_it_asks_for_more() -> None:
    stops = CountedStops()
    with ModelServer(Script(turn=[Turn(text="Done.")])) as server, a_limited_way(server, stops) as way:
        ask(way)
        stopped_at = stops.stops
        ask(way)

    assert (stopped_at, stops.stops, len(server.ledger)) == (0, 1, 1)


def test_requests_without_tools_such_as_titles_do_not_count_as_the_answer() -> None:
    stops = CountedStops()
    with ModelServer(Script(turn=[Turn(text="Done.")])) as server, a_limited_way(server, stops) as way:
        statuses = [ask(way, tools=False), ask(way), ask(way, tools=False)]

    assert statuses == [200, 200, 401]
    assert len(server.ledger) == 2


def test_a_case_may_allow_more_answers() -> None:
    stops = CountedStops()
    with ModelServer(Script(turn=[LOOK, LOOK])) as server, a_limited_way(server, stops, 2) as way:
        statuses = [ask(way), ask(way), ask(way)]

    assert statuses == [200, 200, 401]
