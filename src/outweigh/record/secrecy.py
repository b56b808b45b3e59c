"""Keeping secrets out of what is kept."""

import re
from collections.abc import Iterable

SHORTEST_SECRET = 4
"""Shorter values are no secrets, and would be found everywhere."""
_USER = re.compile(r"(?<=://)[^/\s]+@")


def without_secrets(content: bytes, secrets: Iterable[str]) -> bytes:
    """The content with every secret's value blacked out, longest first, so that none is left in part."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content


def without_passwords(text: str) -> str:
    """The text with what stands before the host of every address left out: it may be a password."""
    return _USER.sub("", text)
