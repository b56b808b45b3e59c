"""Claims about how a limit of tokens per minute is divided among those that send requests, by a clock of the test."""

import asyncio
from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from outweigh.gateway.token_grants import TokenGrants, TokenReport, WaitingRequest
from outweigh.gateway.token_queue import HeldTime, TokenQueue

LIMIT = 1_000


def report(sender: str = "one", *waiting: tuple[int, float], **totals: int) -> TokenReport:
    """What a sender says of its provider: totals, and the tokens and seconds of requests that wait."""
    requests = tuple(WaitingRequest(tokens=tokens, seconds=seconds) for tokens, seconds in waiting)
    return TokenReport(provider="anthropic", sender=sender, waiting=requests, **totals)


def granted(grants: TokenGrants, member: str = "one", now: float = 0.0) -> int:
    return sum(grant.granted for grant in grants.grants(member, now))


def test_requests_are_granted_tokens_until_the_limit_is_reached() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (400, 3.0), (400, 2.0), (400, 1.0))], 10.0)

    assert grants.distribute(10.0) == {"one"}
    assert granted(grants) == 800


def test_tokens_are_free_again_a_minute_after_they_were_used() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (900, 0.0))], 0.0)
    grants.distribute(0.0)
    grants.take("one", [report("one", (900, 0.0), granted=900, spent=900)], 1.0)

    assert grants.distribute(60.9) == frozenset()
    assert grants.distribute(61.0) == {"one"}


def test_a_request_that_came_first_is_not_overtaken_by_a_smaller_one_of_another_sender() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (600, 5.0))], 10.0)
    grants.distribute(10.0)
    grants.take("one", [report("one", (900, 4.0), granted=600, spent=600)], 10.0)
    grants.take("two", [report("two", (10, 1.0))], 10.0)

    assert grants.distribute(11.0) == frozenset()
    assert grants.distribute(70.0) == {"one", "two"} or granted(grants, "two") == 10


def test_a_request_that_takes_more_than_the_limit_is_sent_alone() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (10, 9.0), (5_000, 8.0))], 10.0)
    grants.distribute(10.0)
    grants.take("one", [report("one", (5_000, 8.0), granted=10, spent=10)], 10.0)

    assert granted(grants) == 10
    assert grants.distribute(69.0) == frozenset()
    assert grants.distribute(70.0) == {"one"}
    assert granted(grants) == 5_010


def test_what_a_response_took_less_than_was_expected_can_be_granted_at_once() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (1_000, 0.0))], 0.0)
    grants.distribute(0.0)
    grants.take("one", [report("one", (300, 0.0), granted=1_000, spent=1_000)], 1.0)
    assert grants.distribute(1.0) == frozenset()

    grants.take("one", [report("one", (300, 1.0), granted=1_000, spent=1_000, freed=400)], 2.0)

    assert grants.distribute(2.0) == {"one"}


def test_what_a_response_took_beyond_what_was_expected_counts_from_when_it_is_known() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (100, 0.0))], 0.0)
    grants.distribute(0.0)
    grants.take("one", [report("one", (200, 0.0), granted=100, spent=100, excess=800)], 30.0)

    assert grants.distribute(89.0) == frozenset()
    assert grants.distribute(90.0) == {"one"}


def test_what_is_returned_can_be_granted_to_another_sender() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (1_000, 0.0))], 0.0)
    grants.distribute(0.0)
    grants.take("two", [report("two", (1_000, 0.0))], 0.0)
    assert grants.distribute(1.0) == frozenset()

    grants.take("one", [report("one", granted=1_000, returned=1_000)], 2.0)

    assert grants.distribute(2.0) == {"two"}


def test_what_a_lost_sender_was_granted_counts_as_used() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("one", (1_000, 0.0))], 0.0)
    grants.distribute(0.0)
    grants.take("two", [report("two", (1_000, 0.0))], 0.0)

    grants.drop("one", 5.0)

    assert grants.distribute(64.0) == frozenset()
    assert grants.distribute(65.0) == {"two"}


def test_a_sender_that_begins_anew_is_granted_anew() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [report("before", (500, 0.0))], 0.0)
    grants.distribute(0.0)

    grants.take("one", [report("after", (500, 0.0))], 1.0)

    assert grants.distribute(1.0) == {"one"}
    assert [(grant.sender, grant.granted) for grant in grants.grants("one", 1.0)] == [("after", 500)]


