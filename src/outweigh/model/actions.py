"""What agents' tools do, in words that fit every agent, and how a task describes the calls it expects."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from outweigh.model.base import Spec

Glob = Annotated[str, Meta(min_length=1, max_length=500)]
"""A pattern with `*`, `?` and `[…]`. Not a regular expression, because an agent's text could make one run for ever."""

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


_TOOLS = {
    Action.READ: "Read NotebookRead read read_file read_many_files view view_file open",
    Action.SEARCH: "Glob Grep LS WebSearch WebFetch glob grep grep_search list list_directory list_files ls find "
    "search_files search_file_content web_search web_fetch google_web_search",
    Action.EDIT: "Write Edit MultiEdit NotebookEdit write edit write_file write_to_file replace replace_in_file "
    "apply_patch patch file_change create str_replace str_replace_editor text_editor developer__text_editor",
    Action.RUN: "Bash PowerShell bash shell exec exec_command local_shell command_execution run_shell_command "
    "execute_command execute_bash run_command developer__shell",
    Action.DELEGATE: "Task Agent task agent delegate subagent collab_tool_call",
}
ACTION_OF_TOOL = {tool: action for action, tools in _TOOLS.items() for tool in tools.split()}
_EDITORS_THAT_SHOW = frozenset({"str_replace_editor", "text_editor", "developer__text_editor"})


def only_edits(tool: str) -> bool:
    """Whether a tool of this name only changes files."""
    return ACTION_OF_TOOL.get(tool) is Action.EDIT and tool not in _EDITORS_THAT_SHOW
