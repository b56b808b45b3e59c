"""Claims about a limit of tokens per minute at a real gateway, with a scripted model and threads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic

import pytest
from tests.engine.test_batch_executor import a_plan, made
from tests.gateway.gateway_fixtures import MODEL, PRICES, REAL_KEY, Way, a_way_through
from tests.gateway.plain_http import post
from tests.gateway.upstreams import until

from outweigh.engine.batch import Batch, BatchSettings, EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent
from outweigh.engine.executor import ThreadExecutor
from outweigh.engine.token_pace import PacedExecutor, TokenUse
from outweigh.engine.trial_plan import PlannedRun
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.token_queue import LocalTokens
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.provider import ApiFamily
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec
from outweigh.testing.model_server.ledger import LedgerEntry

SPEED = 60.0
"""A minute of the limit takes a second."""
PROMPT, OUTPUT = 900, 100
TEXT = "word" * PROMPT
SCRIPT = Script(turn=[Turn(text="Done.", usage=UsageSpec(input_tokens=PROMPT, output_tokens=OUTPUT))])


def fast_clock() -> float:
    return monotonic() * SPEED


@dataclass(slots=True)
class Taken:
    """When the model was asked, in seconds of the limit, and for how many tokens."""

    requests: list[tuple[float, int]] = field(default_factory=list)

    def note(self, entry: LedgerEntry) -> None:
        if entry.tokens is not None:
            self.requests.append((fast_clock(), entry.tokens.total_tokens))

    def most_in(self, seconds: float) -> int:
        ends = [at for at, _ in self.requests]
        return max(sum(tokens for at, tokens in self.requests if end - seconds < at <= end) for end in ends)


@contextmanager
def a_limited_gateway(tokens: LocalTokens, script: Script = SCRIPT) -> Iterator[tuple[ModelGateway, Taken]]:
    taken = Taken()
    with ModelServer(script, on_entry=taken.note) as server:
        upstream = ModelUpstream(url=server.url, variable="REAL_KEY", key=REAL_KEY)
        with ModelGateway(dict.fromkeys(ApiFamily, upstream), PRICES, tokens=tokens.queue) as gateway:
            yield gateway, taken


def ask(way: Way, text: str = TEXT) -> int:
    body = {"model": MODEL, "max_tokens": OUTPUT, "messages": [{"role": "user", "content": text}]}
    return post(f"{way.url}/v1/messages", body, {"x-api-key": way.key}).status


def test_a_request_beyond_the_allowance_of_the_minute_waits_and_is_answered() -> None:
    with (
        a_limited_gateway(LocalTokens(2_500, clock=fast_clock)) as (gateway, taken),
        a_way_through(gateway) as way,
    ):
        statuses = [ask(way) for _ in range(5)]
        held = way.meter.held_seconds()

    assert statuses == [200] * 5
    assert taken.most_in(59.0) <= 2_500  # the server notes a request a moment after the gateway has sent it
    assert held > 60.0


def test_the_time_that_a_request_waits_is_no_time_of_its_model() -> None:
    with a_limited_gateway(LocalTokens(1_000, clock=fast_clock)) as (gateway, _), a_way_through(gateway) as way:
        ask(way)
        ask(way)
        calls = way.account().calls
        waited = way.meter.held_seconds() / SPEED

    assert calls[1].started_at_seconds - calls[0].started_at_seconds >= waited
    assert calls[1].started_at_seconds >= waited


@pytest.mark.parametrize("tokens", [LocalTokens(10**9, clock=fast_clock), LocalTokens(1_000, clock=fast_clock)])
def test_what_a_request_took_is_known_after_its_response(tokens: LocalTokens) -> None:
    with a_limited_gateway(tokens) as (gateway, _), a_way_through(gateway) as way:
        ask(way)

        until(lambda: tokens.used == {"anthropic": PROMPT + OUTPUT})


def test_requests_of_one_run_cannot_pass_its_own_cap_while_they_wait() -> None:
    with (
        a_limited_gateway(LocalTokens(1_000, clock=fast_clock)) as (gateway, taken),
        a_way_through(gateway, tokens=1_500) as way,
    ):
        statuses: list[int] = []
        threads = [Thread(target=lambda: statuses.append(ask(way))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(statuses) == [200, 200, 403, 403]
    assert len(taken.requests) == 2


def test_a_refusal_that_asks_for_a_pause_lets_the_requests_of_all_runs_wait() -> None:
    refusal = Turn(error=ErrorSpec(kind="rate_limited", retry_after_seconds=30, times=1, shared=True))
    refusal = Turn(error=refusal.error, text="Done.", usage=UsageSpec(input_tokens=PROMPT, output_tokens=OUTPUT))
    with (
        a_limited_gateway(LocalTokens(10**9, clock=fast_clock), Script(turn=[refusal])) as (gateway, taken),
        a_way_through(gateway) as refused,
        a_way_through(gateway) as other,
    ):
        began = fast_clock()
        statuses = [ask(refused), ask(other)]

    assert statuses == [429, 200]
    assert taken.requests[0][0] - began >= 30.0


class AskingAttempts:
    """Attempts that ask the model a few times; `most` is how many there were at once."""

    def __init__(self, gateway: ModelGateway, requests: int) -> None:
        self._gateway = gateway
        self._requests = requests
        self._open = 0
        self.most = 0
        self.by_arm: list[str] = []

    def __call__(self, planned: PlannedRun, number: int) -> object:
        self._open += 1
        self.most = max(self.most, self._open)
        with a_way_through(self._gateway) as way:
            assert [ask(way) for _ in range(self._requests)] == [200] * self._requests
        self.by_arm.append(planned.trial.arm)
        self._open -= 1
        return made(planned, number)


def run_all(attempts: AskingAttempts, tokens: LocalTokens, limit: int, plan: Sequence[PlannedRun]) -> list[EngineEvent]:
    events: list[EngineEvent] = []

    def use() -> TokenUse:
        return TokenUse(tokens=tokens.used, held_seconds=tokens.queue.held_seconds() / SPEED)

    threads = ThreadExecutor(attempts, 8)  # type: ignore[arg-type]
    batch = Batch(
        executor=PacedExecutor(threads, limit, use, events.append),
        settings=BatchSettings(retries=0, first_backoff_seconds=0.0, longest_backoff_seconds=0.0),
        budget=Budget(None, None),
        drain=Event(),
        listen=events.append,
        take_look=None,
    )
    assert batch.run((planned, 1) for planned in plan) is EndReason.DONE
    return events


def test_runs_in_threads_keep_to_the_limit_together_and_no_more_are_started_than_it_serves() -> None:
    tokens, limit = LocalTokens(4_000, clock=fast_clock), 4_000
    with a_limited_gateway(tokens) as (gateway, taken):
        attempts = AskingAttempts(gateway, requests=2)
        events = run_all(attempts, tokens, limit, a_plan(8))

    assert len(taken.requests) == 16
    assert taken.most_in(59.0) <= limit
    assert attempts.most < 8
    assert sorted(attempts.by_arm) == ["a"] * 4 + ["b"] * 4
    assert any("`tokens_per_minute` serves about" in event.detail for event in events if event.detail)
