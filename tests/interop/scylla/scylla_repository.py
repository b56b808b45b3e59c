"""A repository in the layout of ProjectScylla's own: 47 tests, and 120 sub-tests of 7 tiers that all of them share."""

from collections.abc import Iterator
from pathlib import Path

from tests.interop.foreign_suites import SCYLLA_TEST, scylla_files, write

TIER_NAMES = ("Prompts", "Skills", "Tooling", "Delegation", "Hierarchy", "Hybrid", "Super")
SUBTESTS = (24, 10, 15, 41, 14, 15, 1)
CATEGORIES = ("agent", "cicd", "docs", "forge", "language", "other", "quality", "steps", "trees")
BLOCKS = tuple(f"B{number:02}" for number in range(1, 19))
SPECIALISTS = tuple(f"specialist-{number:02}" for number in range(1, 38))
ORCHESTRATORS = tuple(f"orchestrator-{number}" for number in range(1, 8))
INHERITED = ("[T0]", "[T1]", "[T2]", "[T3]", "[T4]", "[T0, T1]", "[T1, T3]", "[T0, T1, T2]", "[T2, T4]", "[T0, T3, T4]")


def scylla_repository(root: Path, tests: int = 47, changes: dict[str, str] | None = None) -> Path:
    """Write the repository; `changes` replaces or adds files of the shared folder, by their paths there."""
    every_tier = SCYLLA_TEST.partition("tiers:")[0]
    for number in range(1, tests + 1):
        name = f"test-{number:03}"
        write(root / "tests/fixtures/tests" / name, scylla_files(every_tier.replace("test-101", name)))
    write(root / "tests/claude-code/shared", {**dict(_resources()), **dict(_subtests()), **(changes or {})})
    return root


def _resources() -> Iterator[tuple[str, str]]:
    yield (
        "tiers.yaml",
        "tiers:\n"
        + "".join(f"  T{tier}:\n    name: {name}\n    tools_enabled: null\n" for tier, name in enumerate(TIER_NAMES)),
    )
    for block in BLOCKS:
        yield f"blocks/{block}-words.md", f"Words of {block}.\n"
    for category in CATEGORIES:
        yield f"skills/{category}/{category}-skill/SKILL.md", f"---\nname: {category}-skill\ndescription: x\n---\nDo.\n"
    for number, name in enumerate(SPECIALISTS):
        yield f"agents/L{number % 4 + 2}/{name}.md", f"You are {name}.\n"
    for number, name in enumerate(ORCHESTRATORS):
        yield f"agents/L{min(number, 1)}/{name}.md", f"You are {name}.\n"


def _subtests() -> Iterator[tuple[str, str]]:
    for tier, subtests in enumerate((_prompts, _skills, _tools, _delegation, _hierarchy, _hybrids, _everything)):
        for name, content in subtests():
            yield f"subtests/t{tier}/{name}.yaml", content


def _prompts() -> Iterator[tuple[str, str]]:
    yield "00-empty", "system_prompt_mode: none\nextends_previous: false\nresources: {claude_md: {blocks: []}}\n"
    yield "01-vanilla", "system_prompt_mode: default\nextends_previous: false\nresources: {claude_md: {blocks: []}}\n"
    for number, count in enumerate((1, 18, 2, 7), start=2):
        listed = ", ".join(BLOCKS[-count:])
        yield f"{number:02}-some", f"extends_previous: false\nresources: {{claude_md: {{blocks: [{listed}]}}}}\n"
    for number, block in enumerate(BLOCKS, start=6):
        words = f"[{block}, B01]" if block != "B01" else "[B01]"
        yield f"{number:02}-{block}", f"extends_previous: false\nresources: {{claude_md: {{blocks: {words}}}}}\n"


def _skills() -> Iterator[tuple[str, str]]:
    for number, category in enumerate(CATEGORIES, start=1):
        yield (
            f"{number:02}-{category}",
            f"extends_previous: true\nresources: {{skills: {{categories: [{category}]}}}}\n",
        )
    yield "10-plugin", "name: Plugin\nextends_previous: true\n"


def _tools() -> Iterator[tuple[str, str]]:
    for number, tools in enumerate(("[Read]", "[Read, Bash]", "[Read, Bash, WebFetch]", "all"), start=1):
        yield f"{number:02}-tools", f"extends_previous: true\ntools:\n  enabled: {tools}\n"
    for number, server in enumerate(("files", "git", "memory", "fetch", "thinking", "time"), start=5):
        lines = f"mcp_servers:\n  - name: {server}\n    source: modelcontextprotocol/servers\n"
        yield f"{number:02}-{server}-mcp", f"extends_previous: true\n{lines}"
    for number, server in enumerate(("forge", "database", "browser", "chat"), start=11):
        yield (
            f"{number}-{server}-mcp",
            f"extends_previous: true\nmcp_servers:\n  - name: {server}\n    source: third-party\n",
        )
    own = "mcp_servers:\n  - name: custom\n    source: local\n    config_path: .claude/mcp/custom.json\n"
    yield "15-custom-mcp", f"extends_previous: true\n{own}"


def _delegation() -> Iterator[tuple[str, str]]:
    for number, name in enumerate(SPECIALISTS, start=1):
        yield f"{number:02}-{name}", f"extends_previous: true\nresources: {{agents: {{names: [{name}.md]}}}}\n"
    for number, level in enumerate(range(2, 6), start=38):
        yield f"{number}-all-L{level}", f"extends_previous: true\nresources: {{agents: {{levels: [{level}]}}}}\n"


def _hierarchy() -> Iterator[tuple[str, str]]:
    for number, name in enumerate(ORCHESTRATORS, start=1):
        content = f"extends_previous: true\nresources: {{agents: {{names: [{name}.md]}}}}\n"
        yield f"{number:02}-{name}", content
        yield f"{number + 7:02}-{name}-teams", f"agent_teams: true\n{content}"


def _hybrids() -> Iterator[tuple[str, str]]:
    for number, tiers in enumerate(INHERITED, start=1):
        yield f"{number:02}-best", f"extends_previous: true\ninherit_best_from: {tiers}\n"
    for number, resources in enumerate(
        (
            f"{{claude_md: {{blocks: [{', '.join(BLOCKS)}]}}}}",
            f"{{skills: {{categories: [{', '.join(CATEGORIES)}]}}}}",
            "{agents: {levels: [0, 1, 2, 3, 4, 5]}}",
            "{tools: {enabled: [Bash]}}",
            "{agents: {levels: [0, 1]}, skills: {categories: [quality]}}",
        ),
        start=11,
    ):
        yield f"{number}-all", f"extends_previous: true\nresources: {resources}\n"


def _everything() -> Iterator[tuple[str, str]]:
    yield (
        "01-everything",
        "extends_previous: false\ntools:\n  enabled: all\nmcp_servers:\n  - name: files\n  - name: git\n"
        f"resources:\n  skills: {{categories: [{', '.join(CATEGORIES)}]}}\n  agents: {{levels: [0, 1, 2, 3, 4, 5]}}\n",
    )
