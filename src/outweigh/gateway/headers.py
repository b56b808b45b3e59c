"""Which headers pass the gateway, and which stay on their side of it."""

from collections.abc import Iterable, Mapping

from outweigh.gateway.routes import Provider
from outweigh.gateway.run_key import KEY_HEADERS, KEY_PARAMETER

_OF_ONE_CONNECTION = frozenset(
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
# The body is read here, so it is neither packed nor as long as the client said; cookies are nobody's business.
_OF_BODIES = frozenset({"content-length", "content-encoding"})
_NOT_SENT = _OF_ONE_CONNECTION | _OF_BODIES | {"host", "accept-encoding", "cookie", *KEY_HEADERS}
_NOT_RETURNED = _OF_ONE_CONNECTION | _OF_BODIES | {"set-cookie", "server", "date"}

_USUAL_KEY_HEADER = {
    Provider.ANTHROPIC: "x-api-key",
    Provider.OPENAI: "authorization",
    Provider.GEMINI: "x-goog-api-key",
}

Pairs = list[tuple[str, str]]


def headers_to_send(given: Mapping[str, str], provider: Provider, key: str) -> Pairs:
    """A client's headers with the real key in the place of the run's, and nothing packed, so that it can be read."""
    named = {word.strip().lower() for word in given.get("connection", "").split(",")}
    passed = [(name, value) for name, value in given.items() if name.lower() not in _NOT_SENT | named]
    passed.append(("accept-encoding", "identity"))
    if key:
        place = next((name for name in KEY_HEADERS if name in given), _USUAL_KEY_HEADER[provider])
        passed.append((place, f"Bearer {key}" if place == "authorization" else key))
    return passed


def headers_to_return(given: Mapping[str, str], secrets: Iterable[str]) -> Pairs:
    """A provider's headers, without any that shows a secret."""
    hidden = tuple(secrets)
    return [
        (name, value)
        for name, value in given.items()
        if name.lower() not in _NOT_RETURNED and not any(secret in value for secret in hidden)
    ]


def query_to_send(given: Mapping[str, str]) -> Pairs:
    """A client's query without its key: keys go into headers, where no log shows them."""
    return [(name, value) for name, value in given.items() if name != KEY_PARAMETER]
