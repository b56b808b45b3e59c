"""Keeping secrets out of what is kept."""

from collections.abc import Iterable

SHORTEST = 4
"""Shorter values are no secrets, and would be found everywhere."""


def without_secrets(text: bytes, secrets: Iterable[str]) -> bytes:
    """The text with every secret's value blacked out, longest first, so that none is left in part."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret.encode(), b"[secret]")
    return text
