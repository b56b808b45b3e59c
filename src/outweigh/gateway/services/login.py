"""Requests that a login authorises instead of a key: the token is read outside of the sandbox and renewed in time."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from outweigh.errors import UsageError
from outweigh.gateway.outgoing_request import (
    FORM,
    JSON,
    ClientRequest,
    OutgoingRequest,
    ResponseTranslator,
    UpstreamError,
)
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.services.login_files import LoginFile, LoginTokens
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import try_decode_json
from outweigh.model.provider import ApiFamily
from outweigh.model.untrusted_json import as_dict, count_at, str_at
from outweigh.ports.gateways import Dialect

if TYPE_CHECKING:
    from aiohttp import ClientSession

CLAUDE_BETA = "oauth-2025-04-20"
_RENEWED_BEFORE_SECONDS = 300.0
_BETA_HEADER = "anthropic-beta"


class LoginTokenSource:
    """The current token of one login; used only in the gateway's thread."""

    def __init__(self, file: LoginFile, proxy: str | None, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self.proxy = proxy
        self._now = now
        self._turn = asyncio.Lock()
        self._tokens = file.read()
        self._seen = [self._tokens]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every token that was in use."""
        return tuple(token for seen in self._seen for token in (seen.access, seen.refresh or ""))

    async def current(self, session: "ClientSession") -> LoginTokens:
        """Tokens that are valid for minutes, as far as is known; raise UpstreamError where they cannot be renewed."""
        async with self._turn:
            if self._expires_soon(self._tokens):
                await self._renew(session)
            return self._tokens

    async def renew(self, refused: str, session: "ClientSession") -> None:
        """Replace a token that the provider refused, unless that is done already."""
        async with self._turn:
            if self._tokens.access == refused:
                await self._renew(session)

    async def renew_after(self, refused: OutgoingRequest, session: "ClientSession") -> None:
        """Replace the token of a request that the provider refused."""
        sent = next(value for name, value in refused.headers if name == "authorization")
        await self.renew(sent.removeprefix("Bearer "), session)

    def _expires_soon(self, tokens: LoginTokens) -> bool:
        return tokens.expires_at is not None and self._now() > tokens.expires_at - _RENEWED_BEFORE_SECONDS

    async def _renew(self, session: "ClientSession") -> None:
        """Take the tokens that the agent's own program has renewed meanwhile, else renew them."""
        stored = self._read_again()
        if stored.access != self._tokens.access and not self._expires_soon(stored):
            self._keep(stored)
            return
        if stored.refresh is None:
            raise self._expired("it cannot be renewed")
        answer = await self._ask(stored.refresh, session)
        access, lifetime = str_at(answer, "access_token"), count_at(answer, "expires_in")
        if not access:
            raise self._expired("the provider gave no new token")
        renewed = LoginTokens(
            access=access,
            refresh=str_at(answer, "refresh_token") or stored.refresh,
            expires_at=None if lifetime is None else self._now() + lifetime,
            account=stored.account,
        )
        self._keep(renewed)
        try:
            self._file.write(renewed, answer)
        except OSError as fault:
            raise self._expired(f"it was renewed and cannot be written: {fault.strerror}") from fault

    def _read_again(self) -> LoginTokens:
        try:
            return self._file.read()
        except UsageError as fault:
            raise self._expired(str(fault).rstrip(".")) from fault

    def _keep(self, tokens: LoginTokens) -> None:
        self._tokens = tokens
        self._seen.append(tokens)

    async def _ask(self, refresh: str, session: "ClientSession") -> Mapping[str, Any]:
        from aiohttp import ClientError, ClientTimeout  # noqa: PLC0415 - heavy, and loaded with the gateway

        grant = await asyncio.to_thread(self._file.grant, refresh)
        if grant is None:
            raise self._expired(f"`{self._file.program}` is not installed here, which could renew it")
        try:
            async with session.post(
                self._file.token_url,
                data=grant if self._file.sends_form else None,
                json=None if self._file.sends_form else grant,
                headers=FORM if self._file.sends_form else JSON,
                proxy=self.proxy,
                timeout=ClientTimeout(total=30),
                allow_redirects=False,
            ) as answer:
                status, content = answer.status, as_dict(try_decode_json(await answer.read())) or {}
        except (ClientError, TimeoutError, OSError) as fault:
            message = f"the login in {self._file.place} cannot be renewed now: {fault}"
            raise UpstreamError(make_failure(FailureKind.CONNECTION_REFUSED, message)) from fault
        if status != 200:
            raise self._expired(f"the provider refused to renew it (HTTP {status})")
        return content

    def _expired(self, why: str) -> UpstreamError:
        return UpstreamError(
            make_failure(
                FailureKind.LOGIN_EXPIRED,
                f"The login in {self._file.place} has expired or was refused, and {why}. Run `{self._file.program}` "
                "and log in again, then run the suite again: it continues.",
            )
        )


class LoginService:
    """The provider of a login: Anthropic's API, or that of ChatGPT, which has Codex's requests alone."""

    def __init__(self, family: ApiFamily, url: str, tokens: LoginTokenSource) -> None:
        self._is_claude = family is ApiFamily.ANTHROPIC
        self._url = url.rstrip("/")
        self._tokens = tokens

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens."""
        return self._tokens.secrets

    def serves(self, route: Route) -> bool:
        """Whether the login covers such requests."""
        return self._is_claude or (route.dialect is Dialect.OPENAI_RESPONSES and route.purpose is RoutePurpose.GENERATE)

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:
        """Send the token as a bearer, with what the provider wants to see beside it."""
        tokens = await self._tokens.current(session)
        query = f"?{urlencode(request.query)}" if request.query else ""
        path = request.route.path if self._is_claude else request.route.path.removeprefix("/v1")
        headers = [pair for pair in request.headers if pair[0].lower() != _BETA_HEADER]
        headers.append(("authorization", f"Bearer {tokens.access}"))
        if self._is_claude:
            headers.append((_BETA_HEADER, ",".join([*_betas(request), CLAUDE_BETA])))
        elif tokens.account is not None:
            headers.append(("chatgpt-account-id", tokens.account))
        return OutgoingRequest(
            method=request.method, url=f"{self._url}{path}{query}", headers=headers, body=request.body
        )

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:  # noqa: ARG002
        """Nothing: its responses are those of the plain API."""
        return None

    async def renew(self, refused: OutgoingRequest, session: "ClientSession") -> None:
        """Get a new token after one was refused."""
        await self._tokens.renew_after(refused, session)


def _betas(request: ClientRequest) -> list[str]:
    stated = (value for name, value in request.headers if name.lower() == _BETA_HEADER)
    asked = [beta.strip() for value in stated for beta in value.split(",")]
    return [beta for beta in asked if beta and beta != CLAUDE_BETA]
