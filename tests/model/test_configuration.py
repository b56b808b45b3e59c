"""Which files of a repository configure an agent, and what differs between two sets of them."""

import pytest

from outweigh.model.agent_files import ConfigurationKind, configuration_kind, imported_paths
from outweigh.model.arm import ChangeKind, OverlayFile, overlay_changes


@pytest.mark.parametrize(
    ("agent", "path", "kind"),
    [
        ("claude-code", "CLAUDE.md", ConfigurationKind.INSTRUCTIONS),
        ("claude-code", ".claude/skills/tidy/SKILL.md", ConfigurationKind.SKILL),
        ("claude-code", ".claude/commands/fix.md", ConfigurationKind.COMMAND),
        ("claude-code", ".claude/agents/reviewer.md", ConfigurationKind.AGENT),
        ("claude-code", ".claude/hooks/lint.sh", ConfigurationKind.HOOK),
        ("claude-code", ".claude/rules/style.md", ConfigurationKind.RULE),
        ("claude-code", ".claude/settings.json", ConfigurationKind.SETTINGS),
        ("claude-code", ".claude/anything", ConfigurationKind.OTHER),
        ("claude-code", ".mcp.json", ConfigurationKind.TOOL_SERVERS),
        ("claude-code", "prompts/system.md", ConfigurationKind.PROMPT),
        ("claude-code", "AGENTS.md", None),
        ("claude-code", ".claudette/x", None),
        ("claude-code", "packages/web/CLAUDE.md", None),
        ("claude-code", "src/main.py", None),
        ("codex", "AGENTS.md", ConfigurationKind.INSTRUCTIONS),
        ("codex", ".agents/skills/tidy/SKILL.md", ConfigurationKind.SKILL),
        ("codex", ".codex/config.toml", ConfigurationKind.SETTINGS),
        ("codex", "CLAUDE.md", None),
        ("gemini-cli", "GEMINI.md", ConfigurationKind.INSTRUCTIONS),
        ("gemini-cli", ".gemini/commands/fix.toml", ConfigurationKind.COMMAND),
        ("qwen-code", "QWEN.md", ConfigurationKind.INSTRUCTIONS),
        ("opencode", "opencode.json", ConfigurationKind.SETTINGS),
        ("goose", ".goosehints", ConfigurationKind.INSTRUCTIONS),
        ("cline", ".clinerules/style.md", ConfigurationKind.RULE),
        ("kimi", ".kimi-code/mcp.json", ConfigurationKind.TOOL_SERVERS),
        ("copilot", ".github/copilot-instructions.md", ConfigurationKind.INSTRUCTIONS),
        ("copilot", ".github/workflows/ci.yml", None),
        ("pi", ".pi/prompts/fix.md", ConfigurationKind.PROMPT),
        ("aider", "CONVENTIONS.md", ConfigurationKind.INSTRUCTIONS),
        ("mini-swe-agent", "AGENTS.md", None),
        ("somebody-elses", "GEMINI.md", ConfigurationKind.INSTRUCTIONS),
        (None, ".qwen/settings.json", ConfigurationKind.SETTINGS),
    ],
)
def test_a_file_is_configuration_where_the_agent_looks_for_it(
    agent: str | None, path: str, kind: ConfigurationKind | None
) -> None:
    assert configuration_kind(path, agent) is kind


def test_instructions_bring_in_files_by_their_paths() -> None:
    text = "See @AGENTS.md and (@./docs/style.md). Write to someone@example.org.\n@notes/a-b_c.md.\nNot `x@y`."

    assert list(imported_paths(text)) == ["AGENTS.md", "docs/style.md", "notes/a-b_c.md"]


def file(path: str, content: str = "1", *, executable: bool = False) -> OverlayFile:
    return OverlayFile(path=path, sha256=content * 64, executable=executable)


def test_added_removed_and_modified_files_are_told_with_their_hashes() -> None:
    before = [file("CLAUDE.md"), file(".mcp.json"), file("same")]
    after = [file("CLAUDE.md", "2"), file(".claude/skills/a/SKILL.md"), file("same")]

    found = overlay_changes(before, after)

    assert [(one.path, one.change, one.before_sha256, one.after_sha256) for one in found] == [
        (".claude/skills/a/SKILL.md", ChangeKind.ADDED, None, "1" * 64),
        (".mcp.json", ChangeKind.REMOVED, "1" * 64, None),
        ("CLAUDE.md", ChangeKind.MODIFIED, "1" * 64, "2" * 64),
    ]
    assert [one.kind for one in found] == [
        ConfigurationKind.SKILL,
        ConfigurationKind.TOOL_SERVERS,
        ConfigurationKind.INSTRUCTIONS,
    ]


def test_a_file_that_became_a_program_is_modified() -> None:
    (found,) = overlay_changes([file("x")], [file("x", executable=True)])

    assert found.change is ChangeKind.MODIFIED


def test_equal_files_differ_in_nothing() -> None:
    assert overlay_changes([file("a"), file("b")], [file("b"), file("a")]) == ()
