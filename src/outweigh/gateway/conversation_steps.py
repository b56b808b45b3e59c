"""The steps of a run as its requests and responses show them, for agents that do not report their own.

Every response is one step, however often later requests repeat it: a compacted history or a sub-agent's is not counted
again. What is kept of a run is bounded.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from outweigh.gateway.dialects.request_and_response import CalledTool, GenerationRequest, ToolResult
from outweigh.gateway.round_trip import RoundTrip
from outweigh.model.usage import Usage
from outweigh.ports.gateways import MeteredSteps
from outweigh.transcript.atif import AtifStep, metrics_from_usage
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

MAX_TEXT = 8 << 20
"""Characters of all texts of a run that are kept; of later ones only that they were there."""

MAX_RESULT = 64 << 10
"""Characters of one result of a tool."""

MAX_RESPONSES = 10_000
"""Responses whose steps are kept; later ones are only counted."""

SUB_AGENT = "sub-agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Response:
    """What is kept of one response. `asked` is what the user said first in its conversation."""

    started_at: float
    offered_tools: bool
    is_sub_agent: bool
    asked: tuple[str, ...]
    text: str
    thoughts: str
    calls: tuple[CalledTool, ...]
    model: str | None
    usage: Usage


class MeteredConversation:
    """Collects the responses of one run, and the results of tools that later requests bring.

    `without_known_results` runs in the thread that reads requests, everything else in the gateway's.
    """

    def __init__(self) -> None:
        self._responses: list[_Response] = []
        self._counted = {True: 0, False: 0}
        self._calls = {True: 0, False: 0}
        self._results: dict[str, ToolResult] = {}
        self._known_results: set[str] = set()
        self._begun: set[int] = set()
        self._text_left = MAX_TEXT

    def without_known_results(self, request: GenerationRequest) -> GenerationRequest:
        """The request with the results that no earlier one had; each request repeats those before it."""
        new = []
        for result in request.tool_results:
            if result.call_id not in self._known_results and len(self._known_results) < MAX_RESPONSES:
                self._known_results.add(result.call_id)
                new.append(result._replace(content=result.content[:MAX_RESULT]))
        return replace(request, tool_results=tuple(new))

    def take_results(self, request: GenerationRequest) -> GenerationRequest:
        """Keep the results that a request brings; returns the request without them, which may be kept for long."""
        for result in request.tool_results:
            self._results[result.call_id] = result._replace(content=self._kept(result.content))
        return replace(request, tool_results=())

    def note_response(self, round_trip: RoundTrip, *, is_sub_agent: bool, model: str | None) -> None:
        """Keep a response that is complete; one that broke off is asked for again, and that one counts."""
        request, response = round_trip.request.parsed, round_trip.response
        if not response.is_complete or round_trip.failure is not None:
            return
        calls, offered = tuple(response.called_tools()), bool(request.tools)
        self._counted[offered] += 1
        self._calls[offered] += len(calls)
        if len(self._responses) >= MAX_RESPONSES:
            return
        begun = hash(request.first_user_texts)
        begins = begun not in self._begun
        self._begun.add(begun)
        self._responses.append(
            _Response(
                started_at=round_trip.started_at,
                offered_tools=offered,
                is_sub_agent=is_sub_agent,
                asked=tuple(map(self._kept, request.first_user_texts)) if begins else (),
                text=self._kept(response.text),
                thoughts=self._kept(response.thoughts),
                calls=tuple(call if self._kept(call.arguments) else call._replace(arguments="") for call in calls),
                model=model,
                usage=response.usage,
            )
        )

    def steps(self) -> MeteredSteps | None:
        """All steps; None where no response was complete.

        Responses to requests without tools are left out where others offer some: titles, summaries, looks at a quota.
        """
        works_with_tools = self._counted[True] > 0
        if not self._counted[works_with_tools]:
            return None
        kept = [response for response in self._responses if response.offered_tools is works_with_tools]
        return MeteredSteps(
            count=self._counted[works_with_tools],
            tool_calls=self._calls[True] if works_with_tools else None,
            steps=tuple(self._build(sorted(kept, key=lambda response: response.started_at))),
        )

    def _build(self, responses: list[_Response]) -> Iterator[AtifStep]:
        builder, called = TrajectoryBuilder(), Counter[str]()
        for response in responses:
            if response.asked and not response.is_sub_agent:
                builder.add("user", "\n\n".join(response.asked))
            builder.close()
            builder.say(response.text)
            if response.thoughts:
                builder.think(response.thoughts)
            for call in response.calls:
                called[call.call_id] += 1
                repeated = called[call.call_id] - 1  # some servers count from 0 again in every response
                call_id = f"{call.call_id}#{repeated}" if repeated else call.call_id
                builder.call(call_id, call.name, call.parsed_arguments())
            sub_agent = SUB_AGENT if response.is_sub_agent else None
            builder.note(model=response.model, metrics=metrics_from_usage(response.usage), sub_agent=sub_agent)
        for result in self._results.values():
            if result.call_id in called:
                builder.result(result.call_id, result.content, result.is_error)
        yield from builder.steps()

    def _kept(self, text: str) -> str:
        """The text, or nothing where the run has kept as much as it may."""
        if len(text) > self._text_left:
            return ""
        self._text_left -= len(text)
        return text
