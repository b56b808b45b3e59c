"""Removes secrets and passwords from text before it is stored or shown.

A file of its own because agents, gateway, engine and command line all need it, and nothing else.
"""

import re
from collections.abc import Collection, Iterable

SHORTEST_SECRET = 4
"""Shorter values are no secrets, and would be found everywhere."""
STORED_TEXT_LIMIT = 2000
_URL_USER = re.compile(r"(?<=://)[^/\s]+@")


def redact_secrets(content: bytes, secrets: Iterable[str]) -> bytes:
    """The content with every secret's value blacked out, longest first, so that none is left in part."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content


def redact_passwords(text: str) -> str:
    """The text with what stands before the host of every address left out: it may be a password."""
    return _URL_USER.sub("", text)


def storable_text(text: str | None, secrets: Collection[str]) -> str | None:
    """A remark without secrets, at most 2,000 characters long, and always valid text (file names need not be)."""
    if text is None:
        return None
    clean = redact_secrets(text.encode(errors="backslashreplace"), secrets).decode()
    return clean if len(clean) <= STORED_TEXT_LIMIT else f"{clean[:STORED_TEXT_LIMIT]} …"