def test_a_report_that_is_repeated_changes_nothing() -> None:
    grants = TokenGrants(LIMIT)
    said = [report("one", (400, 0.0))]
    grants.take("one", said, 0.0)
    grants.distribute(0.0)

    grants.take("one", said, 1.0)

    assert grants.distribute(1.0) == frozenset()
    assert granted(grants) == 400


def test_a_pause_that_one_sender_sees_holds_for_all_and_ends() -> None:
    grants = TokenGrants(LIMIT)
    grants.take("one", [replace(report("one"), pause_seconds=20.0)], 0.0)
    grants.take("two", [report("two", (10, 0.0))], 1.0)

    assert grants.distribute(1.0) == frozenset()
    assert [grant.pause_seconds for grant in grants.grants("two", 5.0)] == [15.0]
    assert grants.distribute(20.0) == {"two"}


def test_a_sender_that_never_asked_a_provider_hears_of_its_pause() -> None:
    grants = TokenGrants(None)
    grants.take("one", [replace(report("one"), pause_seconds=20.0)], 0.0)

    assert [grant.pause_seconds for grant in grants.grants("two", 5.0)] == [15.0]
    assert grants.grants("two", 20.0) == ()


def test_providers_have_a_limit_each() -> None:
    grants = TokenGrants(LIMIT)
    other = replace(report("one", (1_000, 0.0)), provider="openai")
    grants.take("one", [report("one", (1_000, 0.0)), other], 0.0)
    grants.distribute(0.0)

    assert [grant.granted for grant in grants.grants("one", 0.0)] == [1_000, 1_000]


def test_a_lead_that_is_started_again_grants_nothing_before_a_minute_is_over() -> None:
    grants = TokenGrants(LIMIT, quiet_until=60.0)
    grants.take("one", [report("one", (10, 0.0), granted=700, spent=700)], 1.0)

    assert grants.distribute(59.0) == frozenset()
    assert grants.distribute(60.0) == {"one"}


class Sender:
    """A TokenQueue whose requests are sent as soon as they may be, and end after a while."""

    def __init__(self, clock: "Clock", chance: Random) -> None:
        self.queue = TokenQueue(is_limited=True, clock=clock, look_seconds=0.0)
        self.sent: list[tuple[float, int]] = []
        self._clock = clock
        self._chance = chance

    async def ask(self, tokens: int) -> None:
        admission = await self.queue.admit("anthropic", tokens, HeldTime(self._clock))
        self.sent.append((admission.at, tokens))
        ends_at = self._clock() + self._chance.uniform(0.0, 90.0)
        while self._clock() < ends_at:
            await asyncio.sleep(0)
        took = int(tokens * self._chance.uniform(0.2, 1.0))
        self.queue.settle(admission, took)
        if took < tokens and self._clock() - admission.at < 55.0:
            self.sent.append((admission.at, took - tokens))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def most_in_a_minute(sent: Sequence[tuple[float, int]]) -> int:
    ends = sorted({at for at, _ in sent})
    return max(sum(tokens for at, tokens in sent if end - 60.0 < at <= end) for end in ends)


async def exchange_for_a_while(chance: Random, senders: int) -> list[tuple[float, int]]:
    """Requests of several senders by messages that come late and are lost; returns what was sent, and when."""
    clock = Clock()
    grants = TokenGrants(LIMIT)
    members = {f"host-{number}": Sender(clock, chance) for number in range(senders)}
    tasks = []
    for _ in range(300):
        clock.now += chance.uniform(0.0, 1.0)
        for name, sender in members.items():
            if chance.random() < 0.15:
                tasks.append(asyncio.create_task(sender.ask(chance.randint(1, 400))))
            if chance.random() < 0.7:
                said = sender.queue.reports()
                if chance.random() < 0.8:
                    grants.take(name, said, clock.now + chance.uniform(0.0, 0.2))
            grants.distribute(clock.now)
            if chance.random() < 0.8:
                sender.queue.take(grants.grants(name, clock.now))
        for _ in range(3):
            await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [one for sender in members.values() for one in sender.sent]


@pytest.mark.parametrize("seed", range(4))
def test_in_no_minute_do_all_senders_together_take_more_than_the_limit(seed: int) -> None:
    chance = Random(seed)

    sent = asyncio.run(exchange_for_a_while(chance, senders=1 + seed % 4))

    assert len(sent) > 10
    assert most_in_a_minute(sent) <= LIMIT
