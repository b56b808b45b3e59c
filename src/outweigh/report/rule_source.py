"""Who says by which rule it is decided: a rule that nobody wrote down beforehand is worth less."""

from enum import StrEnum


class RuleSource(StrEnum):
    """Where the policy with its gates and margins comes from, in the words that people read."""

    DEFAULT = "default"
    SUITE = "suite"
    COMMAND_LINE = "command line"
    SUITE_AND_COMMAND_LINE = "suite and command line"
