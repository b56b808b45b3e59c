"""A regular expression over text that an agent wrote: ended when it takes too long.

A search cannot be interrupted from within, and while it runs no other thread does; so it gets a process of its own.
"""

import sys
from subprocess import TimeoutExpired

from outweigh.apart import run_apart

SEARCH_SECONDS = 10.0
_FOUND, _NOT_FOUND = 10, 11
_PROGRAM = f"""
import re, sys
data = sys.stdin.buffer.read()
length = int.from_bytes(data[:8], "big")
pattern, text = data[8 : 8 + length].decode(), data[8 + length :].decode("utf-8", "replace")
sys.exit({_FOUND} if re.search(pattern, text) else {_NOT_FOUND})
"""


class UnfinishedSearchError(Exception):
    """Nobody can tell whether the text matches."""


def search(pattern: str, content: bytes, seconds: float = SEARCH_SECONDS) -> bool:
    """Whether the pattern matches anywhere."""
    encoded = pattern.encode()
    try:
        done = run_apart(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            environment={},
            stdin=len(encoded).to_bytes(8, "big") + encoded + content,
            timeout_seconds=seconds,
        )
    except TimeoutExpired:
        raise UnfinishedSearchError(f"the search for {pattern!r} was not done after {seconds:g} s") from None
    if done.returncode not in (_FOUND, _NOT_FOUND):
        raise UnfinishedSearchError(f"the search for {pattern!r} broke; is it a regular expression of Python?")
    return done.returncode == _FOUND
