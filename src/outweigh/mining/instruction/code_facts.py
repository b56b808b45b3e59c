"""What source and test files say: declarations, literal texts, and the names that are used."""

from dataclasses import dataclass
from enum import StrEnum


class DeclarationKind(StrEnum):
    """What a declaration introduces."""

    FUNCTION = "function"
    CLASS = "class"
    METHOD = "method"
    ATTRIBUTE = "attribute"
    CONSTANT = "constant"
    EXPORT = "export"
    """A name that a module offers and another one defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A name that code introduces. `signature` is how it is written, without a body or a computed value.

    `contract` is the first sentence of its documentation. `owner` is the class of a member. Two versions with the same
    `shape` are called in the same way; it leaves out type annotations where the language is known well enough.
    """

    path: str
    name: str
    kind: DeclarationKind
    signature: str
    contract: str = ""
    owner: str = ""
    shape: str = ""

    @property
    def qualified(self) -> str:
        """The name with its class."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class LiteralText:
    """A string literal. `parts` are its fixed parts; between two of them stands a value that the program fills in.

    `fields` name those values, where the code does.
    """

    parts: tuple[str, ...]
    fields: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The text as people read it, with its fields in braces."""
        pieces = [self.parts[0]]
        for field, part in zip(self.fields, self.parts[1:], strict=True):
            pieces += ["{", field, "}", part]
        return "".join(pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFunction:
    """A test in a test file: its name or title, its class or group, and the lines that it covers, counted from 1.

    `contract` is the first sentence of its documentation.
    """

    __test__ = False  # pytest would take the name for a test class

    title: str
    group: str = ""
    contract: str = ""
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    """One file. `used` are names with their lines, `members` those after a dot, imported or as a keyword.

    `passed` are those that it gives values to as keywords or keys of objects.
    `bound` are names that the file defines or sets, `imports` the modules that it names, `raised` the exceptions that
    it raises.
    """

    declarations: tuple[Declaration, ...] = ()
    texts: tuple[tuple[int, LiteralText], ...] = ()
    used: frozenset[tuple[int, str]] = frozenset()
    members: frozenset[tuple[int, str]] = frozenset()
    passed: frozenset[tuple[int, str]] = frozenset()
    bound: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    raised: tuple[str, ...] = ()
    tests: tuple[TestFunction, ...] = ()
    prose_lines: frozenset[int] = frozenset()
    """Lines of comments and documentation only."""
    comparing_lines: frozenset[int] = frozenset()
    """Lines of assertions."""
