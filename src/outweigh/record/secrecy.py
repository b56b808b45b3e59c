"""Keeping secrets out of what is kept."""

from collections.abc import Iterable

SHORTEST_SECRET = 4
"""Shorter values are no secrets, and would be found everywhere."""


def without_secrets(content: bytes, secrets: Iterable[str]) -> bytes:
    """The content with every secret's value blacked out, longest first, so that none is left in part."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content
