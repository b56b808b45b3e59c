"""The provider's side of the gateway: the address and the real key of each provider, the run key that a client sends
instead, which headers pass, and how the real key is masked in what comes back.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from urllib.parse import urlsplit

from outweigh.gateway.outgoing_request import HeaderPairs, ProviderService
from outweigh.model.model_name import is_same_model
from outweigh.model.provider import ApiFamily, ProviderSpec
from outweigh.model.suite import GatewaySpec

KEY_HEADERS = ("x-api-key", "authorization", "x-goog-api-key")
"""The headers in which the APIs take keys; Gemini also takes one in the address, as `key`."""

KEY_PARAMETER = "key"


def create_run_key() -> str:
    """A random key for one run."""
    return f"ow-run-{secrets.token_hex(24)}"


def shows_run_key(key: str, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
    """Whether a request has this key, in any header or parameter that keys are sent in."""
    shown = [headers.get(name, "") for name in KEY_HEADERS] + [query.get(KEY_PARAMETER, "")]
    # Compared as bytes, because compare_digest takes only ASCII text.
    return any(compare_digest(_strip_scheme(given).encode(errors="replace"), key.encode()) for given in shown)


def _strip_scheme(given: str) -> str:
    scheme, _, token = given.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else given.strip()


class SecretMask:
    """Replaces every secret in a stream by asterisks of the same length, so that stated lengths stay right."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [secret.encode() for secret in secrets]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that can be forwarded; an end that may be the start of a secret is held back."""
        content = self._held + chunk
        for secret in self._secrets:
            if secret in content:
                content = content.replace(secret, b"*" * len(secret))
        held = max((_partial_match_length(content, secret) for secret in self._secrets), default=0)
        self._held = content[len(content) - held :]
        return content[: len(content) - held]

    def finish(self) -> bytes:
        """The bytes that are still held back at the end."""
        held, self._held = self._held, b""
        return held


def _partial_match_length(content: bytes, secret: bytes) -> int:
    """How many bytes at the end of the content are the start of the secret."""
    for length in range(min(len(secret) - 1, len(content)), 0, -1):
        if content.endswith(secret[:length]):
            return length
    return 0


MIN_SECRET_LENGTH = 16
"""Shorter keys are placeholders, and masking them would damage responses."""

_BASE_VERSION = re.compile(r"/v\d+\w*(?=/|$)")
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
_HOSTS_THAT_STOP = ("api.anthropic.com", "api.openai.com")
"""Providers that write, and bill, nothing more of a stream once its connection is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUpstream:
    """One provider: its address, the variable that names its key, and the key; "" where none is needed.

    `key` is None where the variable is not set; then nothing can be sent. `name` is the suite's own name for it, empty
    for those under `[gateway]`. `headers` are added to every request. `models` gives its names for models that clients
    name differently. `service` addresses and authorises requests where that is not done as the API's maker does. With
    `is_plan` a subscription pays for them.
    """

    url: str
    variable: str
    key: str | None = field(repr=False)
    proxy: str | None = None
    name: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    header_secrets: tuple[str, ...] = field(default=(), repr=False)
    models: Mapping[str, str] = field(default_factory=dict)
    service: ProviderService | None = None
    is_plan: bool = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, if it is one: a placeholder such as `EMPTY`, used for servers without keys, occurs in many texts."""
        held = (self.key or "", *self.header_secrets, *(() if self.service is None else self.service.secrets))
        return tuple(secret for secret in held if len(secret) >= MIN_SECRET_LENGTH)

    @property
    def host(self) -> str:
        """Where it is, without a password that its address may have."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def stops_when_closed(self) -> bool:
        """Whether the provider is known to stop writing a stream when its connection is closed."""
        return urlsplit(self.url).hostname in _HOSTS_THAT_STOP

    def address(self, path: str) -> str:
        """The full address of a path, without its version where the base address already has one."""
        base = self.url.rstrip("/")
        return base + (_BASE_VERSION.sub("", path, count=1) if _BASE_VERSION.search(urlsplit(base).path) else path)

    def their_model_name(self, model: str) -> str:
        """What the provider calls a model."""
        exact = self.models.get(model)
        return exact or next((theirs for ours, theirs in self.models.items() if is_same_model(ours, model)), model)

    def our_model_name(self, model: str | None) -> str | None:
        """What the suite calls a model that the provider names."""
        return next((ours for ours, theirs in self.models.items() if theirs == model), model)


def provider_name(family: ApiFamily, upstream: ModelUpstream) -> str:
    """The suite's name for who serves requests of an API."""
    return upstream.name or family.value


