"""Names of models: whether two of them mean the same one, and whether a name matches a pattern.

Providers, agents and price lists write one model in several ways: with its provider before it, with the day of its
release behind it, with dots or dashes in its version.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_OPTIONS = re.compile(r"\[[^\]]*\]$")
_RELEASE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def bare_model_name(model: str) -> str:
    """The name without its provider, its options in brackets and the day of its release, with dashes for dots."""
    own = _OPTIONS.sub("", model.rpartition("/")[2].strip().lower()).replace(".", "-")
    return _RELEASE.sub("", own)


def is_same_model(named: str, asked: str) -> bool:
    """Whether two names mean the same model."""
    return bare_model_name(named) == bare_model_name(asked)


def matches_any(model: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these; `*` in a pattern stands for any text."""
    own = bare_model_name(model)
    return any(fnmatchcase(own, bare_model_name(pattern)) for pattern in patterns)
