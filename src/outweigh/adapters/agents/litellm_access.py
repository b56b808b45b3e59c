"""How programs built on litellm are led to a model: by variables that depend on the provider in the model's name."""

from outweigh.ports import AttemptRequest

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
OWN_WAYS = (
    *("ANTHROPIC_API_BASE", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("GEMINI_API_BASE", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    *("OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
)


def litellm_access(request: AttemptRequest) -> dict[str, str]:
    """`anthropic/…` and `gemini/…` speak their own way, everything else as OpenAI does; nothing without a gateway."""
    access, model = request.model_access, request.arm.model or ""
    if access is None:
        return {}
    provider = model.partition("/")[0] if "/" in model else ("anthropic" if model.startswith("claude") else "openai")
    match provider:
        case "anthropic":
            return {"ANTHROPIC_API_BASE": access.base_url, "ANTHROPIC_API_KEY": access.key}
        case "gemini":
            return {"GEMINI_API_BASE": f"{access.base_url}/v1beta", "GEMINI_API_KEY": access.key}
        case _:
            return {"OPENAI_API_BASE": f"{access.base_url}/v1", "OPENAI_API_KEY": access.key}
