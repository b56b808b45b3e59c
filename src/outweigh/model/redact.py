"""Removes secrets and passwords from text before it is stored or shown.

A separate file because agents, gateway, engine and command line all need it.
"""

import re
from collections.abc import Collection, Iterable

SHORTEST_SECRET = 4
"""Shorter values are not secrets, and would match everywhere."""
STORED_TEXT_LIMIT = 2000
_URL_USER = re.compile(r"(?<=://)[^/\s]+@")


def redact_secrets(content: bytes, secrets: Iterable[str]) -> bytes:
    """The content with every secret replaced, longest first, so that no part of one remains."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content


def redact_passwords(text: str) -> str:
    """The text without the part before the host of every address, which may be a password."""
    return _URL_USER.sub("", text)


def storable_text(text: str | None, secrets: Collection[str]) -> str | None:
    """A remark without secrets, at most 2,000 characters long, and always valid text (file names need not be)."""
    if text is None:
        return None
    clean = redact_secrets(text.encode(errors="backslashreplace"), secrets).decode()
    return clean if len(clean) <= STORED_TEXT_LIMIT else f"{clean[:STORED_TEXT_LIMIT]} …"
