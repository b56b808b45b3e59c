"""Errors that a person can meet, named by who must act."""

from collections.abc import Collection
from itertools import islice


class OutweighError(Exception):
    """Says what is wrong, where, and the way out, in one paragraph."""

    exit_code = 70


class UsageError(OutweighError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class EvidenceError(OutweighError):
    """The records cannot carry a conclusion; the person who made them must act."""

    exit_code = 3


def quote_names(names: Collection[str], shown: int = 3) -> str:
    """The first few of possibly many names, as messages quote them."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name) for name in islice(names, shown)) + more
