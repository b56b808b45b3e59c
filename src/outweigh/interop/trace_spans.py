"""Spans of traced agents, in one form: what all spans of a run come to, and the attributes of the two conventions.

The conventions are those of OpenTelemetry for generative AI (`gen_ai.…`) and OpenInference (`llm.…`). A span that
contains another request to a model, such as a wrapper's, is not counted beside it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from outweigh.interop.evaluated_cases import Assessment, EvaluatedCase
from outweigh.interop.field_values import known_sum
from outweigh.interop.imported_run import LATEST_TIME, real_agent
from outweigh.model.json_text import decode_json
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str, strings_in
from outweigh.model.usage import NO_USAGE, Usage, reported_cost, sum_usage
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty


class SpanKind(StrEnum):
    """What a span is about, as far as it matters for counting."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpan:
    """One span; `error` is why it failed. `cost_usd` and `usage` are those of the span itself."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: SpanKind = SpanKind.OTHER
    started_at: datetime | None = None
    ended_at: datetime | None = None
    model: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    usage: Usage = NO_USAGE
    cost_usd: float | None = None
    error: str | None = None
    inputs: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    assessments: Mapping[str, Assessment] = field(default_factory=dict)

    @property
    def duration_seconds(self) -> float | None:
        """How long it took; None if either end is unknown."""
        if self.started_at is None or self.ended_at is None:
            return None
        return as_amount((self.ended_at - self.started_at).total_seconds())


def group_traces(spans: Iterable[TraceSpan]) -> dict[str, list[TraceSpan]]:
    """Spans by trace, each once, in the order of time."""
    found: dict[str, dict[str, TraceSpan]] = {}
    for span in spans:
        found.setdefault(span.trace_id, {}).setdefault(span.span_id, span)
    return {
        trace: sorted(by_id.values(), key=lambda span: (span.started_at or LATEST_TIME, span.span_id))
        for trace, by_id in found.items()
    }


def split_runs(spans: Sequence[TraceSpan]) -> Iterator[list[TraceSpan]]:
    """The runs in a trace, each with its outermost span first.

    A trace is one run, unless it contains several agents that were called one after the other, as a script does that
    works through all its tasks in one trace.
    """
    tree = _SpanTree(spans)
    agents = [span for span in spans if span.kind is SpanKind.AGENT and not tree.is_within(span, SpanKind.AGENT)]
    if len(agents) > 1:
        yield from ([agent, *tree.below(agent)] for agent in agents)
        return
    root = next((span for span in spans if tree.parent(span) is None), spans[0])
    yield [root, *(span for span in spans if span is not root)]


def run_case(spans: Sequence[TraceSpan], *, arm: str, settings: Any, **known: Any) -> EvaluatedCase:
    """The case of a run, from its spans with the outermost first. `known` are further fields of the case."""
    root, tree = spans[0], _SpanTree(spans)
    requests = [span for span in spans if span.kind is SpanKind.MODEL and not tree.contains_request(span)]
    counted = requests or [span for span in spans if span.kind is SpanKind.AGENT][:1]
    models = list(dict.fromkeys(span.model for span in spans if span.model))
    agent = next((span for span in spans if span.agent), root)
    fields: dict[str, Any] = {
        "run_id": root.trace_id,
        "place": root.span_id,
        "inputs": first_known(span.inputs for span in spans),
        "assessments": merge_assessments(span.assessments for span in spans),
        "cells": root.attributes,
        "agent": real_agent(agent.agent, agent.agent_version, models[0] if models else None),
        "trace_id": root.trace_id,
        "failure": root.error,
        "started_at": root.started_at,
        "duration_seconds": root.duration_seconds,
        "usage": usage_unless_empty(sum_usage([span.usage for span in counted])),
        "cost": reported_cost(known_sum(span.cost_usd for span in counted) or None),
        "step_count": len(requests) or None,
        "tool_call_count": sum(span.kind is SpanKind.TOOL for span in spans) if requests else None,
        "kept": {"models": models if len(models) > 1 else None},
    }
    return EvaluatedCase(arm=arm, settings=settings, **(fields | known))


def first_known(values: Iterable[Any]) -> Any:
    """The first value that is there."""
    return next((value for value in values if value is not None), None)


def merge_assessments(found: Iterable[Mapping[str, Assessment]]) -> dict[str, Assessment]:
    """The assessments of several spans; a scorer that said different things counts as unknown."""
    merged: dict[str, Assessment] = {}
    for assessments in found:
        for scorer, each in assessments.items():
            if merged.setdefault(scorer, each).value != each.value:
                merged[scorer] = Assessment(value=None, error="assessed more than once, with different values")
    return merged


class _SpanTree:
    """Which span is within which."""

    def __init__(self, spans: Sequence[TraceSpan]) -> None:
        self._spans = spans
        self._by_id = {span.span_id: span for span in spans}
        self._holding_requests = {
            above.span_id for span in spans if span.kind is SpanKind.MODEL for above in self._above(span)
        }

    def parent(self, span: TraceSpan) -> TraceSpan | None:
        return None if span.parent_id is None else self._by_id.get(span.parent_id)

    def is_within(self, span: TraceSpan, kind: SpanKind) -> bool:
        return any(above.kind is kind for above in self._above(span))

    def contains_request(self, span: TraceSpan) -> bool:
        return span.span_id in self._holding_requests

    def below(self, span: TraceSpan) -> list[TraceSpan]:
        return [each for each in self._spans if any(above is span for above in self._above(each))]

    def _above(self, span: TraceSpan) -> Iterator[TraceSpan]:
        seen = {span.span_id}
        found = self.parent(span)
        while found is not None and found.span_id not in seen:
            yield found
            seen.add(found.span_id)
            found = self.parent(found)


_MODEL_OPERATIONS = frozenset({"chat", "text_completion", "generate_content"})
_OPENINFERENCE_KINDS = {"LLM": SpanKind.MODEL, "TOOL": SpanKind.TOOL, "AGENT": SpanKind.AGENT}
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")


def attribute_fields(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What the attributes of a span say, as fields of a TraceSpan."""
    return {
        "kind": _kind(attributes),
        "model": _first_name(attributes, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
        "agent": _first_name(attributes, "gen_ai.agent.name", "agent.name"),
        "agent_version": _first_name(attributes, "gen_ai.agent.version"),
        "usage": _usage(attributes),
        "cost_usd": first_known(as_amount(attributes.get(name)) for name in _COSTS),
        "inputs": _inputs(attributes),
    }


def _kind(attributes: Mapping[str, Any]) -> SpanKind:
    operation = as_str(attributes.get("gen_ai.operation.name"))
    if operation is not None:
        if operation in _MODEL_OPERATIONS:
            return SpanKind.MODEL
        return {"execute_tool": SpanKind.TOOL, "invoke_agent": SpanKind.AGENT}.get(operation, SpanKind.OTHER)
    stated = as_str(attributes.get("openinference.span.kind"))
    return _OPENINFERENCE_KINDS.get((stated or "").upper(), SpanKind.OTHER)


def _usage(attributes: Mapping[str, Any]) -> Usage:
    """The tokens. Both conventions count the cache as input, too; if its size is not stated, input is unknown."""
    read = _first_count(attributes, "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
    written = _first_count(
        attributes, "gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"
    )
    given = _first_count(
        attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"
    )
    return Usage(
        input_tokens=None if read is None else subtract_counts(given, read, written or 0),
        output_tokens=_first_count(
            attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"
        ),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _inputs(attributes: Mapping[str, Any]) -> Any:
    messages = first_known(attributes.get(name) for name in ("gen_ai.input.messages", "gen_ai.prompt"))
    asked = None if messages is None else first_user_text(decode_text(messages))
    return asked if asked is not None else decode_text(attributes.get("input.value"))


def decode_text(value: Any) -> Any:
    """A text that is JSON, decoded; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return decode_json(value.encode("utf-8", "replace"))
    except ValueError:
        return value


def first_user_text(messages: Any) -> str | None:
    """What the user said first, in a list of messages of any of the usual forms."""
    for message in map(as_dict, as_list(messages)):
        if message.get("role") == "user":
            said = first_known(message.get(key) for key in ("content", "parts"))
            texts = [said] if isinstance(said, str) else [*_texts(said)]
            return "\n".join(texts) or None
    return None


def _texts(parts: Any) -> Iterator[str]:
    for part in as_list(parts):
        held = as_dict(part)
        found = held.get("content", held.get("text", part if isinstance(part, str) else None))
        yield from strings_in(found)


def _first_name(attributes: Mapping[str, Any], *names: str) -> str | None:
    found: str | None = first_known(as_name(attributes.get(name)) for name in names)
    return found


def _first_count(attributes: Mapping[str, Any], *names: str) -> int | None:
    found: int | None = first_known(as_count(attributes.get(name)) for name in names)
    return found
