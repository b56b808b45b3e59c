"""Blacking secrets out of a stream, also where one is torn between two pieces."""

from collections.abc import Iterable


class Masking:
    """Passes bytes on, with every secret replaced by as many asterisks: lengths stay what they were said to be."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [secret.encode() for secret in secrets]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be passed on; an end that may be the beginning of a secret waits for what follows."""
        content = self._held + chunk
        for secret in self._secrets:
            if secret in content:
                content = content.replace(secret, b"*" * len(secret))
        held = max((_overlap(content, secret) for secret in self._secrets), default=0)
        self._held = content[len(content) - held :]
        return content[: len(content) - held]

    def rest(self) -> bytes:
        """What is still held at the end."""
        held, self._held = self._held, b""
        return held


def _overlap(content: bytes, secret: bytes) -> int:
    """How many bytes at the end of the content are the beginning of the secret."""
    for length in range(min(len(secret) - 1, len(content)), 0, -1):
        if content.endswith(secret[:length]):
            return length
    return 0
