"""What assertions of evals say under one key or another."""

import re
from collections.abc import Mapping
from glob import has_magic
from pathlib import PurePosixPath
from typing import Any

Table = Mapping[str, Any]

TEXTS = ("text", "description", "assertion", "expectation", "criterion", "statement", "check", "pass_if", "question")
ASKED = ("prompt", "criteria", "rubric", "value")
VALUES = ("value", "text", "contains", "substring", "expected", "needle")
PATTERNS = ("pattern", "regex", "value")
_PATHS = ("path", "file", "target", "filename", "file_path")


def first_text(raw: Table, keys: tuple[str, ...]) -> str | None:
    """The first of these keys that has words."""
    found = next((raw[key] for key in keys if isinstance(raw.get(key), str) and raw[key].strip()), None)
    return None if found is None else found.replace("\0", "")


def excerpt(value: Any) -> str:
    """The beginning of whatever stands there, for a message."""
    try:
        return str(value)[:100]
    except RecursionError:
        return "something that is nested without end"


def names_a_file(raw: Table) -> bool:
    """Whether it speaks of a file at all."""
    return any(key in raw for key in _PATHS)


def stated_pattern(raw: Table) -> str | None:
    """A path within the workspace, which may hold `*` and the like."""
    path = first_text(raw, _PATHS)
    if path is None:
        return None
    pure = PurePosixPath(path.replace("\\", "/"))
    leads_out = pure.is_absolute() or ".." in pure.parts or "~" in path or not pure.parts
    return None if leads_out or len(path) > 500 else str(pure)


def stated_path(raw: Table) -> str | None:
    """A path within the workspace that means one file."""
    path = stated_pattern(raw)
    return None if path is None or has_magic(path) else path


def stated_regex(raw: Table, keys: tuple[str, ...] = PATTERNS) -> str | None:
    """A regular expression that is one."""
    pattern = first_text(raw, keys)
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError):
        return None
    return pattern
