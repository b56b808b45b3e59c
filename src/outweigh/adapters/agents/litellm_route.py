"""How programs built on litellm are led to a model: by the provider in its name, and the variables of that one."""

from collections.abc import Mapping
from typing import NamedTuple

from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
OWN_WAYS = (
    *("ANTHROPIC_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("GEMINI_API_BASE", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
)
_FAMILIES = {"claude": "anthropic", "gemini": "gemini"}


class LitellmRoute(NamedTuple):
    """The model as litellm is to be told, and the variables that lead to it."""

    model: str
    variables: Mapping[str, str]


def litellm_route(request: AttemptRequest) -> LitellmRoute:
    """Through the gateway, every provider but Anthropic and Gemini is spoken to as OpenAI is; without it, as named."""
    access, named = request.model_access, request.arm.model or ""
    if access is None:
        return LitellmRoute(named, {})
    spoken, model = spoken_provider(named), named.partition("/")[2] or named
    return LitellmRoute(f"{spoken}/{model}", _variables(spoken, access))


def spoken_provider(model: str | None) -> str:
    """Whose API is spoken to reach a model: by the provider in its name, or by its family where it has none."""
    named, slash, _ = (model or "").partition("/")
    if not slash:
        return next((by for start, by in _FAMILIES.items() if named.startswith(start)), "openai")
    return named if named in _FAMILIES.values() else "openai"


def _variables(provider: str, access: ModelAccess) -> dict[str, str]:
    match provider:
        case "anthropic":
            return {"ANTHROPIC_API_BASE": access.base_url, "ANTHROPIC_API_KEY": access.key}
        case "gemini":
            return {"GEMINI_API_BASE": f"{access.base_url}/v1beta", "GEMINI_API_KEY": access.key}
        case _:
            return {"OPENAI_API_BASE": f"{access.base_url}/v1", "OPENAI_API_KEY": access.key}
