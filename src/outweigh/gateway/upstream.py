"""Where the requests go, and the keys that only the gateway knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from outweigh.gateway.routes import Provider
from outweigh.task.suite import GatewaySpec, ProviderSpec

SHORTEST_KEY = 16
"""Shorter ones are no secrets, and blacking them out would spoil answers."""

_VERSION = re.compile(r"/v\d+\w*(?=/|$)")
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One provider: its address, the variable that names its key, and the key; "" where none is needed.

    `key` is None where the variable is not set: then nothing can be sent.
    """

    url: str
    variable: str
    key: str | None = field(repr=False)
    proxy: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown. A word such as `EMPTY`, which servers without keys are given, is in many texts."""
        return (self.key,) if self.key and len(self.key) >= SHORTEST_KEY else ()

    def address(self, path: str) -> str:
        """The whole address of a path. Many bases name a version already, and then the path's own is dropped."""
        base = self.url.rstrip("/")
        return base + (_VERSION.sub("", path, count=1) if _VERSION.search(urlsplit(base).path) else path)


def upstreams(spec: GatewaySpec, environment: Mapping[str, str]) -> dict[Provider, Upstream]:
    """The providers of a suite, with their keys out of the caller's environment."""
    specs = {Provider.ANTHROPIC: spec.anthropic, Provider.OPENAI: spec.openai, Provider.GEMINI: spec.gemini}
    return {provider: _upstream(given, environment) for provider, given in specs.items()}


def _upstream(spec: ProviderSpec, environment: Mapping[str, str]) -> Upstream:
    key = environment.get(spec.key) or None if spec.key else ""
    return Upstream(url=spec.url, variable=spec.key, key=key, proxy=_proxy(spec.url, environment))


def _proxy(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that everybody else on this machine would use for this address."""
    address = urlsplit(url)
    host = (address.hostname or "").lower()
    wanted = {name.lower(): value for name, value in environment.items() if value}
    spared = [name.strip().lstrip("*.") for name in wanted.get("no_proxy", "").lower().split(",")]
    is_spared = any(host == name or host.endswith(f".{name}") for name in spared if name)
    if is_spared or "*" in wanted.get("no_proxy", "").split(",") or host in _OWN_HOSTS:
        return None
    return wanted.get(f"{address.scheme}_proxy") or wanted.get("all_proxy")
