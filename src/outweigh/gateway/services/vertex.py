"""Vertex AI: Claude and Gemini under the address of a Google Cloud project, authorised by an access token."""

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import msgspec

from outweigh.gateway.outgoing_request import ClientRequest, OutgoingRequest, ResponseTranslator
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.services.claude_requests import accepted_betas, headers_without_version, split_model
from outweigh.gateway.services.google_tokens import GoogleTokens
from outweigh.model.provider import ApiFamily

if TYPE_CHECKING:
    from aiohttp import ClientSession

ANTHROPIC_VERSION = "vertex-2023-10-16"


class VertexService:
    """Vertex AI of one project in one region."""

    def __init__(self, url: str, project: str, region: str, tokens: GoogleTokens) -> None:
        self._root = url.rstrip("/")
        self._place = f"projects/{project}/locations/{region}/publishers"
        self._tokens = tokens

    @property
    def secrets(self) -> tuple[str, ...]:
        """The access token, and what it is made from."""
        return self._tokens.secrets

    def serves(self, route: Route) -> bool:
        """Whether it has such requests: it generates and counts tokens, and lists models in another way."""
        return route.purpose is not RoutePurpose.LOOK_UP

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:
        """Name project and model in the path, and send an access token."""
        is_claude = request.route.provider is ApiFamily.ANTHROPIC
        url, body = self._claude(request) if is_claude else (self._gemini(request), request.body)
        headers = headers_without_version(request) if is_claude else list(request.headers)
        if is_claude and (betas := accepted_betas(request)):
            headers.append(("anthropic-beta", ",".join(betas)))
        headers.append(("authorization", f"Bearer {await self._tokens.token(session)}"))
        query = f"?{urlencode(request.query)}" if request.query and not is_claude else ""
        return OutgoingRequest(method="POST", url=url + query, headers=headers, body=body)

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:  # noqa: ARG002
        """Nothing: its responses are those of the plain APIs."""
        return None

    def _claude(self, request: ClientRequest) -> tuple[str, bytes]:
        model, content = split_model(request)
        models = f"{self._root}/v1/{self._place}/anthropic/models"
        if request.route.purpose is RoutePurpose.COUNT:
            return f"{models}/count-tokens:rawPredict", msgspec.json.encode({**content, "model": model})
        verb = "streamRawPredict" if content.get("stream") is True else "rawPredict"
        body = msgspec.json.encode({**content, "anthropic_version": ANTHROPIC_VERSION})
        return f"{models}/{quote(model, safe='@')}:{verb}", body

    def _gemini(self, request: ClientRequest) -> str:
        name = request.route.path.rpartition("/")[2]
        return f"{self._root}/v1beta1/{self._place}/google/models/{quote(name, safe='@:')}"
