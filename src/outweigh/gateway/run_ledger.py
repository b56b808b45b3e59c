"""Everything that the gateway keeps about one run: its key, its limits, its calls so far and their cost."""

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
    """The limits and the calls of one run. Used only in the gateway's thread."""

    def __init__(
        self, request: MeterRequest, price_tables: PriceTables, secrets: Sequence[str], now: Callable[[], datetime]
    ) -> None:
        self.key = create_run_key()
        self.is_open = True
        self.body_limit = BodyLimit()
        self._unserved: dict[str, None] = {}
        self._price_tables = price_tables
        self._now = now
        self._opened_at = monotonic()
        self._limits = RunLimits(request.budget_usd, request.tokens)
        self._markers = MarkerSearch(request.markers)
        self._sub_agents = SubAgentDetector()
        self._traffic_log = TrafficLog((self.key, *secrets)) if request.keep_bodies else None
        self._used_tables: dict[str, None] = {}
        self._pending: list[RoundTrip] = []
        self._calls: list[ModelCall] = []

    def refusal_failure(self, request: GenerationRequest) -> Failure | None:
        """Why a request must not be sent; None when it may be."""
        prices = find_prices(self._price_tables, request.model)
        if self._limits.is_in_dollars and prices is None:
            return make_failure(
                FailureKind.UNKNOWN_MODEL,
                f"This run has a budget in dollars, and {request.model!r} is an unknown model: no price is listed. "
                "Nothing was sent. List it in the file that prices under [gateway] in the suite names.",
            )
        reached = self._limits.explain_excess(minimum_request_cost(request, prices))
        return None if reached is None else make_failure(FailureKind.BUDGET_REACHED, reached)

    def begin(self, round_trip: RoundTrip) -> None:
        """Note that a request is sent."""
        self._pending.append(round_trip)
        request = round_trip.request.parsed
        self._limits.reserve(round_trip, minimum_request_cost(request, find_prices(self._price_tables, request.model)))

    def end(self, round_trip: RoundTrip) -> None:
        """Note that its response has ended, successfully or not."""
        self._pending.remove(round_trip)
        self._close(round_trip)
        request, response = round_trip.request.parsed, round_trip.response
        prices = find_prices(self._price_tables, response.model, request.model)
        self._limits.record(round_trip, count_request_cost(request, response, prices))
        self._sub_agents.note_tool_arguments(response.tool_argument_strings())

    def refuse(self, round_trip: RoundTrip) -> None:
        """Note a request that was refused and not sent."""
        self._close(round_trip)

    @property
    def keeps_bodies(self) -> bool:
        """Whether bodies are logged."""
        return self._traffic_log is not None

    def note_unserved(self, what: str) -> None:
        """Note a request that the gateway does not support, each kind once and up to a limit."""
        if len(self._unserved) < MAX_UNSERVED:
            self._unserved[what[:MAX_UNSERVED_LENGTH]] = None

    def account(self) -> MeteredCalls:
        """All calls so far, including the current state of pending ones."""
        calls = [*self._calls, *(self._call(round_trip) for round_trip in self._pending)]
        return MeteredCalls(
            calls=tuple(sorted(calls, key=lambda call: call.started_at_seconds)),
            seen=frozenset(self._markers.seen),
            price_table=", ".join(self._used_tables) or None,
            bodies=b"" if self._traffic_log is None else self._traffic_log.lines(),
            unserved=tuple(self._unserved),
        )

    def _close(self, round_trip: RoundTrip) -> None:
        round_trip.end()
        self._calls.append(self._call(round_trip))
        if self._traffic_log is not None and round_trip.logged_response is not None:
            request = round_trip.request
            self._traffic_log.add(
                len(self._calls),
                round_trip.route.path,
                request.body,
                round_trip.http_status,
                round_trip.logged_response,
            )

    def _call(self, round_trip: RoundTrip) -> ModelCall:
        round_trip.read_pending()
        request, response = round_trip.request.parsed, round_trip.response
        # To the hour: price tables cache their answers, and some prices change at night.
        moment = self._now().replace(minute=0, second=0, microsecond=0)
        cost = price_response(self._price_tables, request, response, moment)
        if cost is not None and cost.price_table is not None:
            self._used_tables[cost.price_table] = None
        is_sub_agent = self._is_sub_agent(round_trip)
        first, started = round_trip.first_token_at, round_trip.started_at
        return ModelCall(
            dialect=round_trip.route.dialect,
            requested_model=request.model,
            model=response.model,
            usage=response.usage,
            reasoning_tokens=response.reasoning_tokens,
            cost_usd=None if cost is None else cost.usd,
            http_status=round_trip.http_status,
            failure=round_trip.failure,
            started_at_seconds=started - self._opened_at,
            time_to_first_token_seconds=None if first is None or not request.is_streamed else first - started,
            duration_seconds=(monotonic() if round_trip.ended_at is None else round_trip.ended_at) - started,
            components=attribute_tokens(self._markers.split(request.parts), response, is_sub_agent=is_sub_agent),
            tools=request.tools,
            is_sub_agent=is_sub_agent,
        )

    def _is_sub_agent(self, round_trip: RoundTrip) -> bool:
        """Whether a sub-agent sent this request; it may start while the response that calls the tool still arrives."""
        for other in self._pending:
            if other is not round_trip:
                self._sub_agents.note_tool_arguments(other.response.tool_argument_strings())
        request = round_trip.request.parsed
        return request.is_marked_sub_agent or self._sub_agents.is_sub_agent(request.first_user_texts)
