"""Which provider's API an agent uses through the gateway, by its model's name, and how litellm is pointed there.

Also the models that an arm names beside its own.
"""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple
from urllib.parse import urlsplit

from outweigh.model.arm import Arm
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess

_PROVIDERS = {"anthropic": "anthropic", "gemini": "gemini", "google": "gemini"}
_OPENAI = "openai"


def provider_of_model(model: str | None) -> str:
    """The provider before the slash; all others than Anthropic and Gemini use OpenAI's API."""
    return _PROVIDERS.get((model or "").partition("/")[0], _OPENAI)


_HOSTS = {
    "anthropic": "api.anthropic.com",
    "openai": "api.openai.com",
    "gemini": "generativelanguage.googleapis.com",
    "google": "generativelanguage.googleapis.com",
    "deepseek": "api.deepseek.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "moonshot": "api.moonshot.ai",
    "openrouter": "openrouter.ai",
    "xai": "api.x.ai",
}
"""The host of each provider's API, and no other of its hosts: nothing but the model is asked."""

_ADDRESS_ENDINGS = ("_BASE_URL", "_API_BASE", "_HOST", "_ENDPOINT")


def provider_hosts(provider: str | None, model: str | None) -> tuple[str, ...]:
    """The host of the provider that a model is named with, else of the agent's; none where it is not known."""
    named, slash, _ = (model or "").partition("/")
    host = _HOSTS.get(named if slash else provider or "")
    return () if host is None else (host,)


def stated_hosts(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts of addresses that an arm's variables name, such as `OPENAI_BASE_URL`, with their ports."""
    places = (urlsplit(value) for name, value in environment.items() if name.endswith(_ADDRESS_ENDINGS))
    return tuple(dict.fromkeys(place.netloc.rpartition("@")[2] for place in places if place.scheme and place.netloc))


def models_named_beside(arm: Arm) -> Iterator[str]:
    """Models that an arm names beside its own: `--fallback-model NAME`, `--weak-model=NAME`, `GOOSE_FAST_MODEL`."""
    for flag, following in zip_longest(arm.flags, arm.flags[1:], fillvalue=""):
        name, _, value = flag.partition("=")
        if name.startswith("--") and name.endswith("model"):
            yield value or following
    yield from (value for name, value in arm.environment.items() if name.endswith("MODEL"))


LITELLM_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
LITELLM_BYPASS_VARIABLES = (
    *("ANTHROPIC_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("GEMINI_API_BASE", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
)
_MODEL_FAMILIES = {"claude": "anthropic", "gemini": "gemini"}


class LitellmRoute(NamedTuple):
    """The model's name for litellm, and the variables that point litellm to it."""

    model: str
    variables: Mapping[str, str]


def litellm_route(request: AttemptRequest, providers_of_aliases: Mapping[str, str] | None = None) -> LitellmRoute:
    """The route through the gateway, where all but Anthropic and Gemini use OpenAI's API; without it, as named.

    An alias of the program's own, whose provider is known, is passed on as it is.
    """
    access, named = request.model_access, request.arm.model or ""
    if access is None:
        return LitellmRoute(named, {})
    if (provider := (providers_of_aliases or {}).get(named)) is not None:
        return LitellmRoute(named, _variables(provider, access))
    api, model = litellm_provider(named), named.partition("/")[2] or named
    return LitellmRoute(f"{api}/{model}", _variables(api, access))


def litellm_provider(model: str | None) -> str:
    """The provider whose API reaches a model: from its name, or its family where the name has none."""
    named, slash, _ = (model or "").partition("/")
    if not slash:
        return next((by for start, by in _MODEL_FAMILIES.items() if named.startswith(start)), "openai")
    return named if named in _MODEL_FAMILIES.values() else "openai"


def _variables(provider: str, access: ModelAccess) -> dict[str, str]:
    match provider:
        case "anthropic":
            return {"ANTHROPIC_API_BASE": access.base_url, "ANTHROPIC_API_KEY": access.key}
        case "gemini":
            return {"GEMINI_API_BASE": f"{access.base_url}/v1beta", "GEMINI_API_KEY": access.key}
        case _:
            return {"OPENAI_API_BASE": f"{access.base_url}/v1", "OPENAI_API_KEY": access.key}
