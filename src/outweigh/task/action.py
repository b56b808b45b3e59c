"""Actions of an agent, as a task file describes them: whichever agent runs, and whatever it calls its tools."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from outweigh.task.spec import Spec

Glob = Annotated[str, Meta(min_length=1, max_length=500)]
"""A pattern with `*`, `?` and `[…]`. Not a regular expression: it is held against what an agent wrote, and some of
those could be made to run for ever."""

Globs = Glob | Annotated[list[Glob], Meta(min_length=1)]


class Action(StrEnum):
    """What a tool does."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    RUN = "run"
    DELEGATE = "delegate"


class ActionPattern(Spec, frozen=True, kw_only=True):
    """Describes tool calls. All that is stated must fit; of several patterns under one key, one.

    `tool` is the agent's own name of a tool, `command` what it ran (or a part of it between `&&`, `||`, `;` and `|`),
    `path` a file it named, or the end of its path.
    """

    action: Action | None = None
    tool: Globs | None = None
    command: Globs | None = None
    path: Globs | None = None

    def __post_init__(self) -> None:
        """A pattern that says nothing would fit everything."""
        if self.action is None and self.tool is None and self.command is None and self.path is None:
            raise ValueError("a pattern of actions needs at least one of `action`, `tool`, `command`, `path`")
