"""Everything that the gateway knows about one run: its key, its limits, its calls so far and what they cost."""

from collections.abc import Callable, Sequence
from datetime import datetime
from time import monotonic

from outweigh.gateway.dialects.request_and_response import GenerationRequest
from outweigh.gateway.request_cost import (
    RunLimits,
    count_request_cost,
    find_prices,
    minimum_request_cost,
    price_response,
)
from outweigh.gateway.round_trip import BodyLimit, RoundTrip, TrafficLog
from outweigh.gateway.token_attribution import MarkerSearch, SubAgentDetector, attribute_tokens
from outweigh.gateway.upstream import create_run_key
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.pricing import PriceTables
from outweigh.ports.gateways import MeteredCalls, MeterRequest, ModelCall

MAX_UNSERVED = 100
MAX_UNSERVED_LENGTH = 200


class RunLedger:
    """The caps, the conversations and the calls of one run. Belongs to the thread of the gateway alone."""

    def __init__(
        self, request: MeterRequest, tables: PriceTables, secrets: Sequence[str], now: Callable[[], datetime]
    ) -> None:
        self.key = create_run_key()
        self.is_open = True
        self.room = BodyLimit()
        self._unserved: dict[str, None] = {}
        self._tables = tables
        self._now = now
        self._opened_at = monotonic()
        self._allowance = RunLimits(request.budget_usd, request.tokens)
        self._markers = MarkerSearch(request.markers)
        self._conversations = SubAgentDetector()
        self._bodies = TrafficLog((self.key, *secrets)) if request.keep_bodies else None
        self._price_tables: dict[str, None] = {}
        self._under_way: list[RoundTrip] = []
        self._calls: list[ModelCall] = []

    def objection(self, asked: GenerationRequest) -> Failure | None:
        """Why a request must not be sent; None where it may."""
        prices = find_prices(self._tables, asked.model)
        if self._allowance.is_in_dollars and prices is None:
            return make_failure(
                FailureKind.UNKNOWN_MODEL,
                f"This run has a budget in dollars, and {asked.model!r} is an unknown model: no price is listed. "
                "Nothing was sent. List it in the file that prices under [gateway] in the suite names.",
            )
        reached = self._allowance.objection(minimum_request_cost(asked, prices))
        return None if reached is None else make_failure(FailureKind.BUDGET_REACHED, reached)

    def begin(self, exchange: RoundTrip) -> None:
        """A request is sent."""
        self._under_way.append(exchange)
        asked = exchange.demand.asked
        self._allowance.hold(exchange, minimum_request_cost(asked, find_prices(self._tables, asked.model)))

    def end(self, exchange: RoundTrip) -> None:
        """Its answer has ended, one way or another."""
        self._under_way.remove(exchange)
        self._close(exchange)
        asked, answer = exchange.demand.asked, exchange.answer
        prices = find_prices(self._tables, answer.model, asked.model)
        self._allowance.settle(exchange, count_request_cost(asked, answer, prices))
        self._conversations.hand_over(answer.handed_over())

    def refuse(self, exchange: RoundTrip) -> None:
        """A request was not sent, and its client was told so."""
        self._close(exchange)

    @property
    def keeps_bodies(self) -> bool:
        """Whether what is said is kept."""
        return self._bodies is not None

    def note_unserved(self, what: str) -> None:
        """Remember a request for something that is not served: each kind once, and no more than a run can explain."""
        if len(self._unserved) < MAX_UNSERVED:
            self._unserved[what[:MAX_UNSERVED_LENGTH]] = None

    def account(self) -> MeteredCalls:
        """Everything so far; what is still under way as it stands."""
        calls = [*self._calls, *(self._call(exchange) for exchange in self._under_way)]
        return MeteredCalls(
            calls=tuple(sorted(calls, key=lambda call: call.started_at_seconds)),
            seen=frozenset(self._markers.seen),
            price_table=", ".join(self._price_tables) or None,
            bodies=b"" if self._bodies is None else self._bodies.lines(),
            unserved=tuple(self._unserved),
        )

    def _close(self, exchange: RoundTrip) -> None:
        exchange.end()
        self._calls.append(self._call(exchange))
        if self._bodies is not None and exchange.kept is not None:
            demand = exchange.demand
            self._bodies.add(len(self._calls), exchange.way.path, demand.body, exchange.http_status, exchange.kept)

    def _call(self, exchange: RoundTrip) -> ModelCall:
        exchange.settle()
        asked, answer = exchange.demand.asked, exchange.answer
        # To the hour: tables remember what they were asked, and some prices change at night.
        moment = self._now().replace(minute=0, second=0, microsecond=0)
        cost = price_response(self._tables, asked, answer, moment)
        if cost is not None and cost.price_table is not None:
            self._price_tables[cost.price_table] = None
        is_sub_agent = self._is_sub_agent(exchange)
        first, started = exchange.first_token_at, exchange.started_at
        return ModelCall(
            dialect=exchange.way.dialect,
            requested_model=asked.model,
            model=answer.model,
            usage=answer.usage,
            reasoning_tokens=answer.reasoning_tokens,
            cost_usd=None if cost is None else cost.usd,
            http_status=exchange.http_status,
            failure=exchange.failure,
            started_at_seconds=started - self._opened_at,
            time_to_first_token_seconds=None if first is None or not asked.is_streamed else first - started,
            duration_seconds=(monotonic() if exchange.ended_at is None else exchange.ended_at) - started,
            components=attribute_tokens(self._markers.split(asked.parts), answer, is_sub_agent=is_sub_agent),
            tools=asked.tools,
            is_sub_agent=is_sub_agent,
        )

    def _is_sub_agent(self, exchange: RoundTrip) -> bool:
        """Agents may begin with what a tool is called with while the answer that calls it still goes on."""
        for other in self._under_way:
            if other is not exchange:
                self._conversations.hand_over(other.answer.handed_over())
        asked = exchange.demand.asked
        return asked.says_sub_agent or self._conversations.is_sub_agent(asked.opening)
