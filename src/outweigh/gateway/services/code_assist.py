"""Gemini by the login of a Google account: requests and responses of the Gemini API as those of Code Assist."""

from collections.abc import Mapping
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from outweigh.gateway.outgoing_request import (
    JSON,
    ClientRequest,
    OutgoingRequest,
    ResponseTranslator,
    UpstreamError,
)
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.response_readers import MAX_RESPONSE_BYTES, EventStreamParser, ServerSentEvent
from outweigh.gateway.services.login import LoginTokenSource
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import as_dict, str_at

if TYPE_CHECKING:
    from aiohttp import ClientSession

_CLIENT = {"ideType": "IDE_UNSPECIFIED", "platform": "PLATFORM_UNSPECIFIED", "pluginType": "GEMINI"}
_WRAPPER = "response"


class CodeAssistService:
    """Code Assist for one login. `project` is a Google Cloud project that the login's organisation asks for."""

    def __init__(self, url: str, tokens: LoginTokenSource, project: str | None) -> None:
        self._url = f"{url.rstrip('/')}/v1internal"
        self._tokens = tokens
        self._project = project

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens."""
        return self._tokens.secrets

    def serves(self, route: Route) -> bool:
        """Whether it has such requests: it generates and counts tokens, and lists no models."""
        return route.purpose is not RoutePurpose.LOOK_UP

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:
        """Wrap a request with its model and the login's project."""
        content = as_dict(try_decode_json(request.body)) or {}
        token = (await self._tokens.current(session)).access
        body: dict[str, Any]
        if request.route.purpose is RoutePurpose.COUNT:
            counted = as_dict(content.get("generateContentRequest")) or content
            model = f"models/{request.route.model}"
            verb, body = "countTokens", {"request": {"model": model, "contents": counted.get("contents")}}
        else:
            verb = "streamGenerateContent" if request.route.is_streamed else "generateContent"
            project = await self._find_project(token, session)
            body = {"model": request.route.model, "project": project, "request": content}
            body["user_prompt_id"] = token_hex(8)
        query = f"?{urlencode(request.query)}" if request.query else ""
        return OutgoingRequest(
            method="POST",
            url=f"{self._url}:{verb}{query}",
            headers=[*request.headers, ("authorization", f"Bearer {token}")],
            body=msgspec.json.encode(body),
        )

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:
        """Every response is taken out of its wrapper."""
        kind = headers.get("Content-Type", "")
        return EventUnwrapper(kind) if kind.startswith("text/event-stream") else BodyUnwrapper(kind)

    async def renew(self, refused: OutgoingRequest, session: "ClientSession") -> None:
        """Get a new token after one was refused."""
        await self._tokens.renew_after(refused, session)

    async def _find_project(self, token: str, session: "ClientSession") -> str:
        """The project that Google has made for the login, asked once."""
        if self._project is None:
            self._project = str_at(await self._ask_project(token, session), "cloudaicompanionProject")
        if self._project is None:
            message = (
                "The Gemini login has no project yet. Run `gemini` once and log in, or export GOOGLE_CLOUD_PROJECT; "
                "then run the suite again: it continues."
            )
            raise UpstreamError(make_failure(FailureKind.LOGIN_EXPIRED, message))
        return self._project

    async def _ask_project(self, token: str, session: "ClientSession") -> object:
        from aiohttp import ClientError, ClientTimeout  # noqa: PLC0415 - heavy, and loaded with the gateway

        try:
            async with session.post(
                f"{self._url}:loadCodeAssist",
                json={"metadata": _CLIENT},
                headers={"authorization": f"Bearer {token}", **JSON},
                proxy=self._tokens.proxy,
                timeout=ClientTimeout(total=30),
                allow_redirects=False,
            ) as answer:
                return try_decode_json(await answer.read()) if answer.status == 200 else None
        except (ClientError, TimeoutError, OSError) as fault:
            message = f"Code Assist cannot be reached: {fault}"
            raise UpstreamError(make_failure(FailureKind.CONNECTION_REFUSED, message)) from fault


def _unwrap(content: object) -> Any:
    """What is in the wrapper; an error has none."""
    wrapped = as_dict(content) or {}
    return wrapped.get(_WRAPPER, content)


class EventUnwrapper:
    """Takes each event of a stream out of its wrapper."""

    def __init__(self, content_type: str) -> None:
        self.content_type = content_type
        self._events = EventStreamParser()

    def feed(self, chunk: bytes) -> bytes:
        """The events that this chunk completes."""
        return b"".join(map(self._plain, self._events.feed(chunk)))

    def finish(self) -> bytes:
        """A last event without a separator after it."""
        return b"".join(map(self._plain, self._events.finish()))

    def _plain(self, event: ServerSentEvent) -> bytes:
        decoded = try_decode_json(event.data) if event.data else None
        if not isinstance(decoded, dict):
            return event.raw
        return b"data: " + msgspec.json.encode(_unwrap(decoded)) + b"\n\n"


class BodyUnwrapper:
    """Takes a response of one piece out of its wrapper, when it is complete; one that is too large stays in it."""

    def __init__(self, content_type: str) -> None:
        self.content_type = content_type
        self._body = bytearray()
        self._is_passed = False

    def feed(self, chunk: bytes) -> bytes:
        """Nothing yet, unless it is too large."""
        self._body += chunk
        if not self._is_passed and len(self._body) <= MAX_RESPONSE_BYTES:
            return b""
        self._is_passed = True
        passed = bytes(self._body)
        self._body.clear()
        return passed

    def finish(self) -> bytes:
        """All of it."""
        decoded = try_decode_json(bytes(self._body))
        return bytes(self._body) if decoded is None else msgspec.json.encode(_unwrap(decoded))
