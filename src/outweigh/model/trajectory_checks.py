"""Checks of what an agent did: its tool calls, its transcript, the files that it created; and what all checks have."""

from typing import Annotated

from msgspec import Meta

from outweigh.model.actions import Glob
from outweigh.model.base import SafeName, Spec, Weight

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
PathGlob = Annotated[str, Meta(min_length=1, max_length=1000)]
"""A pattern for whole paths: `*` and `?` stay within a folder, `**` crosses folders."""


class CheckSpec(Spec, frozen=True, kw_only=True, tag_field="type"):
    """What all checks have: a name, whether a run can pass without it, and its weight in the objective score.

    A check of weight 0 is evaluated and recorded, and not scored.
    """

    name: SafeName
    required: bool = True
    weight: Weight = 1.0

    def __post_init__(self) -> None:
        """A check that is not scored cannot decide whether a run passed."""
        if self.required and not self.weight:
            raise ValueError("a check with `weight = 0` is not scored, so it needs `required = false`")


class ToolCallPattern(Spec, frozen=True, kw_only=True):
    """Describes tool calls: the agent's own name of the tool, and a regular expression for its input as JSON."""

    tool: Glob
    input_regex: str | None = None


class ToolCallsCheck(CheckSpec, frozen=True, kw_only=True, tag="tool_calls"):
    """The agent must have called a tool at least, and at most, so many times."""

    tool: Glob
    input_regex: str | None = None
    at_least: Count = 1
    at_most: Count | None = None


class ToolOrderCheck(CheckSpec, frozen=True, kw_only=True, tag="tool_order"):
    """The first call that fits `first` must come before the first that fits `then`; both must be there."""

    first: ToolCallPattern
    then: ToolCallPattern


class TranscriptContainsCheck(CheckSpec, frozen=True, kw_only=True, tag="transcript_contains"):
    """What the agent printed must contain a text or match a regular expression.

    Where `absent` is set, it must not; with `count`, it must be there exactly so often.
    """

    text: str | None = None
    regex: str | None = None
    absent: bool = False
    count: Count | None = None


class CreatedFilesCheck(CheckSpec, frozen=True, kw_only=True, tag="created_files"):
    """Paths of files that the run created, one per line: one fits `glob`, or `regex` matches in the list.

    Where `absent` is set, none does; with `count`, exactly so many do.
    """

    glob: PathGlob | None = None
    regex: str | None = None
    absent: bool = False
    count: Count | None = None
