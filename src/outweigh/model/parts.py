"""Parts of a set-up as a suite writes them, and the designs that make arms of them.

An arm is composed of parts with `parts = ["a", "b"]`; a design makes one arm for each set of parts that it needs.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from outweigh.model.arm import McpServer
from outweigh.model.base import Repeats, SafeName, Spec
from outweigh.model.task import WorkspacePath

SectionTitle = Annotated[str, Meta(min_length=1, max_length=500, description="a heading or the start of a bullet")]


class PartSpec(Spec, frozen=True, kw_only=True):
    """One part of a set-up: something that can be in an arm or left out of it.

    `instructions` is text, and `instructions_file` a file of the suite's folder, of which `sections` are taken by
    heading or by the start of a bullet; without `sections` it is the whole file. Instructions of several parts are
    written into one file, in the order in which the suite defines the parts. `agents` are sub-agents' files, `hooks`
    is a table as the agent's settings have it, and `files` is a folder that is copied into the workspace.
    """

    instructions: str | None = None
    instructions_file: WorkspacePath | None = None
    sections: list[SectionTitle] = []  # noqa: RUF012 - msgspec copies defaults
    skills: list[WorkspacePath] = []  # noqa: RUF012
    mcp_servers: dict[SafeName, McpServer] = {}  # noqa: RUF012
    hooks: dict[str, Any] = {}  # noqa: RUF012
    agents: list[WorkspacePath] = []  # noqa: RUF012
    files: WorkspacePath | None = None
    flags: list[str] = []  # noqa: RUF012
    model: str | None = None

    def __post_init__(self) -> None:
        """A part that adds nothing, or sections of no file, is a mistake."""
        if self.sections and self.instructions_file is None:
            raise ValueError("`sections` are taken from `instructions_file`, which is missing")
        if self.instructions is not None and self.instructions_file is not None:
            raise ValueError("a part has `instructions` or an `instructions_file`, not both")
        if not any(getattr(self, name) not in (None, [], {}) for name in self.__struct_fields__):
            raise ValueError("a part needs something to add, such as `instructions` or `skills`")


DesignKind = Literal["leave-one-out", "add-one", "factorial", "fractional", "screen"]


class DesignSpec(Spec, frozen=True, kw_only=True):
    """How arms are made of parts.

    `parts` are those that the design varies, all of the suite's where it names none; `arm` is the arm that they are
    added to or left out of, the suite's baseline where none is named. `arms` is how many arms the design may have. Its
    arms may run on another `model` and with other `repeats`, such as those of a screen on a cheap model, whose
    `shortlist` best parts are then confirmed.
    """

    kind: DesignKind
    parts: list[SafeName] = []  # noqa: RUF012
    arm: SafeName | None = None
    arms: Annotated[int, Meta(ge=2, le=512)] | None = None
    model: str | None = None
    repeats: Repeats | None = None
    shortlist: Annotated[int, Meta(ge=1, le=64)] | None = None


class MadeDesign(Spec, frozen=True, kw_only=True):
    """A design with the arms that it was made into, as a store keeps it.

    `arm` is the arm that the parts were added to or left out of, `arms` are all that belong to the design, in its
    order, also those that the suite has anyway. `full` is the one with all of its parts and `bare` the one with none
    of them, None where the design has no such arm. `generators` say by which other parts a fractional design decides
    whether a part is in an arm.
    """

    kind: DesignKind
    parts: tuple[SafeName, ...]
    arm: SafeName
    arms: tuple[SafeName, ...]
    full: SafeName | None = None
    bare: SafeName | None = None
    model: str | None = None
    repeats: Repeats | None = None
    shortlist: int | None = None
    generators: dict[SafeName, tuple[SafeName, ...]] = {}  # noqa: RUF012
