"""What is kept may be read by many: no secret in it, no text that cannot be stored, no line without end."""

from collections.abc import Collection

from msgspec.structs import replace

from outweigh.record.check_result import CheckResult

DETAIL_LIMIT = 2000
SHORTEST_SECRET = 4
"""Shorter values are no secrets, and would be found everywhere."""


def redacted(content: bytes, secrets: Collection[str]) -> bytes:
    """The content with every secret's value blacked out, longest first, so that none is left in part."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            content = content.replace(secret.encode(errors="surrogateescape"), b"[secret]")
    return content


def storable(text: str | None, secrets: Collection[str]) -> str | None:
    """A remark as it goes into a record; names of files need not be text."""
    if text is None:
        return None
    clean = redacted(text.encode(errors="backslashreplace"), secrets).decode()
    return clean if len(clean) <= DETAIL_LIMIT else f"{clean[:DETAIL_LIMIT]} …"


def storable_check(result: CheckResult, secrets: Collection[str]) -> CheckResult:
    """A check whose remark can be stored."""
    return replace(result, detail=storable(result.detail, secrets))
