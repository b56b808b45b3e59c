"""One sub-test of ProjectScylla: a tier, and what its file wants to be laid into the workspace."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import ForeignTable, foreign_table
from outweigh.adapters.suites.naming import folder_name
from outweigh.adapters.suites.source_files import read_yaml
from outweigh.task.spec import Name

_NUMBERED = re.compile(r"\d\d")
_TIERS = range(7)
_CONFIG_FILE = "config.yaml"
_Names = list[Name]


class Blocks(ForeignTable, frozen=True, kw_only=True):
    """Parts of an instruction file, by their ids."""

    blocks: _Names = []  # noqa: RUF012 - msgspec copies defaults
    preset: str | None = None


class SkillChoice(ForeignTable, frozen=True, kw_only=True):
    """Skills, by the folder that they lie in or by name."""

    categories: _Names = []  # noqa: RUF012
    names: _Names = []  # noqa: RUF012


class AgentChoice(ForeignTable, frozen=True, kw_only=True):
    """Sub-agents, by level or by the name of their file."""

    levels: list[Annotated[int, Meta(ge=0, le=99)]] = []  # noqa: RUF012
    names: _Names = []  # noqa: RUF012


class ToolChoice(ForeignTable, frozen=True, kw_only=True):
    """Tools of the agent itself."""

    enabled: Literal["all"] | list[str] = []  # noqa: RUF012
    names: list[str] = []  # noqa: RUF012


class ToolServer(ForeignTable, frozen=True, kw_only=True):
    """A tool server by the name of its package."""

    name: Name
    source: Name | None = None
    config_path: str | None = None


class Resources(ForeignTable, frozen=True, kw_only=True):
    """What is laid; the same keys may stand outside of it too."""

    claude_md: Blocks = Blocks()
    skills: SkillChoice | _Names = SkillChoice()
    agents: AgentChoice = AgentChoice()
    tools: ToolChoice = ToolChoice()
    mcp_servers: list[ToolServer | Name] = []  # noqa: RUF012


class SubtestFile(Resources, frozen=True, kw_only=True):
    """The whole file. `extends_previous` and `inherit_best_from` take over what won on a lower tier."""

    name: str = ""
    description: str = ""
    extends_previous: bool = False
    inherit_best_from: list[str] = []  # noqa: RUF012
    system_prompt_mode: str = "custom"
    agent_teams: bool = False
    resources: Resources = Resources()
    agent: str | None = None
    agent_source: str | None = None
    skills_source: str | None = None


class Subtest(NamedTuple):
    """A sub-test, where it stands, and the folder of its own files where it has one."""

    tier: int
    key: str
    content: SubtestFile
    source: Path
    folder: Path | None

    @property
    def arm(self) -> str:
        """What its arm is called."""
        return f"t{self.tier}-{folder_name(self.key, 'subtest')}"


def shared_subtests(shared: Path) -> Iterator[Subtest]:
    """Those that all tests have in common: `subtests/t0/03-full.yaml`."""
    for tier in _TIERS:
        for source in sorted((shared / "subtests" / f"t{tier}").glob("*.yaml")):
            if _NUMBERED.match(source.name):
                yield _read(tier, source.stem, source, None)


def own_subtests(test: Path) -> Iterator[Subtest]:
    """Those of one test, as older versions have them: `t0/03-full/config.yaml`, and files beside it."""
    for tier in _TIERS:
        for source in sorted((test / f"t{tier}").glob(f"*/{_CONFIG_FILE}")):
            if _NUMBERED.match(source.parent.name):
                yield _read(tier, source.parent.name, source, source.parent)


def _read(tier: int, key: str, source: Path, folder: Path | None) -> Subtest:
    return Subtest(tier, key, foreign_table(read_yaml(source) or {}, SubtestFile, source), source, folder)
