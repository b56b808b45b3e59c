"""What is kept may be read by many: no secret in it, no text that cannot be stored, no line without end."""

from collections.abc import Collection

from msgspec.structs import replace

from outweigh.record.check_result import CheckResult
from outweigh.record.secrecy import without_secrets

DETAIL_LIMIT = 2000


def storable(text: str | None, secrets: Collection[str]) -> str | None:
    """A remark as it goes into a record; names of files need not be text."""
    if text is None:
        return None
    clean = without_secrets(text.encode(errors="backslashreplace"), secrets).decode()
    return clean if len(clean) <= DETAIL_LIMIT else f"{clean[:DETAIL_LIMIT]} …"


def storable_check(result: CheckResult, secrets: Collection[str]) -> CheckResult:
    """A check whose remark can be stored."""
    return replace(result, detail=storable(result.detail, secrets))
