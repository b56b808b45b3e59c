"""Logins as agents keep them, and a provider on loopback that takes and renews their tokens."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec
from aiohttp import ClientSession, web

from outweigh.testing.model_server import ModelServer

NOW = 1_800_000_000.0
LIMIT_REACHED = {
    "type": "error",
    "error": {"type": "rate_limit_error", "message": "This request would exceed your account's rate limit."},
}
LIMIT_HEADERS = {
    "retry-after": "3600",
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}
ACCOUNT = "account-0123456789"


def a_jwt(expires_at: float, number: int = 0) -> str:
    claims = urlsafe_b64encode(msgspec.json.encode({"exp": int(expires_at), "n": number})).rstrip(b"=").decode()
    return f"eyJhbGciOiJub25lIn0.{claims}.signature"


class LoginProvider:
    """A provider that takes the token it gave last, renews each refresh token once, and refuses all others.

    With `requests` the first token expires after so many. With `plan_requests` the plan's limit is reached after so
    many, and resets after an hour.
    """

    def __init__(
        self, server: ModelServer, token: str, *, requests: int | None = None, plan_requests: int | None = None
    ) -> None:
        self._server = server
        self._left = requests
        self._plan_left = plan_requests
        self.token, self.refresh = token, "refresh-token-number-0000"
        self.renewed = 0
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []

    def expire(self) -> None:
        """From now on the last token is refused."""
        self.token = "another-token-that-nobody-has"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/token":
            is_form = request.content_type == "application/x-www-form-urlencoded"
            assert is_form or request.content_type == "application/json"
            return self._renew(dict(parse_qsl(await request.text())) if is_form else await request.json())
        self.paths.append(request.path)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return web.json_response({"type": "error", "error": {"type": "authentication_error"}}, status=401)
        if self._left is not None:
            self._left -= 1
            if not self._left:
                self.expire()
        if self._plan_left is not None:
            self._plan_left -= 1
            if self._plan_left < 0:
                return web.json_response(LIMIT_REACHED, status=429, headers=LIMIT_HEADERS)
        if request.path.startswith("/v1internal:"):
            return await self._code_assist(request)
        path = request.path.replace("/backend-api/codex", "/v1")
        async with (
            ClientSession() as session,
            session.post(self._server.url + path, data=await request.read(), headers={"x-api-key": "k"}) as answer,
        ):
            return web.Response(status=answer.status, body=await answer.read(), content_type=answer.content_type)

    async def _code_assist(self, request: web.BaseRequest) -> web.StreamResponse:
        """Google's Code Assist, which wraps the requests and responses of the Gemini API."""
        asked, verb = await request.json(), request.path.partition(":")[2]
        if verb == "loadCodeAssist":
            return web.json_response({"cloudaicompanionProject": "made-for-you", "currentTier": {"id": "free-tier"}})
        if verb == "countTokens":
            return web.json_response({"totalTokens": len(asked["request"]["contents"])})
        if asked["project"] != "made-for-you" or not asked["user_prompt_id"]:
            return web.json_response({"error": {"code": 403, "message": "no such project"}}, status=403)
        url = f"{self._server.url}/v1beta/models/{asked['model']}:{verb}"
        async with (
            ClientSession() as session,
            session.post(
                url, params=dict(request.query), json=asked["request"], headers={"x-goog-api-key": "k"}
            ) as got,
        ):
            whole, kind = await got.read(), got.content_type
        if kind != "text/event-stream":
            return web.json_response({"response": msgspec.json.decode(whole), "traceId": "1"}, status=got.status)
        events = [line[6:] for line in whole.splitlines() if line.startswith(b"data: ")]
        wrapped = b"".join(b'data: {"response": ' + event + b', "traceId": "1"}\r\n\r\n' for event in events)
        return web.Response(body=wrapped, content_type=kind)

    def _renew(self, asked: Mapping[str, str]) -> web.Response:
        if (asked["grant_type"], asked["refresh_token"]) != ("refresh_token", self.refresh) or not asked["client_id"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self.renewed += 1
        self.token = a_jwt(NOW + 8 * 3600, self.renewed)
        self.refresh = f"refresh-token-number-{self.renewed:04}"
        return web.json_response(
            {"access_token": self.token, "refresh_token": self.refresh, "expires_in": 28_800, "id_token": "new-id"}
        )


def claude_file(home: Path, access: str, *, expires_at: float = NOW + 7200, refresh: str | None = None) -> None:
    login = {
        "accessToken": access,
        "refreshToken": refresh or "refresh-token-number-0000",
        "expiresAt": int(expires_at * 1000),
        "scopes": ["user:inference"],
    }
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / ".credentials.json").write_bytes(msgspec.json.encode({"claudeAiOauth": login, "mcp": {"a": 1}}))


def gemini_file(home: Path, access: str, *, expires_at: float = NOW + 7200) -> None:
    login = {
        "access_token": access,
        "refresh_token": "refresh-token-number-0000",
        "expiry_date": int(expires_at * 1000),
        "scope": "cloud-platform",
    }
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini" / "oauth_creds.json").write_bytes(msgspec.json.encode(login))


def codex_file(home: Path, access: str) -> None:
    tokens = {
        "id_token": "old-id",
        "access_token": access,
        "refresh_token": "refresh-token-number-0000",
        "account_id": ACCOUNT,
    }
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "auth.json").write_bytes(msgspec.json.encode({"OPENAI_API_KEY": None, "tokens": tokens}))
