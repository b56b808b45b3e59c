"""Whether a proven task is fair: solvable from its instruction alone, without knowing the change."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Unfairness(StrEnum):
    """Why a proven task is not kept, in the words of the table at the end."""

    NO_INSTRUCTION = "nothing says what was wanted"
    UNSTATED_NAME = "the hidden tests need a name that nothing states"
    UNSTATED_TEXT = "the hidden tests need a literal text that nothing states"
    TOO_MANY_NAMES = "the hidden tests need more names than an instruction can explain"
    PURE_MOVE = "the change only moves or renames code"
    UNRELATED_TESTS = "the failing tests are not about what the instruction asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCode:
    """What an instruction can be made of, and what must not leak into it.

    Files by path; a path that is only in one of two mappings was added or removed. `tests_before` and `tests_after`
    have the hidden test files. `changelog` are the lines that the change adds to changelog files. `known_at_base` are
    names and texts of the change that stand somewhere in the files of the base, `missing_names` those without which
    the hidden tests could not be collected there. `typed` is what the user typed to an agent that made the change,
    `issue` the title and text of the issue that it closes. `documentation` are the blocks of lines that the change adds
    to documentation other than changelogs.
    """

    message: str
    subjects: tuple[str, ...]
    source_before: Mapping[str, str]
    source_after: Mapping[str, str]
    tests_before: Mapping[str, str]
    tests_after: Mapping[str, str]
    fail_to_pass: tuple[str, ...]
    passed_at_base: int
    changelog: tuple[str, ...] = ()
    base_files: frozenset[str] = frozenset()
    known_at_base: frozenset[str] = frozenset()
    missing_names: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    issue: str = ""
    documentation: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstruction:
    """An instruction, where its words come from, and the names and texts under *Interface*."""

    text: str
    source: str
    interface: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfairTask:
    """A task that is proven but not kept."""

    reason: Unfairness
    detail: str = ""
