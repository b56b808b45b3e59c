"""One configuration under test: an agent, a model, and what is laid over the workspace."""

from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.task.check import WorkspacePath
from outweigh.task.spec import Name, Spec

VariableName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class McpServer(Spec, frozen=True, kw_only=True):
    """A tool server that the agent may start, or reach by address."""

    command: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    url: str | None = None
    environment: dict[VariableName, str] = {}  # noqa: RUF012


class ArmSpec(Spec, frozen=True, kw_only=True):
    """An arm as the suite file writes it; what is left out comes from the arm it extends."""

    extends: Name | None = None
    agent: Name | None = None
    model: str | None = None
    tier: Annotated[int, Meta(ge=0)] | None = None
    files: WorkspacePath | None = None
    from_git: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    git_folder: WorkspacePath | None = None
    git_paths: list[WorkspacePath] = []  # noqa: RUF012
    skills: list[WorkspacePath] = []  # noqa: RUF012
    instructions: str | None = None
    mcp_servers: dict[Name, McpServer] = {}  # noqa: RUF012
    extra_prompt: str | None = None
    environment: dict[VariableName, str] = {}  # noqa: RUF012
    secrets: list[VariableName] = []  # noqa: RUF012
    flags: list[str] = []  # noqa: RUF012
    options: dict[str, Any] = {}  # noqa: RUF012
    same_as: Name | None = None


class ArmOrigin(Spec, frozen=True, kw_only=True):
    """Where the files of an arm from git come from: the ref as somebody named it, its commit, the folder in it."""

    ref: str
    commit: str
    folder: str


class OverlayFile(Spec, frozen=True, kw_only=True):
    """A file laid into the workspace: where, and the hash of what."""

    path: WorkspacePath
    sha256: str
    executable: bool


class ArmIdentity(Spec, frozen=True, kw_only=True):
    """Everything that makes an arm what it is, every file known by its content; its name and its rank do not."""

    agent: Name
    model: str | None
    overlay: tuple[OverlayFile, ...]
    skills: tuple[str, ...]
    mcp_servers: dict[str, McpServer]
    extra_prompt: str | None
    environment: dict[str, str]
    secrets: tuple[str, ...]
    flags: tuple[str, ...]
    options: dict[str, Any]
    option_files: dict[str, str]


class Arm(ArmIdentity, frozen=True, kw_only=True):
    """A resolved arm: nothing is inherited any more, and every file is known by its content.

    `option_files` are the hashes of files that options name by path; such options hold absolute paths here.
    """

    name: Name
    tier: int | None

    @property
    def manifest(self) -> bytes:
        """Its identity as it is written down: an `ArmIdentity` without the paths of files that options name."""
        identity = msgspec.to_builtins(self)
        for name in ("name", "tier"):
            del identity[name]
        # A file that an option names counts by its content, wherever it lies.
        identity["options"] = {key: value for key, value in self.options.items() if key not in self.option_files}
        return msgspec.json.encode(identity, order="sorted")

    @property
    def fingerprint(self) -> str:
        """The hash of its manifest."""
        return sha256(self.manifest).hexdigest()


def bare_arm(name: str, agent: str, model: str | None = None) -> Arm:
    """An arm with nothing to it but its agent."""
    return Arm(
        name=name,
        agent=agent,
        model=model,
        tier=None,
        overlay=(),
        skills=(),
        mcp_servers={},
        extra_prompt=None,
        environment={},
        secrets=(),
        flags=(),
        options={},
        option_files={},
    )
