"""Azure OpenAI: the key in a header of its own, and the paths of the v1 API or of a deployment."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from outweigh.gateway.outgoing_request import ClientRequest, OutgoingRequest, ResponseTranslator
from outweigh.gateway.request_parsing import Route
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import str_at

if TYPE_CHECKING:
    from aiohttp import ClientSession

_API_ROOT = re.compile(r"/openai(?:/v1)?/*$")
_VERSION = re.compile(r"^/v\d+\w*(?=/)")
_DATED = re.compile(r"^\d{4}-\d{2}-\d{2}")
_CHAT = "/chat/completions"


class AzureService:
    """An Azure OpenAI resource. With a dated `api_version` it has the older API, where a chat names its deployment."""

    def __init__(self, url: str, key: str, api_version: str | None) -> None:
        self._root = _API_ROOT.sub("", url.rstrip("/"))
        self._key = key
        self._api_version = api_version

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its key."""
        return (self._key,)

    def serves(self, route: Route) -> bool:  # noqa: ARG002 - the protocol's signature
        """Whether it has such requests: it has all of OpenAI's."""
        return True

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:  # noqa: ARG002
        """Send the key as `api-key`, to the path of this version of the API."""
        query = [*request.query, *([("api-version", self._api_version)] if self._api_version else [])]
        url = self._root + self._path(request) + (f"?{urlencode(query)}" if query else "")
        headers = [*request.headers, *([("api-key", self._key)] if self._key else [])]
        return OutgoingRequest(method=request.method, url=url, headers=headers, body=request.body)

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:  # noqa: ARG002
        """Nothing: its responses are OpenAI's."""
        return None

    def _path(self, request: ClientRequest) -> str:
        bare = _VERSION.sub("", request.route.path)
        if self._api_version is None or not _DATED.match(self._api_version):
            return f"/openai/v1{bare}"
        if bare != _CHAT:
            return f"/openai{bare}"
        deployment = str_at(try_decode_json(request.body), "model") or ""
        return f"/openai/deployments/{quote(deployment, safe='')}{_CHAT}"
