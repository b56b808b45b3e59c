"""Whose API an agent speaks through the gateway, by the name of its model: that provider's key is the one needed."""

_SPOKEN = {"anthropic": "anthropic", "gemini": "gemini", "google": "gemini"}
OPENAI = "openai"


def asked_provider(model: str | None) -> str:
    """The provider before the slash; all that have no API of their own here are spoken to as OpenAI is."""
    return _SPOKEN.get((model or "").partition("/")[0], OPENAI)
