"""Searches in text that an agent wrote, for a text or a regular expression.

Regular expressions run in a process of their own, because a search in Python cannot be interrupted and blocks all
other threads.
"""

import sys
from collections.abc import Sequence
from subprocess import TimeoutExpired
from typing import Protocol

import msgspec

from outweigh.process import run_process

SEARCH_SECONDS = 10.0
_SEARCH_PROGRAM = """
import json, re, sys
asked = json.load(sys.stdin.buffer)
expression = re.compile(asked["pattern"])
def count(text):
    return sum(1 for _ in expression.finditer(text)) if asked["every"] else int(expression.search(text) is not None)
print(json.dumps([count(text) for text in asked["texts"]]))
"""


class UnfinishedSearchError(Exception):
    """The search timed out or failed. That is a failure of the agent, which wrote the text that is searched."""


def count_matches(
    pattern: str, texts: Sequence[str], *, every: bool = True, seconds: float = SEARCH_SECONDS
) -> list[int]:
    """How often the pattern matches in each text; without `every`, 1 stands for once or more."""
    if not texts:
        return []
    asked = {"pattern": pattern, "texts": texts, "every": every}
    try:
        done = run_process(
            [sys.executable, "-I", "-S", "-c", _SEARCH_PROGRAM],
            environment={},
            stdin=msgspec.json.encode(asked),
            timeout_seconds=seconds,
        )
    except TimeoutExpired:
        raise UnfinishedSearchError(f"the search for {pattern!r} was not done after {seconds:g} s") from None
    if done.returncode != 0:
        raise UnfinishedSearchError(f"the search for {pattern!r} broke; is it a regular expression of Python?")
    return msgspec.json.decode(done.stdout, type=list[int])


def bounded_search(pattern: str, content: bytes, seconds: float = SEARCH_SECONDS) -> bool:
    """Whether the pattern matches anywhere in the content."""
    return bool(count_matches(pattern, [content.decode("utf-8", "replace")], every=False, seconds=seconds)[0])


class TextDemand(Protocol):
    """What checks of a text demand: that it contains a text or a match, does not, or contains it so often."""

    @property
    def text(self) -> str | None:
        """The text that is looked for."""

    @property
    def regex(self) -> str | None:
        """The regular expression that is looked for."""

    @property
    def absent(self) -> bool:
        """Whether it must not be there."""

    @property
    def count(self) -> int | None:
        """How often it must be there."""


def occurrences(demand: TextDemand, content: bytes) -> int:
    """How often the text or a match is in the content; where no count is demanded, 1 stands for once or more."""
    if demand.regex is not None:
        every = demand.count is not None
        return count_matches(demand.regex, [content.decode("utf-8", "replace")], every=every)[0]
    wanted = (demand.text or "").encode("utf-8", "replace")
    return content.count(wanted) if demand.count is not None else int(wanted in content)


def is_met(demand: TextDemand, found: int, *, cut: bool) -> bool:
    """Whether so many occurrences meet the demand. An agent gains nothing by writing more than is searched."""
    if cut and (demand.count is not None or not found):
        return False
    if demand.count is not None:
        return found == demand.count
    return bool(found) is not demand.absent


def describe_demand(demand: TextDemand) -> str:
    """The text or expression that is looked for."""
    return repr(demand.text) if demand.regex is None else f"a match of {demand.regex!r}"
