"""An arm: one configuration under test (agent, model, files laid over the workspace), and how two arms differ."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from outweigh.model.agent_files import ConfigurationKind, configuration_kind
from outweigh.model.base import SafeName, Spec, VariableName
from outweigh.model.provider import HeaderName, HeaderValue, ProviderIdentity
from outweigh.model.task import WorkspacePath
from outweigh.model.tiers import InheritSpec, TierNumber

DEFAULT_START_SECONDS = 60.0


class McpServer(Spec, frozen=True, kw_only=True):
    """A tool server that the agent may start, or reach by address.

    One that is started has `start_timeout_seconds` to answer each of the agent's first requests. `headers` are sent to
    an address, with `${NAME}` for a secret of the arm.
    """

    command: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    url: str | None = None
    environment: dict[VariableName, str] = {}  # noqa: RUF012
    headers: dict[HeaderName, HeaderValue] = {}  # noqa: RUF012
    start_timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = DEFAULT_START_SECONDS


class ArmSpec(Spec, frozen=True, kw_only=True):
    """An arm as the suite file writes it; what is left out comes from the arm it extends.

    `without` are parts of the arm that it extends which it does not have.
    """

    extends: SafeName | None = None
    agent: SafeName | None = None
    model: str | None = None
    provider: SafeName | None = None
    auth: Literal["key", "login"] | None = None
    tier: TierNumber | None = None
    inherit: InheritSpec | None = None
    parts: list[SafeName] = []  # noqa: RUF012
    without: list[SafeName] = []  # noqa: RUF012
    files: WorkspacePath | None = None
    from_git: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    git_folder: WorkspacePath | None = None
    git_paths: list[WorkspacePath] = []  # noqa: RUF012
    skills: list[WorkspacePath] = []  # noqa: RUF012
    plugins: list[WorkspacePath] = []  # noqa: RUF012
    instructions: str | None = None
    mcp_servers: dict[SafeName, McpServer] = {}  # noqa: RUF012
    extra_prompt: str | None = None
    environment: dict[VariableName, str] = {}  # noqa: RUF012
    secrets: list[VariableName] = []  # noqa: RUF012
    flags: list[str] = []  # noqa: RUF012
    options: dict[str, Any] = {}  # noqa: RUF012
    same_as: SafeName | None = None


class ArmOrigin(Spec, frozen=True, kw_only=True):
    """Where the files of an arm from git come from: the ref as it was named, its commit, the folder in it."""

    ref: str
    commit: str
    folder: str


class OverlayFile(Spec, frozen=True, kw_only=True):
    """A file that an arm adds to the workspace: its path and the hash of its content."""

    path: WorkspacePath
    sha256: str
    executable: bool


class ArmIdentity(Spec, frozen=True, kw_only=True):
    """Everything that makes an arm what it is, every file known by its content; its name and its rank do not."""

    agent: SafeName
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
    provider: ProviderIdentity | None = None
    auth: Literal["login"] | None = None


class Arm(ArmIdentity, frozen=True, kw_only=True):
    """A resolved arm: nothing is inherited any more, and every file is known by its content.

    `option_files` are the hashes of files that options name by path; such options hold absolute paths here.
    `provider_name` is the table under `[providers]` that serves its models, None for those under `[gateway]`.
    """

    name: SafeName
    tier: int | None
    provider_name: SafeName | None = None

    @property
    def manifest(self) -> bytes:
        """Its identity as JSON: an `ArmIdentity` without the paths of files that options name."""
        identity = msgspec.to_builtins(self)
        for name in ("name", "tier", "provider_name"):
            del identity[name]
        for name in ("provider", "auth"):  # left out, so that arms of earlier releases keep their fingerprints
            if identity[name] is None:
                del identity[name]
        # A file that an option names counts by its content, not by its path.
        identity["options"] = {key: value for key, value in self.options.items() if key not in self.option_files}
        for name, server in self.mcp_servers.items():  # left out where default, as earlier releases have no such keys
            if not server.headers:
                del identity["mcp_servers"][name]["headers"]
            if server.start_timeout_seconds == DEFAULT_START_SECONDS:
                del identity["mcp_servers"][name]["start_timeout_seconds"]
        return msgspec.json.encode(identity, order="sorted")

    @property
    def upstream_name(self) -> str | None:
        """Who serves its models, by the name that records have: a provider of the suite, or its agent's login.

        None for those under `[gateway]`.
        """
        return f"{self.agent} login" if self.auth == "login" else self.provider_name

    @property
    def fingerprint(self) -> str:
        """The hash of its manifest."""
        return sha256(self.manifest).hexdigest()


def bare_arm(name: str, agent: str, model: str | None = None) -> Arm:
    """An arm with an agent and nothing else."""
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


class ChangeKind(StrEnum):
    """What happened to a file on the way from the baseline to the candidate."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class OverlayChange(Spec, frozen=True, kw_only=True):
    """One file that the two arms do not share; the hashes are of its content before and after."""

    path: str
    kind: ConfigurationKind
    change: ChangeKind
    before_sha256: str | None
    after_sha256: str | None


def overlay_changes(before: Iterable[OverlayFile], after: Iterable[OverlayFile]) -> tuple[OverlayChange, ...]:
    """Every file that differs, by path; a change of the executable bit alone counts as modified."""
    old, new = ({file.path: file for file in files} for files in (before, after))
    return tuple(
        _change(path, old.get(path), new.get(path)) for path in sorted({*old, *new}) if old.get(path) != new.get(path)
    )


def _change(path: str, old: OverlayFile | None, new: OverlayFile | None) -> OverlayChange:
    return OverlayChange(
        path=path,
        kind=configuration_kind(path) or ConfigurationKind.OTHER,
        change=_change_kind(old, new),
        before_sha256=None if old is None else old.sha256,
        after_sha256=None if new is None else new.sha256,
    )


def _change_kind(old: OverlayFile | None, new: OverlayFile | None) -> ChangeKind:
    if old is None:
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if new is None else ChangeKind.MODIFIED


_FILE_KEYS = ("overlay", "skills")
"""Files, and names derived from them."""


def differing_settings(before: ArmIdentity, after: ArmIdentity) -> tuple[str, ...]:
    """The keys of a suite in which the arms differ, apart from their files."""
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return tuple(key for key in old if key not in _FILE_KEYS and old[key] != new[key])


class ArmSetups(Struct, frozen=True, kw_only=True):
    """What the store says about its arms: their files, where those come from, and notes for every reader."""

    baseline: str
    candidates: tuple[str, ...]
    overlays: Mapping[str, Sequence[OverlayFile]]
    origins: Mapping[str, ArmOrigin]
    notes: tuple[str, ...]

    def changes(self, candidate: str) -> tuple[OverlayChange, ...] | None:
        """The files that differ from the baseline's; None where the store does not know both."""
        if not {self.baseline, candidate} <= self.overlays.keys():
            return None
        return overlay_changes(self.overlays[self.baseline], self.overlays[candidate])
