"""Which provider's API an agent uses through the gateway, by its model's name, and how litellm is pointed there."""

from collections.abc import Mapping
from typing import NamedTuple

from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess

_PROVIDERS = {"anthropic": "anthropic", "gemini": "gemini", "google": "gemini"}
_OPENAI = "openai"


def provider_of_model(model: str | None) -> str:
    """The provider before the slash; all others than Anthropic and Gemini use OpenAI's API."""
    return _PROVIDERS.get((model or "").partition("/")[0], _OPENAI)


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


def litellm_route(request: AttemptRequest) -> LitellmRoute:
    """The route through the gateway, where all but Anthropic and Gemini use OpenAI's API; without it, as named."""
    access, named = request.model_access, request.arm.model or ""
    if access is None:
        return LitellmRoute(named, {})
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
