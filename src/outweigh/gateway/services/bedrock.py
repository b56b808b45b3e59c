"""Claude on Amazon Bedrock: Messages requests as `InvokeModel`, signed with AWS keys, and AWS's frames as events."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from outweigh.gateway.outgoing_request import (
    ClientRequest,
    HeaderPairs,
    OutgoingRequest,
    ResponseTranslator,
    UnreadableResponseError,
)
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.services.aws_event_stream import EventFrame, EventFrameParser
from outweigh.gateway.services.aws_signature import AwsCredentials, AwsScope, amz_date, authorization_header
from outweigh.gateway.services.claude_requests import accepted_betas, headers_without_version, split_model
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import str_at

if TYPE_CHECKING:
    from aiohttp import ClientSession

ANTHROPIC_VERSION = "bedrock-2023-05-31"
_FRAMES = "application/vnd.amazon.eventstream"
_SERVICE = "bedrock"
_METRICS = "amazon-bedrock-invocationMetrics"
_ERROR_TYPES = {
    "throttlingException": "rate_limit_error",
    "serviceUnavailableException": "overloaded_error",
    "modelTimeoutException": "timeout_error",
    "validationException": "invalid_request_error",
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class BedrockService:
    """Bedrock in one region, reached with AWS keys, or with one of its own API keys."""

    def __init__(
        self, url: str, region: str, credentials: AwsCredentials | str, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self._url = url.rstrip("/")
        self._scope = AwsScope(region=region, service=_SERVICE)
        self._credentials = credentials
        self._now = now

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys."""
        if isinstance(self._credentials, str):
            return (self._credentials,)
        return (self._credentials.secret_access_key, self._credentials.session_token or "")

    def serves(self, route: Route) -> bool:
        """Whether it has such requests: it generates, and neither counts tokens nor lists models in Anthropic's way."""
        return route.purpose is RoutePurpose.GENERATE

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:  # noqa: ARG002
        """Name the model in the path, the version and the beta features in the body, and sign all of it."""
        model, content = split_model(request)
        is_streamed = content.pop("stream", False) is True
        betas = accepted_betas(request)
        content |= {"anthropic_version": ANTHROPIC_VERSION, **({"anthropic_beta": betas} if betas else {})}
        verb = "invoke-with-response-stream" if is_streamed else "invoke"
        url = f"{self._url}/model/{quote(model, safe='')}/{verb}"
        headers = [*headers_without_version(request), ("accept", _FRAMES if is_streamed else "application/json")]
        body = msgspec.json.encode(content)
        headers += self._authorization(url, body)
        return OutgoingRequest(method="POST", url=url, headers=headers, body=body)

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:
        """Frames become server-sent events; a single response is Anthropic's own already."""
        return FrameTranslator() if headers.get("Content-Type", "").startswith(_FRAMES) else None

    def _authorization(self, url: str, body: bytes) -> HeaderPairs:
        keys = self._credentials
        if isinstance(keys, str):
            return [("authorization", f"Bearer {keys}")]
        at = self._now()
        added = {"x-amz-date": amz_date(at)}
        if keys.session_token is not None:
            added["x-amz-security-token"] = keys.session_token
        signed = {"host": urlsplit(url).netloc, **added}
        line = authorization_header(keys, self._scope, method="POST", url=url, headers=signed, body=body, at=at)
        return [*added.items(), ("authorization", line)]


class FrameTranslator:
    """Turns AWS's frames into the events of Anthropic's API."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self) -> None:
        self._frames = EventFrameParser()

    def feed(self, chunk: bytes) -> bytes:
        """The events that this chunk completes."""
        return b"".join(map(_event, self._frames.feed(chunk)))

    def finish(self) -> bytes:
        """Nothing is left, unless the stream ended within a frame."""
        self._frames.finish()
        return b""


def _event(frame: EventFrame) -> bytes:
    if frame.headers.get(":message-type") in ("exception", "error"):
        return _error_event(frame)
    if frame.headers.get(":event-type") != "chunk":
        return b""
    try:
        content = b64decode(str_at(try_decode_json(frame.payload), "bytes") or "", validate=True)
    except Base64Error as fault:
        raise UnreadableResponseError("a frame of the response has no readable content") from fault
    event = try_decode_json(content)
    if not isinstance(event, dict):
        raise UnreadableResponseError("a frame of the response has no readable content")
    event.pop(_METRICS, None)
    return _server_sent(event)


def _error_event(frame: EventFrame) -> bytes:
    kind = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or ""
    message = str_at(try_decode_json(frame.payload), "message") or frame.headers.get(":error-message") or "no message"
    error = {"type": _ERROR_TYPES.get(kind, "api_error"), "message": f"{kind}: {message}" if kind else message}
    return _server_sent({"type": "error", "error": error})


def _server_sent(event: dict[str, Any]) -> bytes:
    name = str_at(event, "type") or "message"
    return b"event: " + name.encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"
