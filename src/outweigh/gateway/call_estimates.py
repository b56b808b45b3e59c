"""The estimates of a run's calls: which of them have no final count, what the provider says that they sent, and their
tokens and dollars once the run is over.
"""

import asyncio
from asyncio import Task
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace

from msgspec.structs import replace as replace_usage

from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.gateway.round_trip import RoundTrip
from outweigh.gateway.token_attribution import total_input_tokens
from outweigh.gateway.usage_estimate import UnmeteredRequest, UsageEstimator, lacks_usage
from outweigh.model.usage import Usage
from outweigh.ports.gateways import EstimatedUsage

MAX_COUNTED = 20
"""Requests of a run that its provider is asked to count, so that no agent uses up the key's own rate limit."""

PriceUsage = Callable[[GenerationRequest, GenerationResponse], float | None]
"""The dollars of a request, None where no price is known."""


class CallEstimates:
    """Estimates what a run's calls took, where their provider did not say. Used only in the gateway's thread."""

    def __init__(self, price: PriceUsage) -> None:
        self._price = price
        self._estimator = UsageEstimator()
        self._unmetered: dict[int, UnmeteredRequest] = {}
        self._counting: set[Task[None]] = set()

    def note(self, place: int, round_trip: RoundTrip) -> None:
        """Note a call that has ended: its final count, or all that is known of it without one."""
        request, response = round_trip.request.parsed, round_trip.response
        started = round_trip.started_at
        ended = started if round_trip.ended_at is None else round_trip.ended_at
        if not lacks_usage(response.usage):
            self._estimator.note(request, response.usage, ended - (round_trip.first_token_at or started))
        elif not round_trip.is_free:
            self._unmetered[place] = UnmeteredRequest(
                request=request,
                response=response.with_usage(response.usage),
                seconds=ended - started,
                has_begun=round_trip.http_status is not None,
                stops_when_closed=round_trip.stops_when_closed,
            )

    def lacks_count(self, place: int) -> bool:
        """Whether a call is to be estimated, and its provider has not said what it sent."""
        unmetered = self._unmetered.get(place)
        if unmetered is None or not unmetered.is_bounded:
            return False
        return total_input_tokens(unmetered.response.usage) is None

    def count_later(self, place: int, counting: Coroutine[None, None, int | None]) -> None:
        """Let the provider count what a call sent; a run can ask for that only so often."""
        if len(self._counting) >= MAX_COUNTED:
            counting.close()
            return
        self._counting.add(asyncio.create_task(self._count(place, counting)))

    async def finish_counting(self) -> None:
        """Wait for all counts; each question ends by itself after a few seconds."""
        if self._counting:
            await asyncio.wait(self._counting)

    def by_place(self) -> Iterator[tuple[int, EstimatedUsage | None]]:
        """The place of every call without a final count, and its estimate; None where nothing bounds it."""
        for place, unmetered in self._unmetered.items():
            yield place, self._estimate(unmetered)

    async def _count(self, place: int, counting: Coroutine[None, None, int | None]) -> None:
        counted = await counting
        self._unmetered[place] = replace(self._unmetered[place], counted_input=counted)

    def _estimate(self, unmetered: UnmeteredRequest) -> EstimatedUsage | None:
        bounds = self._estimator.estimate(unmetered)
        if bounds is None:
            return None

        def prices(*usages: Usage) -> list[float]:
            priced = (self._price(unmetered.request, unmetered.response.with_usage(usage)) for usage in usages)
            return [usd for usd in priced if usd is not None]

        low, high, likely = bounds.low, bounds.high, prices(bounds.likely)
        # Of a prompt that was never counted, all or nothing may have been read from the cache or written to it; a kind
        # of tokens without a listed price is one that the provider does not have.
        uncounted = not unmetered.response.is_complete and total_input_tokens(unmetered.response.usage) is None
        fresh = replace_usage(low, input_tokens=low.cache_read_tokens, cache_read_tokens=0) if uncounted else low
        written = replace_usage(high, input_tokens=0, cache_write_tokens=high.input_tokens) if uncounted else high
        return EstimatedUsage(
            low=low,
            likely=bounds.likely,
            high=high,
            low_usd=min(prices(low, fresh), default=None),
            likely_usd=likely[0] if likely else None,
            high_usd=max(prices(high, written), default=None),
        )
