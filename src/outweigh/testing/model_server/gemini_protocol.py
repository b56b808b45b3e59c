"""Gemini: `generateContent` and `streamGenerateContent`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from outweigh.testing.model_server.model_protocol import (
    EVENT_STREAM_TYPE,
    content_texts,
    encode_event,
    only_mappings,
    required_list,
    system_entry,
)
from outweigh.testing.model_server.model_reply import ErrorReply, ModelReply, StopReason, split_stream
from outweigh.testing.model_server.model_request import (
    HistoryEntry,
    HistoryRole,
    HttpPost,
    Json,
    ModelRequest,
    OfferedTool,
    WireProtocol,
)

GEMINI_PATH = re.compile(r"/v1(?:beta|alpha)?/models/(?P<model>[^:]+):(?P<verb>generateContent|streamGenerateContent)")
_STOP = {
    StopReason.END: "STOP",
    StopReason.TOOL_CALLS: "STOP",
    StopReason.LENGTH: "MAX_TOKENS",
    StopReason.REFUSAL: "SAFETY",
}
_ROLES = {"user": HistoryRole.USER, "model": HistoryRole.MODEL}
_TYPE = "type.googleapis.com/google.rpc"


class GeminiProtocol:
    """Generated content, streamed or in one piece."""

    name = WireProtocol.GEMINI
    id_prefix = "gen_"

    def read(self, post: HttpPost) -> ModelRequest:
        """Read the path and body of a Gemini request."""
        body = post.body
        contents = required_list(body, "contents")
        path = GEMINI_PATH.fullmatch(post.path)
        model, verb = (path["model"], path["verb"]) if path else ("", "")
        return ModelRequest(
            protocol=self.name,
            model=model,
            stream=verb == "streamGenerateContent",
            history=(system_entry(_field(body, "systemInstruction")), *map(_entry, contents)),
            tools=tuple(_tools(body)),
            session="",
            api_key=post.api_key,
            output_schema=_output_schema(body),
            as_events=post.query.get("alt") == "sse",
        )

    def whole(self, request: ModelRequest, reply: ModelReply) -> Json:  # noqa: ARG002 - the answer alone says all
        """A complete response."""
        return _answer(reply, list(_parts(reply)), ended=True)

    def events(self, request: ModelRequest, reply: ModelReply) -> Iterator[bytes]:
        """The parts of a response, as events or, without `alt=sse`, as the items of one array."""
        chunks = list(_chunks(reply))
        for number, chunk in enumerate(chunks):
            if request.as_events:
                yield encode_event(chunk)
            else:
                before, after = b"[" if number == 0 else b",\n", b"]" if number == len(chunks) - 1 else b""
                yield before + msgspec.json.encode(chunk) + after

    def stream_type(self, request: ModelRequest) -> str:
        """Server-sent events if the client asked for them, else one array."""
        return EVENT_STREAM_TYPE if request.as_events else "application/json; charset=UTF-8"

    def error_body(self, failure: ErrorReply, number: int) -> Json:  # noqa: ARG002 - the request's number goes into a header
        """An error object as Google sends it."""
        error: Json = {"code": failure.status, "message": failure.message, "status": failure.type}
        details = list(_details(failure))
        return {"error": error | ({"details": details} if details else {})}

    def error_headers(self, failure: ErrorReply, now: float) -> dict[str, str]:  # noqa: ARG002
        """No headers: Google says in the body when to retry."""
        return {}

    def error_event(self, failure: ErrorReply, reply: ModelReply) -> bytes:
        """An error instead of the next chunk."""
        return encode_event(self.error_body(failure, reply.number))


def _details(failure: ErrorReply) -> Iterator[Json]:
    if failure.code == "API_KEY_INVALID":
        yield {"@type": f"{_TYPE}.ErrorInfo", "reason": failure.code, "domain": "googleapis.com"}
    elif failure.code is not None:
        metric = "generativelanguage.googleapis.com/generate_content_requests"
        yield {"@type": f"{_TYPE}.QuotaFailure", "violations": [{"quotaMetric": metric, "quotaId": failure.code}]}
    if failure.retry_after_seconds is not None:
        yield {"@type": f"{_TYPE}.RetryInfo", "retryDelay": f"{failure.retry_after_seconds:g}s"}


def _field(holder: Mapping[str, Any], name: str) -> Any:
    """A field by its name, in either of the spellings that Google accepts: `thisOne` or `this_one`."""
    return holder.get(name, holder.get(re.sub("[A-Z]", lambda capital: f"_{capital[0].lower()}", name)))


def _entry(content: Mapping[str, Any]) -> HistoryEntry:
    parts = content.get("parts")
    calls = (part.get("functionCall") for part in only_mappings(parts))
    return HistoryEntry(
        role=_ROLES.get(str(content.get("role", "user")), HistoryRole.OTHER),
        texts=tuple(content_texts(parts)),
        call_ids=tuple(str(call.get("id")) for call in calls if isinstance(call, Mapping)),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[OfferedTool]:
    for group in only_mappings(body.get("tools")):
        for function in only_mappings(_field(group, "functionDeclarations")):
            schema = _field(function, "parametersJsonSchema") or function.get("parameters")
            yield OfferedTool(name=str(function.get("name", "")), schema=schema if isinstance(schema, Mapping) else {})


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    settings = _field(body, "generationConfig")
    if not isinstance(settings, Mapping) or _field(settings, "responseMimeType") != "application/json":
        return None
    schema = _field(settings, "responseJsonSchema") or _field(settings, "responseSchema")
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def _chunks(reply: ModelReply) -> Iterator[Json]:
    parts = list(_parts(reply, in_pieces=True))
    yield from (_answer(reply, [part], ended=False) for part in parts[:-1])
    yield _answer(reply, parts[-1:], ended=True)


def _parts(reply: ModelReply, *, in_pieces: bool = False) -> Iterator[Json]:
    split = split_stream if in_pieces else _unsplit
    yield from ({"text": piece, "thought": True} for piece in split(reply.thinking))
    if reply.stop is not StopReason.REFUSAL:  # a blocked answer has no content
        yield from ({"text": piece} for piece in split(reply.text))
    for call in reply.calls:
        yield {"functionCall": {"id": call.id, "name": call.name, "args": dict(call.arguments)}}


def _unsplit(text: str) -> Iterator[str]:
    yield from filter(None, [text])


def _answer(reply: ModelReply, parts: list[Json], *, ended: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if ended and reply.billing.searches:
        queries = [f"search {number}" for number in range(reply.billing.searches)]
        candidate["groundingMetadata"] = {"webSearchQueries": queries}
    return {
        "candidates": [candidate | ({"finishReason": _STOP[reply.stop]} if ended else {})],
        "usageMetadata": _usage(reply, ended=ended),
        "modelVersion": reply.model,
        "responseId": reply.id(GeminiProtocol.id_prefix),
    }


def _usage(reply: ModelReply, *, ended: bool) -> Json:
    """Google counts cached tokens as part of the prompt, and thoughts apart from the answer; zeros are left out."""
    tokens = reply.tokens
    made = tokens.output_tokens if ended else 0
    thoughts = tokens.reasoning_tokens if ended else 0
    optional = {
        "cachedContentTokenCount": tokens.cache_read_tokens,
        "candidatesTokenCount": made - thoughts,
        "thoughtsTokenCount": thoughts,
    }
    return {
        "promptTokenCount": tokens.prompt_tokens,
        "totalTokenCount": tokens.prompt_tokens + made,
        **({} if reply.billing.service_tier is None else {"serviceTier": reply.billing.service_tier}),
        **{name: count for name, count in optional.items() if count},
    }
