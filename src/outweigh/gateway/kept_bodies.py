"""What was said, word for word, where a suite asks for it: lines of JSON, bounded, without keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from outweigh.record.secrecy import without_secrets

MOST_BYTES_PER_BODY = 4 << 20
MOST_BYTES_PER_RUN = 64 << 20


@dataclass(slots=True)
class Kept:
    """The beginning of one body."""

    content: bytearray = field(default_factory=bytearray)
    is_truncated: bool = False

    def hear(self, chunk: bytes) -> None:
        """Keep what there is room for."""
        room = MOST_BYTES_PER_BODY - len(self.content)
        self.content += chunk[:room]
        self.is_truncated = self.is_truncated or len(chunk) > room


class KeptBodies:
    """The bodies of one run."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._lines = bytearray()

    def add(self, number: int, path: str, request: bytes, status: int | None, answer: Kept) -> None:
        """Keep one exchange; beyond a run's limit only that there was one."""
        line: dict[str, object] = {"request_number": number, "path": path, "status": status}
        if len(self._lines) < MOST_BYTES_PER_RUN:
            asked = Kept()
            asked.hear(request)
            line |= {"request": self._clean(asked), "answer": self._clean(answer)}
            line["is_truncated"] = asked.is_truncated or answer.is_truncated
        else:
            line["is_truncated"] = True
        self._lines += msgspec.json.encode(line) + b"\n"

    def lines(self) -> bytes:
        """All lines."""
        return bytes(self._lines)

    def _clean(self, kept: Kept) -> str:
        """Without secrets; where it was cut, without an end that may be part of one."""
        content = without_secrets(bytes(kept.content), self._secrets)
        if kept.is_truncated:
            content = content[: len(content) - max(map(len, self._secrets), default=0)]
        return content.decode(errors="replace")
