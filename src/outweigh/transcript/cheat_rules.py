"""The rules of the scan for cheats. They are data, in `cheat_rules.toml`; this is their form.

Patterns must be cheap on any text: tests forbid unbounded repetition, so that no transcript can make one run for ever.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from hashlib import sha256

import msgspec

from outweigh.model.base import Name, Spec
from outweigh.model.scan_result import Severity


class LookAt(StrEnum):
    """The parts of a run that a rule can look at."""

    ADDED_PATH = "added_path"
    MODIFIED_PATH = "modified_path"
    DELETED_PATH = "deleted_path"
    ADDED_LINE = "added_line"
    REMOVED_LINE = "removed_line"
    COMMAND = "command"
    READ_PATH = "read_path"
    MESSAGE = "message"


_COMMENT = re.compile(r"\s{0,80}(?:#(?![!\[])|//|/\*|\*\s|--\s|<!--|;;)")


class CheatRule(Spec, frozen=True, kw_only=True, dict=True):
    """One rule: what it looks at, and the pattern that makes a finding.

    `words` are in lower case; text without any of them is not searched. `within` and `outside` name kinds of paths that
    the changed file must be, or must not be. `only_modified` leaves out files that are new or deleted, `code_only`
    lines that are comments. `unless` is a pattern that takes a match back. `net` counts removed lines less those
    that were added again.
    """

    id: Name
    title: Name
    looks_at: tuple[LookAt, ...]
    pattern: str
    severity: Severity
    explanation: str
    words: tuple[Name, ...] = ()
    within: str | None = None
    outside: str | None = None
    only_modified: bool = False
    code_only: bool = False
    unless: str | None = None
    net: bool = False

    @cached_property
    def search(self) -> "re.Pattern[str]":
        """The compiled pattern."""
        return re.compile(self.pattern)

    @cached_property
    def search_unless(self) -> "re.Pattern[str] | None":
        """The compiled pattern of exceptions."""
        return None if self.unless is None else re.compile(self.unless)

    def may_match(self, lowered: str) -> bool:
        """Whether a text in lower case has any of the words."""
        return not self.words or any(word in lowered for word in self.words)

    def find(self, text: str) -> "re.Match[str] | None":
        """The first match in a text; None where there is none, or an exception."""
        if self.code_only and _COMMENT.match(text):
            return None
        found = self.search.search(text)
        return None if found is None or (self.search_unless and self.search_unless.search(text)) else found


class _RulesFile(Spec, frozen=True, kw_only=True):
    kinds: Mapping[str, str]
    rule: tuple[CheatRule, ...]


class CheatRules:
    """All rules, and the kinds of paths that they name."""

    def __init__(self, content: bytes) -> None:
        file = msgspec.toml.decode(content, type=_RulesFile)
        self.sha256 = sha256(content).hexdigest()
        self.rules = file.rule
        self.kinds = {name: re.compile(pattern) for name, pattern in file.kinds.items()}

    def covers_path(self, rule: CheatRule, path: str) -> bool:
        """Whether a rule looks into this file."""
        inside = rule.within is None or self.kinds[rule.within].search(path) is not None
        return inside and (rule.outside is None or self.kinds[rule.outside].search(path) is None)
