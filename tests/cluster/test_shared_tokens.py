"""Claims about the tokens of a minute that hosts share, and a provider's pauses that all of them keep."""

import asyncio
from pathlib import Path
from threading import Thread

from msgspec.structs import replace
from tests.cluster.cluster_in_process import LEASE_SECONDS, Lead, TestHost, in_process
from tests.gateway.upstreams import until

from outweigh.cluster.messages import PROTOCOL, ExchangeReply, HostState
from outweigh.cluster.shared_tokens import SharedTokens
from outweigh.gateway.token_grants import TokenReport, WaitingRequest
from outweigh.gateway.token_queue import HeldTime

LIMIT = 1_000


class Requests:
    """Requests of a host that wait at its gateway, each in a thread; `sent` are those that were admitted."""

    def __init__(self, host: TestHost) -> None:
        self.queue = host.engine.tokens
        self.sent: list[int] = []

    def ask(self, tokens: int) -> None:
        before = self._asked()
        Thread(target=self.wait, args=(tokens,), daemon=True).start()
        until(lambda: self._asked() > before)

    def _asked(self) -> int:
        return sum(len(report.waiting) for report in self.queue.reports()) + len(self.sent)

    def wait(self, tokens: int) -> None:
        asyncio.run(self.queue.admit("anthropic", tokens, HeldTime()))
        self.sent.append(tokens)


def talk_to_all(lead: Lead, hosts: list[TestHost]) -> None:
    for host in (*hosts, *hosts):
        lead.talk(host)


def test_hosts_together_are_granted_no_more_than_the_limit_and_the_rest_a_minute_later(tmp_path: Path) -> None:
    with in_process(tmp_path, hosts=2, tokens_per_minute=LIMIT) as (lead, hosts):
        first, second = map(Requests, hosts)
        first.ask(600)
        talk_to_all(lead, hosts)
        until(lambda: first.sent == [600])
        second.ask(600)

        talk_to_all(lead, hosts)
        assert second.sent == []

        lead.clock.now += 61.0
        talk_to_all(lead, hosts)
        until(lambda: second.sent == [600])


def test_a_pause_that_the_gateway_of_one_host_sees_holds_for_all_hosts_and_for_starts(tmp_path: Path) -> None:
    with in_process(tmp_path, hosts=2) as (lead, hosts):
        first, second = map(Requests, hosts)
        second.ask(1)
        assert second.sent == [1]

        first.queue.pause("anthropic", 30.0)
        talk_to_all(lead, hosts)
        second.ask(2)

        assert second.sent == [1]
        assert lead.executor.token_use().is_paused
        lead.clock.now += 31.0
        assert not lead.executor.token_use().is_paused


def test_a_host_answers_at_once_when_a_request_waits_for_tokens(tmp_path: Path) -> None:
    with in_process(tmp_path, tokens_per_minute=LIMIT) as (lead, (host,)):
        requests = Requests(host)
        replies: list[ExchangeReply] = []
        question = replace(lead.executor.request_for(host.address), wait_seconds=3_600.0)
        asking = Thread(target=lambda: replies.append(host.ask(question)))
        asking.start()

        Thread(target=requests.wait, args=(7,), daemon=True).start()

        asking.join()
        waiting = [request.tokens for report in replies[0].tokens for request in report.waiting]
        assert waiting == [7]


def a_reply(host: str, *waiting: int, clock: float = 1.0, **totals: int) -> ExchangeReply:
    requests = tuple(WaitingRequest(tokens=tokens, seconds=0.0) for tokens in waiting)
    report = TokenReport(provider="anthropic", sender=f"of {host}", waiting=requests, **totals)
    return ExchangeReply(
        protocol=PROTOCOL,
        host=host,
        node="node",
        clock=clock,
        state=HostState.READY,
        detail=None,
        slots=1,
        arms=("a",),
        tokens=(report,),
        held_seconds=float(totals.get("spent", 0)),
    )


def test_a_reply_that_a_later_one_has_overtaken_is_not_taken_in() -> None:
    tokens = SharedTokens(LIMIT, 0.0, takes_over=False)
    tokens.take(a_reply("one", 100, clock=5.0), 1.0)

    tokens.take(a_reply("one", 100, 100, clock=4.0), 1.0)
    tokens.distribute(1.0)

    assert [grant.granted for grant in tokens.grants("one", 1.0)] == [100]


def test_what_a_host_was_granted_that_is_given_up_counts_as_used() -> None:
    tokens = SharedTokens(LIMIT, 0.0, takes_over=False)
    tokens.take(a_reply("one", LIMIT), 0.0)
    tokens.distribute(0.0)
    tokens.take(a_reply("two", LIMIT), LEASE_SECONDS)

    tokens.keep_only(["two"], LEASE_SECONDS)

    assert tokens.distribute(LEASE_SECONDS + 59.0) == frozenset()
    assert tokens.distribute(LEASE_SECONDS + 60.0) == {"two"}


def test_a_lead_that_takes_over_waits_for_a_minute() -> None:
    tokens = SharedTokens(LIMIT, 100.0, takes_over=True)
    tokens.take(a_reply("one", 10), 101.0)

    assert tokens.distribute(159.0) == frozenset()
    assert tokens.distribute(160.0) == {"one"}


def test_what_attempts_took_and_waited_stays_when_their_host_is_given_up() -> None:
    tokens = SharedTokens(LIMIT, 0.0, takes_over=False)
    tokens.take(a_reply("one", spent=50, granted=50, used=50), 0.0)
    tokens.keep_only([], 1.0)
    tokens.take(a_reply("one", spent=50, granted=50, used=50), 2.0)

    assert tokens.use(2.0).tokens == {"anthropic": 50}
