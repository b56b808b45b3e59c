"""Sub-tests of ProjectScylla as their files say: their tier, what they put into a workspace, and the lower tiers whose
best sub-test they are built on.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from outweigh.errors import UsageError
from outweigh.interop.scylla.task_reader import TierName
from outweigh.interop.suite_drafting import slug
from outweigh.interop.suite_files import ForeignTable, convert_table, read_yaml
from outweigh.model.base import SafeName

_NUMBERED = re.compile(r"\d\d")
_TIERS = range(7)
_CONFIG_FILE = "config.yaml"
_TIERS_FILE = "tiers.yaml"
_Names = list[SafeName]
_PACKAGE_SCOPE = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")


class BlockChoice(ForeignTable, frozen=True, kw_only=True):
    """Parts of an instruction file, by their ids."""

    blocks: _Names = []  # noqa: RUF012 - msgspec copies defaults
    preset: str | None = None


class SkillChoice(ForeignTable, frozen=True, kw_only=True):
    """Skills, by category folder or by name."""

    categories: _Names = []  # noqa: RUF012
    names: _Names = []  # noqa: RUF012


class AgentChoice(ForeignTable, frozen=True, kw_only=True):
    """Sub-agents, by level or by file name."""

    levels: list[Annotated[int, Meta(ge=0, le=99)]] = []  # noqa: RUF012
    names: _Names = []  # noqa: RUF012


class ToolChoice(ForeignTable, frozen=True, kw_only=True):
    """Built-in tools of the agent."""

    enabled: Literal["all"] | list[str] = []  # noqa: RUF012
    names: list[str] = []  # noqa: RUF012


class ToolServer(ForeignTable, frozen=True, kw_only=True):
    """A tool server, by the name of its package; `source` is the part of that name before it, such as `a/servers`."""

    name: SafeName
    source: Annotated[str, Meta(max_length=200)] | None = None
    config_path: str | None = None

    def __post_init__(self) -> None:
        """Refuse a source that cannot be part of a package's name."""
        if self.source is not None and _PACKAGE_SCOPE.fullmatch(self.source) is None:
            raise ValueError(f"the source of a tool server is {self.source!r}, which is not part of a package's name")


class ResourceTable(ForeignTable, frozen=True, kw_only=True):
    """What is put into a workspace; the same keys may also be outside of this table."""

    claude_md: BlockChoice = BlockChoice()
    skills: SkillChoice | _Names = SkillChoice()
    agents: AgentChoice = AgentChoice()
    tools: ToolChoice = ToolChoice()
    mcp_servers: list[ToolServer | SafeName] = []  # noqa: RUF012


class SubtestFile(ResourceTable, frozen=True, kw_only=True):
    """A sub-test's file. `extends_previous` and `inherit_best_from` take over what won on a lower tier.

    Above tier 0 the harness takes `extends_previous` for true where it is left out.
    """

    name: str = ""
    description: str = ""
    extends_previous: bool = True
    inherit_best_from: list[TierName] = []  # noqa: RUF012
    system_prompt_mode: str = "custom"
    agent_teams: bool = False
    resources: ResourceTable = ResourceTable()
    agent: str | None = None
    agent_source: str | None = None
    skills_source: str | None = None


class Subtest(NamedTuple):
    """A sub-test, its file, and the folder with its own files if it has one."""

    tier: int
    key: str
    content: SubtestFile
    source: Path
    folder: Path | None

    @property
    def arm(self) -> str:
        """The name of its arm."""
        return arm_name(self.tier, self.key)

    @property
    def built_on(self) -> tuple[int, ...]:
        """The tiers whose best sub-test it is built on: those that it names, else the tier below if it extends it."""
        if self.content.inherit_best_from:
            return tuple(sorted({int(name[1:]) for name in self.content.inherit_best_from}))
        return (self.tier - 1,) if self.content.extends_previous and self.tier > 0 else ()


class UnreadSubtest(NamedTuple):
    """A sub-test whose file cannot be used, and why."""

    arm: str
    fault: UsageError


def arm_name(tier: int, key: str) -> str:
    """The name of a sub-test's arm, such as `t1-02-cicd`."""
    return f"t{tier}-{slug(key, 'subtest')}"


def read_shared_subtests(shared: Path) -> Iterator[Subtest | UnreadSubtest]:
    """The sub-tests that all tests share: `subtests/t0/03-full.yaml`."""
    for tier in _TIERS:
        for source in sorted((shared / "subtests" / f"t{tier}").glob("*.yaml")):
            if _NUMBERED.match(source.name):
                yield _read_subtest(tier, source.stem, source, None)


def read_own_subtests(test: Path) -> Iterator[Subtest | UnreadSubtest]:
    """The sub-tests of one test, as in older versions: `t0/03-full/config.yaml`, with files beside it."""
    for tier in _TIERS:
        for source in sorted((test / f"t{tier}").glob(f"*/{_CONFIG_FILE}")):
            if _NUMBERED.match(source.parent.name):
                yield _read_subtest(tier, source.parent.name, source, source.parent)


def _read_subtest(tier: int, key: str, source: Path, folder: Path | None) -> Subtest | UnreadSubtest:
    try:
        found = Subtest(tier, key, convert_table(read_yaml(source) or {}, SubtestFile, source), source, folder)
        if higher := [f"T{number}" for number in found.built_on if number >= tier]:
            raise UsageError(f"{source}: inherit_best_from has {higher[0]}, which is not below its own tier T{tier}.")
    except UsageError as fault:
        return UnreadSubtest(arm_name(tier, key), fault)
    return found


class TierTable(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What a file of tiers says about one tier; only its name is used."""

    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class TiersFile(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A `tiers.yaml`."""

    tiers: dict[TierName, TierTable] = {}  # noqa: RUF012


def read_tier_names(shared: Path) -> dict[int, str]:
    """The names of the tiers by number, from the file beside the sub-tests or the project's older one.

    UsageError if the file is not as the harness writes it.
    """
    places = (shared / _TIERS_FILE, shared.parent.parent.parent / "config" / "tiers" / _TIERS_FILE)
    source = next((place for place in places if place.is_file()), None)
    if source is None:
        return {}
    tiers = convert_table(read_yaml(source) or {}, TiersFile, source).tiers
    return {int(tier[1:]): table.name for tier, table in tiers.items() if table.name is not None}