def read_upstreams(spec: GatewaySpec, environment: Mapping[str, str]) -> dict[ApiFamily, ModelUpstream]:
    """The providers of a suite, with their keys from the caller's environment."""
    specs = {ApiFamily.ANTHROPIC: spec.anthropic, ApiFamily.OPENAI: spec.openai, ApiFamily.GEMINI: spec.gemini}
    return {provider: _upstream(given, environment) for provider, given in specs.items()}


def _upstream(spec: ProviderSpec, environment: Mapping[str, str]) -> ModelUpstream:
    key = environment.get(spec.key) or None if spec.key else ""
    return ModelUpstream(url=spec.url, variable=spec.key, key=key, proxy=proxy_for(spec.url, environment))


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that this machine's environment sets for an address."""
    address = urlsplit(url)
    host = (address.hostname or "").lower()
    wanted = {name.lower(): value for name, value in environment.items() if value}
    excluded = [name.strip().lstrip("*.") for name in wanted.get("no_proxy", "").lower().split(",")]
    is_excluded = any(host == name or host.endswith(f".{name}") for name in excluded if name)
    if is_excluded or "*" in wanted.get("no_proxy", "").split(",") or host in LOOPBACK_HOSTS:
        return None
    return wanted.get(f"{address.scheme}_proxy") or wanted.get("all_proxy")


_HOP_BY_HOP_HEADERS = frozenset(
    {
        "connection",
        "expect",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# The gateway reads and rewrites the body, so its length and encoding change; cookies are not forwarded.
_BODY_HEADERS = frozenset({"content-length", "content-encoding"})
_HEADERS_NOT_SENT = _HOP_BY_HOP_HEADERS | _BODY_HEADERS | {"host", "accept-encoding", "cookie", *KEY_HEADERS}
_HEADERS_NOT_RETURNED = _HOP_BY_HOP_HEADERS | _BODY_HEADERS | {"set-cookie", "server", "date"}

_DEFAULT_KEY_HEADER = {
    ApiFamily.ANTHROPIC: "x-api-key",
    ApiFamily.OPENAI: "authorization",
    ApiFamily.GEMINI: "x-goog-api-key",
}


def headers_to_send(given: Mapping[str, str], provider: ApiFamily, key: str) -> HeaderPairs:
    """A client's headers with the real key instead of the run's, asking for an uncompressed response."""
    named = {word.strip().lower() for word in given.get("connection", "").split(",")}
    passed = [(name, value) for name, value in given.items() if name.lower() not in _HEADERS_NOT_SENT | named]
    passed.append(("accept-encoding", "identity"))
    if key:
        place = next((name for name in KEY_HEADERS if name in given), _DEFAULT_KEY_HEADER[provider])
        passed.append((place, f"Bearer {key}" if place == "authorization" else key))
    return passed


def headers_to_return(given: Mapping[str, str], secrets: Iterable[str]) -> HeaderPairs:
    """A provider's headers, without any that contains a secret."""
    hidden = tuple(secrets)
    return [
        (name, value)
        for name, value in given.items()
        if name.lower() not in _HEADERS_NOT_RETURNED and not any(secret in value for secret in hidden)
    ]


def query_to_send(given: Mapping[str, str]) -> HeaderPairs:
    """A client's query without its key; keys are sent in headers, which are not logged."""
    return [(name, value) for name, value in given.items() if name != KEY_PARAMETER]
