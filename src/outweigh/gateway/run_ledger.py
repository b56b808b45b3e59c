"""Everything that the gateway keeps about one run: its key, its limits, its calls so far and their cost.

A request counts against the limits with what it may cost at most until its real cost is known.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic

from outweigh.gateway.call_estimates import CallEstimates
from outweigh.gateway.conversation_steps import MeteredConversation
from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.gateway.request_body import BodyLimit
from outweigh.gateway.request_cost import (
    BILLED_BY_TOKENS,
    RequestCost,
    count_request_cost,
    find_prices,
    hosted_uses,
    listed_bills,
    minimum_request_cost,
    requested_bill,
    response_bills,
)
from outweigh.gateway.request_parsing import ParsedRequest, Route, parse_request
from outweigh.gateway.request_tokens import RequestTokens
from outweigh.gateway.round_trip import RoundTrip, TrafficLog
from outweigh.gateway.token_attribution import MarkerSearch, SubAgentDetector, attribute_tokens
from outweigh.gateway.upstream import ModelUpstream, create_run_key, provider_name
from outweigh.model.bill import Charge, charge_at, price_bills, price_hosted, unpriced_tool
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.model_name import matches_any
from outweigh.model.pricing import ModelPrices, PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.usage import ZERO_USAGE, BilledUsage
from outweigh.ports.gateways import AnswerLimit, MeteredCalls, MeterRequest, ModelCall


class RunLimits:
    """The limits of a run and what counts against them: what is spent, and the least that pending requests cost."""

    def __init__(self, budget_usd: float | None, tokens: int | None) -> None:
        self._budget_usd = budget_usd
        self._tokens = tokens
        self._spent = RequestCost(0.0, 0)
        self._reserved: dict[object, RequestCost] = {}

    @property
    def is_in_dollars(self) -> bool:
        """Whether there is a limit in dollars, which needs known prices."""
        return self._budget_usd is not None

    def explain_excess(self, least: RequestCost) -> str | None:
        """Why a request with at least this cost must not be sent; None when it may be."""
        total = self._total()
        if self._budget_usd is not None and total.usd + least.usd >= self._budget_usd:
            return _limit_message(f"${total.usd:.4f}", f"${self._budget_usd:.4f}", "budget_usd")
        if self._tokens is not None and total.tokens + least.tokens >= self._tokens:
            return _limit_message(f"{total.tokens} tokens", f"{self._tokens}", "tokens")
        return None

    def reserve(self, request: object, least: RequestCost) -> None:
        """Count the least cost of a request from the moment it is sent."""
        self._reserved[request] = least

    def record(self, request: object, charge: RequestCost) -> None:
        """Replace the reserved cost of a request by its real one."""
        del self._reserved[request]
        self._spent = RequestCost(self._spent.usd + charge.usd, self._spent.tokens + charge.tokens)

    def _total(self) -> RequestCost:
        reserved = self._reserved.values()
        return RequestCost(
            self._spent.usd + sum(charge.usd for charge in reserved),
            self._spent.tokens + sum(one.tokens for one in reserved),
        )


def _limit_message(taken: str, cap: str, key: str) -> str:
    return (
        f"This run has reached its cap: {taken} of {cap} are taken, and this request would take more than is left. "
        f"It was not sent. The cap is {key} under [limits] in the suite."
    )


MAX_UNSERVED = 100
MAX_UNSERVED_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """What a run may ask its provider for: its own models, and nothing that the provider itself runs or fetches.

    A provider's own tools are a network: a hosted search, a fetched address or a remote tool server reaches what the
    sandbox keeps out, and another model is another arm. So whatever the suite does not allow is refused and not sent.
    `models` are patterns of the models that may be asked, None for any; `allow` is the suite's own list.
    """

    models: tuple[str, ...] | None
    allow: tuple[str, ...]

    def explain_refusal(self, request: GenerationRequest) -> str | None:
        """Why a request must not be sent, as a sentence for the client and the record; None when it may be."""
        for name in request.hosted:
            if name not in self.allow:
                return (
                    f"This run may not use {name!r} of the provider, which reaches beyond its sandbox. The request was "
                    f'not sent. To allow it, add it to the suite: allow = ["{name}"] under [gateway].'
                )
        for model in filter(None, (request.model, *request.fallback_models)):
            if self.models is not None and not matches_any(model, (*self.models, *self.allow)):
                return (
                    f"This run may not ask the model {model!r}: its arm names {self.models[0]!r}. The request was not "
                    f'sent. To allow it, add it to the suite: allow = ["{model}"] under [gateway].'
                )
        return None


class _CountedAnswers:
    """The answers of a run that is over after some of them; all runs without such a limit go on."""

    def __init__(self, limit: AnswerLimit | None) -> None:
        self._limit = limit
        self._count = 0

    def note(self, round_trip: RoundTrip, *, is_sub_agent: bool) -> None:
        """Count an answer, and end the run where it calls a tool as its last one."""
        if self._limit is None or is_sub_agent or not _answers_the_task(round_trip):
            return
        self._count += 1
        if self._count >= self._limit.answers and any(True for _ in round_trip.response.called_tools()):
            self._limit.stop.stop()

    def refusal_failure(self, pending: Iterable[RoundTrip]) -> Failure | None:
        """Why nothing more may be sent; an answer that has just been forwarded counts, too."""
        if self._limit is None or self._count + sum(map(_answers_the_task, pending)) < self._limit.answers:
            return None
        self._limit.stop.stop()
        said = "This run is over: it only asks whether a skill is used, and has its answer. Nothing was sent."
        return make_failure(FailureKind.NOT_ALLOWED, said)


def _answers_the_task(round_trip: RoundTrip) -> bool:
    """Whether this is a complete answer to a request that offers tools; others ask for titles and summaries."""
    return bool(round_trip.request.parsed.tools) and round_trip.response.is_complete and round_trip.failure is None


class RunLedger:
    """The limits and the calls of one run. Used only in the gateway's thread, except for `read_request`."""

    def __init__(
        self,
        request: MeterRequest,
        price_tables: PriceTables,
        upstreams: Mapping[ApiFamily, ModelUpstream],
        now: Callable[[], datetime],
    ) -> None:
        self.key = create_run_key()
        self.upstreams = upstreams
        self.provider_name = request.provider
        self.is_open = True
        self.body_limit = BodyLimit()
        self.estimates = CallEstimates(self._price)
        self.request_tokens = RequestTokens()
        self._unserved: dict[str, None] = {}
        self._price_tables = price_tables
        self._now = now
        self._opened_at = monotonic()
        self._policy = RequestPolicy(models=request.models, allow=request.allow)
        self._limits = RunLimits(request.budget_usd, request.tokens)
        self._markers = MarkerSearch(request.markers)
        self._seen: set[str] = set()
        self._sub_agents = SubAgentDetector()
        secrets = [secret for upstream in upstreams.values() for secret in upstream.secrets]
        self._traffic_log = TrafficLog((self.key, *secrets)) if request.keep_bodies else None
        self._used_tables: dict[str, None] = {}
        self._pending: list[RoundTrip] = []
        self._conversation = MeteredConversation()
        self._calls: list[ModelCall] = []
        self._answers = _CountedAnswers(request.answer_limit)

    def read_request(self, route: Route, body: bytes) -> ParsedRequest:
        """Read a request and search it for markers, in the run's own thread and for one request at a time."""
        request = parse_request(route, body)
        measured = self._markers.measure(request.parsed)
        return replace(request, parsed=self._conversation.without_known_results(measured))

    def policy_failure(self, request: GenerationRequest) -> Failure | None:
        """Why the run may not ask for this at all; None when it may."""
        refused = self._policy.explain_refusal(request)
        return None if refused is None else make_failure(FailureKind.NOT_ALLOWED, refused)

    def refusal_failure(self, request: GenerationRequest) -> Failure | None:
        """Why a request must not be sent; None when it may be."""
        if (not_allowed := self.policy_failure(request)) is not None:
            return not_allowed
        if (over := self._answers.refusal_failure(self._pending)) is not None:
            return over
        prices = find_prices(self._price_tables, self._hour(), request.model)
        if self._limits.is_in_dollars and prices is None:
            return make_failure(
                FailureKind.UNKNOWN_MODEL,
                f"This run has a budget in dollars, and {request.model!r} is an unknown model: no price is listed. "
                f"Nothing was sent. List it in the file that prices under {self._price_table()} in the suite names.",
            )
        unpriced = self._unpriced(request, prices)
        if self._limits.is_in_dollars and unpriced:
            return make_failure(
                FailureKind.NOT_ALLOWED, f"This run has a budget in dollars, and {unpriced}. Nothing was sent."
            )
        reached = self._limits.explain_excess(minimum_request_cost(request, prices))
        return None if reached is None else make_failure(FailureKind.BUDGET_REACHED, reached)

    def _unpriced(self, request: GenerationRequest, prices: ModelPrices | None) -> str:
        """Why a request could not be priced as it is asked for; empty where it could."""
        for tool in sorted(set(request.hosted) - BILLED_BY_TOKENS):
            if self._price_tables.hosted_price(tool, 1, 1, request.model, self._hour()) is None:
                return unpriced_tool(tool)
        return "" if prices is None else charge_at(requested_bill(request, ZERO_USAGE), prices, "").reason

    def _price_table(self) -> str:
        return "[gateway]" if self.provider_name is None else f"[providers.{self.provider_name}]"

    def begin(self, round_trip: RoundTrip) -> None:
        """Note that a request is sent."""
        self._pending.append(round_trip)
        request = self._conversation.take_results(round_trip.request.parsed)
        round_trip.request = replace(round_trip.request, parsed=request)
        prices = find_prices(self._price_tables, self._hour(), request.model)
        self._limits.reserve(round_trip, minimum_request_cost(request, prices))

    def end(self, round_trip: RoundTrip) -> int | None:
        """Note that its response has ended, successfully or not; returns its place where what it sent is unknown."""
        self._pending.remove(round_trip)
        self._close(round_trip)
        request, response = round_trip.request.parsed, round_trip.response
        prices = find_prices(self._price_tables, self._hour(), response.model, request.model)
        counted = count_request_cost(request, response, prices)
        hosted = self._hosted_usd(response_bills(request, response)[0])
        self._limits.record(round_trip, RequestCost(counted.usd + hosted, counted.tokens))
        self._sub_agents.note_tool_arguments(response.tool_argument_strings())
        self._answers.note(round_trip, is_sub_agent=self._calls[-1].is_sub_agent)
        place = len(self._calls) - 1
        return place if self.estimates.lacks_count(place) else None

    def _hosted_usd(self, bill: BilledUsage) -> float:
        """The most that the provider's own tools cost, 0 where that is unknown or part of what the provider states."""
        if bill.provider_usd is not None:
            return 0.0
        return price_hosted(bill, self._price_tables, self._hour()).high_usd or 0.0

    def _hour(self) -> datetime:
        """Now, to the hour: price tables cache their answers, and some prices change at night."""
        return self._now().replace(minute=0, second=0, microsecond=0)

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
        for place, estimate in self.estimates.by_place():
            calls[place] = replace(calls[place], estimate=estimate)
        return MeteredCalls(
            calls=tuple(sorted(calls, key=lambda call: call.started_at_seconds)),
            seen=frozenset(self._seen),
            price_table=", ".join(self._used_tables) or None,
            bodies=b"" if self._traffic_log is None else self._traffic_log.lines(),
            unserved=tuple(self._unserved),
            is_plan=any(upstream.is_plan for upstream in self.upstreams.values()),
            conversation=self._conversation.steps(),
        )

    def _close(self, round_trip: RoundTrip) -> None:
        round_trip.end()
        call = self._call(round_trip)
        self._calls.append(call)
        self._conversation.note_response(round_trip, is_sub_agent=call.is_sub_agent, model=call.model)
        self.estimates.note(len(self._calls) - 1, round_trip)
        if self._traffic_log is not None and round_trip.logged_response is not None:
            request = round_trip.request
            self._traffic_log.add(
                len(self._calls),
                round_trip.route.path,
                request.body,
                round_trip.http_status,
                round_trip.logged_response,
                round_trip.counted_input,
            )

    def _price(self, request: GenerationRequest, response: GenerationResponse) -> float | None:
        return self._charge(listed_bills(self._price_tables, request, response, self._hour())).usd

    def _charge(self, bills: Iterable[BilledUsage]) -> Charge:
        charge = price_bills(bills, self._price_tables, self._hour())
        if charge.usd is not None:
            self._used_tables |= dict.fromkeys(charge.tables)
        return charge

    def _call(self, round_trip: RoundTrip) -> ModelCall:
        round_trip.read_pending()
        request, response = round_trip.request.parsed, round_trip.response
        self._seen |= request.markers
        bills = listed_bills(self._price_tables, request, response, self._hour())
        charge = self._charge(bills)
        is_sub_agent = self._is_sub_agent(round_trip)
        first, started = round_trip.first_token_at, round_trip.started_at
        served_by = round_trip.served_by
        return ModelCall(
            dialect=round_trip.route.dialect,
            requested_model=request.model,
            model=response.model if served_by is None else served_by.our_model_name(response.model),
            usage=response.usage,
            reasoning_tokens=response.reasoning_tokens,
            cost_usd=charge.usd,
            http_status=round_trip.http_status,
            failure=round_trip.failure,
            started_at_seconds=started - self._opened_at,
            time_to_first_token_seconds=None if first is None or not request.is_streamed else first - started,
            duration_seconds=(monotonic() if round_trip.ended_at is None else round_trip.ended_at) - started,
            components=attribute_tokens(request.parts, response, is_sub_agent=is_sub_agent),
            tools=request.tools,
            is_sub_agent=is_sub_agent,
            hosted_uses=dict(hosted_uses(request, response)),
            fallback_models=request.fallback_models,
            provider=None if served_by is None else provider_name(round_trip.route.provider, served_by),
            host=None if served_by is None else served_by.host,
            deferred_tools=request.deferred_tools,
            billed=bills,
            charge=charge,
        )

    def _is_sub_agent(self, round_trip: RoundTrip) -> bool:
        """Whether a sub-agent sent this request; it may start while the response that calls the tool still arrives."""
        for other in self._pending:
            if other is not round_trip:
                self._sub_agents.note_tool_arguments(other.response.tool_argument_strings())
        request = round_trip.request.parsed
        return request.is_marked_sub_agent or self._sub_agents.is_sub_agent(request.first_user_texts)
