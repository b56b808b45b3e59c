"""Asks a provider how many tokens a request sent: after its answer broke off, or where only the count is wanted.

Only calls that are free are made, with the gateway's own key, and outside the limits of the run.
"""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
from aiohttp import ClientError, ClientSession, ClientTimeout
from aiohttp.web import BaseRequest
from yarl import URL

from outweigh.gateway.forward_request import prepare_request
from outweigh.gateway.outgoing_request import UpstreamError
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import count_at
from outweigh.ports.gateways import Dialect

COUNT_TIMEOUT_SECONDS = 5.0
_MAX_ANSWER_BYTES = 1 << 16

_COUNTED_KEYS = {
    Dialect.ANTHROPIC_MESSAGES: (
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "mcp_servers",
        "output_config",
    ),
    Dialect.OPENAI_RESPONSES: (
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning",
        "text",
        "truncation",
        "conversation",
        "previous_response_id",
    ),
}
"""What a count takes of a request; providers refuse any other key."""


def can_count(route: Route) -> bool:
    """Whether the provider counts what such a request sends, free of charge."""
    return route.dialect is not Dialect.OPENAI_CHAT


async def count_sent_tokens(
    session: ClientSession, request: BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
) -> int | None:
    """The provider's own count of all tokens that a request sent; None where it does not say in time."""
    asked, question = await asyncio.to_thread(_count_request, route, body)
    if upstream.service is not None and not upstream.service.serves(asked):
        return None
    try:
        outgoing = await prepare_request(session, request, asked, upstream, question)
        async with session.post(
            URL(outgoing.url, encoded=True),
            data=outgoing.body,
            headers=outgoing.headers,
            allow_redirects=False,  # another host must not get the key
            proxy=upstream.proxy,
            timeout=ClientTimeout(total=COUNT_TIMEOUT_SECONDS),
        ) as answer:
            content = await answer.content.read(_MAX_ANSWER_BYTES) if answer.status == 200 else b""
    except (ClientError, TimeoutError, OSError, ValueError, UpstreamError):
        return None
    decoded = try_decode_json(content)
    if not isinstance(decoded, dict):
        return None
    return count_at(decoded, "totalTokens" if route.dialect is Dialect.GEMINI else "input_tokens")


def _count_request(route: Route, body: bytes) -> tuple[Route, bytes]:
    """The route and the body of the question, from those of the request itself."""
    sent: dict[str, Any] = msgspec.json.decode(body)
    if route.dialect is Dialect.GEMINI:
        path = f"{route.path.rpartition(':')[0]}:countTokens"
        content: dict[str, Any] = {"generateContentRequest": {**sent, "model": f"models/{route.model}"}}
    else:
        count = "count_tokens" if route.dialect is Dialect.ANTHROPIC_MESSAGES else "input_tokens"
        path = f"{route.path.removesuffix('/compact')}/{count}"
        content = {key: sent[key] for key in _COUNTED_KEYS[route.dialect] if key in sent}
    return replace(route, purpose=RoutePurpose.COUNT, path=path), msgspec.json.encode(content)
