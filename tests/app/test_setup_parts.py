"""A set-up is cut into its parts: nothing is lost, nothing doubled, and no secret is written down."""

import json
from pathlib import Path

import pytest

from outweigh.app.setup_files import find_setup_files
from outweigh.app.setup_parts import SetupPart, SetupParts, find_parts
from outweigh.app.setup_sections import cut_instructions
from outweigh.app.setup_servers import looks_secret, read_servers
from outweigh.errors import UsageError
from outweigh.model.agent_files import ConfigurationKind

CLAUDE_MD = """# Our project

## Testing
- Run pytest first.
- Keep tests short.

## Style
Short functions.

### Imports
Sorted.
"""
SKILL = "---\nname: tidy\ndescription: Tidies a module.\n---\nRead the module first.\n"
HOOKS = {"SessionStart": [{"hooks": [{"type": "command", "command": "$CLAUDE_PROJECT_DIR/.claude/hooks/start.sh"}]}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one part of every kind."""
    place = tmp_path / "project"
    files = {
        "CLAUDE.md": CLAUDE_MD,
        "sub/CLAUDE.md": "Only here.\n",
        ".claude/skills/tidy/SKILL.md": SKILL,
        ".claude/skills/tidy/more.md": "More.\n",
        ".claude/agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews.\n---\nYou review.\n",
        ".claude/commands/fix.md": "---\ndescription: Fixes.\n---\nFix it.\n",
        ".claude/rules/sql.md": "---\npaths: '*.sql'\n---\nUpper case.\n",
        ".claude/hooks/start.sh": "#!/bin/sh\necho hello\n",
        ".claude/settings.json": json.dumps({"permissions": {"deny": ["WebFetch"]}, "hooks": HOOKS}),
        ".claude/settings.local.json": '{"env": {"KEY": "mine"}}',
        ".mcp.json": json.dumps({"mcpServers": {"zoo": {"command": "python3", "args": ["tools/zoo.py"]}}}),
        "tools/zoo.py": "print()\n",
    }
    for path, content in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content)
    monkeypatch.chdir(place)
    return place


def parts_of(*named: str, by_bullet: bool = False) -> SetupParts:
    return find_parts(find_setup_files(named), by_bullet=by_bullet)


def by_name(found: SetupParts) -> dict[str, SetupPart]:
    return {part.name: part for part in found.parts}


def test_every_kind_of_part_is_found_at_the_known_places(folder: Path) -> None:
    found = parts_of()

    assert {name: part.kind for name, part in by_name(found).items()} == {
        "testing": ConfigurationKind.INSTRUCTIONS,
        "style": ConfigurationKind.INSTRUCTIONS,
        "skill-tidy": ConfigurationKind.SKILL,
        "agent-reviewer": ConfigurationKind.AGENT,
        "command-fix": ConfigurationKind.COMMAND,
        "rule-sql": ConfigurationKind.RULE,
        "server-zoo": ConfigurationKind.TOOL_SERVERS,
        "hook-sessionstart": ConfigurationKind.HOOK,
        "settings": ConfigurationKind.SETTINGS,
    }
    assert found.fixed == "# Our project\n\n", "a title without text is no part, and is never left out"
    assert found.notes == (".claude/settings.local.json is personal, so it is left out.",)


def test_parts_bring_the_files_that_they_need(folder: Path) -> None:
    found = by_name(parts_of())

    assert sorted(found["skill-tidy"].files) == ["skills/tidy/SKILL.md", "skills/tidy/more.md"]
    assert list(found["hook-sessionstart"].files) == ["files/hook-sessionstart/.claude/hooks/start.sh"]
    assert list(found["server-zoo"].files) == ["files/server-zoo/tools/zoo.py"]
    assert found["server-zoo"].spec.files == "files/server-zoo"
    settings = found["settings"].files["files/settings/.claude/settings.json"]
    assert json.loads(settings.content) == {"permissions": {"deny": ["WebFetch"]}}, "hooks are parts of their own"


def test_what_is_read_later_is_told_apart(folder: Path) -> None:
    found = by_name(parts_of("CLAUDE.md", ".claude", "sub/CLAUDE.md"))

    later = {name: part.read_later for name, part in found.items() if part.read_later is not None}
    assert later == {
        "sub-claude": "Only here.\n",
        "skill-tidy": "Read the module first.",
        "agent-reviewer": "You review.",
        "command-fix": "Fix it.",
        "rule-sql": "Upper case.",
    }


def test_bullets_are_parts_where_that_is_asked_for(folder: Path) -> None:
    found = parts_of("CLAUDE.md", by_bullet=True)

    assert [part.name for part in found.parts] == ["testing", "run-pytest-first", "keep-tests-short", "style"]


@pytest.mark.parametrize("by_bullet", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        CLAUDE_MD,
        "No heading at all.\n",
        "Before.\n\n# One\n1\n",
        "# One\ntext\n\n## Two\n2\n",
        "## Same\n1\n\n## Same\n2\n",
        "# A\n## X\n1\n# B\n## X\n2\n",
        "- one\n- two\n\nAfter.\n\n# Last\n- three\n- four\n",
        "# Title\n\n```\n## no heading\n```\n",
    ],
)
def test_cutting_loses_and_doubles_no_text(text: str, *, by_bullet: bool) -> None:
    cut = cut_instructions(text, by_bullet=by_bullet)

    lines = sorted(line for piece in (cut.fixed, *(one.text for one in cut.sections)) for line in piece.splitlines())
    assert lines == sorted(text.splitlines())


def test_a_long_bullet_is_named_by_how_it_starts() -> None:
    long = "Before every commit, run " + "all of the tests, " * 40
    cut = cut_instructions(f"# Testing\n- {long}\n- Short.\n", by_bullet=True)

    titles = [one.titles for one in cut.sections]
    assert titles[-2:] == [(long[:80].rstrip(),), ("Short.",)]


def test_names_of_parts_differ_and_keep_the_letters_of_every_language(folder: Path) -> None:
    (folder / "CLAUDE.md").write_text("# Тесты\n1\n# Style!\n2\n# style\n3\n")

    assert [part.name for part in parts_of("CLAUDE.md").parts] == ["тесты", "style", "style-2"]


def test_sections_of_one_title_are_named_by_their_text() -> None:
    cut = cut_instructions("## Same\n1\n\n## Same\n2\n", by_bullet=False)

    assert [(one.titles, one.text) for one in cut.sections] == [(None, "## Same\n1\n\n"), (None, "## Same\n2\n")]


class TestSecrets:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("GITHUB_TOKEN", "abc"),
            ("DB_PASSWORD", "hunter2"),
            ("SETTING", "sk-ant-0123456789abcdef0123"),
            ("SETTING", "postgresql://me:secret@host/db"),
            ("SETTING", "0f3a9b7c5d1e2f4a6b8c0d9e7f5a3b1c"),
        ],
    )
    def test_a_value_that_looks_like_one_is_recognised(self, name: str, value: str) -> None:
        assert looks_secret(name, value)

    @pytest.mark.parametrize(
        ("name", "value"), [("MODE", "fast"), ("GITHUB_TOKEN", "${GITHUB_TOKEN}"), ("ROOT", "/srv/project"), ("X", "")]
    )
    def test_other_values_stay(self, name: str, value: str) -> None:
        assert not looks_secret(name, value)

    def test_those_of_servers_become_secrets_of_the_arm(self) -> None:
        content = {
            "mcpServers": {
                "zoo": {"command": "zoo", "env": {"ZOO_TOKEN": "abc123", "MODE": "fast", "USER_KEY": "${USER_KEY}"}},
                "web": {
                    "url": "https://example.org/mcp",
                    "headers": {"Authorization": "Bearer abcdefgh", "X-Mode": "a"},
                },
            }
        }

        found = read_servers(json.dumps(content).encode(), ".mcp.json")

        assert found["zoo"].secrets == ("USER_KEY", "ZOO_TOKEN")
        assert found["zoo"].server.environment == {"MODE": "fast"}
        assert found["web"].secrets == ("WEB_AUTHORIZATION",)
        assert found["web"].server.headers == {"Authorization": "${WEB_AUTHORIZATION}", "X-Mode": "a"}

    def test_a_variable_that_a_command_names_becomes_a_secret(self) -> None:
        stated = {"mcpServers": {"zoo": {"command": "zoo", "args": ["--api-key", "${ZOO_KEY}"]}}}

        found = read_servers(json.dumps(stated).encode(), ".mcp.json")["zoo"]

        assert (found.secrets, found.withheld) == (("ZOO_KEY",), None)
        assert found.server.command == ["zoo", "--api-key", "${ZOO_KEY}"]

    @pytest.mark.parametrize(
        "server",
        [
            {"command": "zoo", "args": ["--api-key", "abc123"]},
            {"command": "zoo", "args": ["--token=abc123"]},
            {"command": "zoo", "args": ["postgresql://me:secret@host/db"]},
            {"url": "https://me:secret@example.org/mcp"},
        ],
    )
    def test_a_server_with_one_in_its_command_or_address_is_withheld(self, server: dict[str, object]) -> None:
        found = read_servers(json.dumps({"mcpServers": {"zoo": server}}).encode(), ".mcp.json")["zoo"]

        assert found.withheld is not None
        assert "abc123" not in repr(found.server)
        assert "secret@" not in repr(found.server)

    def test_settings_with_one_are_withheld(self, folder: Path) -> None:
        (folder / ".claude/settings.json").write_text('{"env": {"SERVICE_API_KEY": "abc123"}}')

        settings = by_name(parts_of(".claude/settings.json"))["settings"]

        assert settings.withheld == "env.SERVICE_API_KEY looks like a secret; take it out of the file"


class TestBadInput:
    @pytest.mark.parametrize(
        ("named", "said"),
        [
            ("nowhere.md", "there is no file or folder 'nowhere.md'"),
            ("tools/zoo.py", "nothing that a known agent reads as its set-up"),
            ("/etc/hostname", "is not below"),
            ("tools", "no set-up of an agent|nothing that can be left out"),
        ],
    )
    def test_what_is_no_set_up_is_refused(self, folder: Path, named: str, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            parts_of(named)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "CLAUDE.md is empty"),
            (b" \n", "CLAUDE.md is empty"),
            (b"\xff\xfe\x00", "is not UTF-8 text"),
            (b"a\0b", "is not UTF-8 text"),
        ],
    )
    def test_an_empty_or_binary_file_is_refused(self, folder: Path, content: bytes, said: str) -> None:
        (folder / "CLAUDE.md").write_bytes(content)

        with pytest.raises(UsageError, match=said):
            parts_of("CLAUDE.md")

    @pytest.mark.parametrize("path", ["CLAUDE.md", ".claude/skills/tidy/SKILL.md", ".claude/skills/other"])
    def test_a_link_out_of_the_folder_is_refused(self, folder: Path, path: str) -> None:
        outside = folder.parent / "outside"
        outside.mkdir()
        (outside / "SKILL.md").write_text(SKILL)
        target = outside if path.endswith("other") else outside / "SKILL.md"
        (folder / path).unlink(missing_ok=True)
        (folder / path).symlink_to(target)

        with pytest.raises(UsageError, match="which leads out of"):
            parts_of()

    @pytest.mark.parametrize("named", [(), (".claude",)])
    def test_a_folder_of_the_set_up_that_is_a_link_out_is_refused(self, folder: Path, named: tuple[str, ...]) -> None:
        (folder / ".claude").rename(folder.parent / "elsewhere")
        (folder / ".claude").symlink_to(folder.parent / "elsewhere")

        with pytest.raises(UsageError, match=r"\.claude is a link to .* which leads out of"):
            parts_of(*named)

    def test_a_link_to_nothing_is_refused(self, folder: Path) -> None:
        (folder / "CLAUDE.md").unlink()
        (folder / "CLAUDE.md").symlink_to("nowhere")

        with pytest.raises(UsageError, match=r"CLAUDE\.md is a link to 'nowhere', which is not there"):
            parts_of("CLAUDE.md")

    def test_a_link_within_the_folder_is_followed(self, folder: Path) -> None:
        (folder / "AGENTS.md").symlink_to("CLAUDE.md")
        (folder / ".claude/skills/again").symlink_to("tidy")

        found = by_name(parts_of("AGENTS.md", ".claude"))

        assert {"testing", "style", "skill-tidy", "skill-again"} <= found.keys()

    @pytest.mark.parametrize(
        "content", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": {"args": 1}}}', '{"mcpServers": {"a": {}}}']
    )
    def test_a_broken_list_of_servers_is_refused(self, folder: Path, content: str) -> None:
        (folder / ".mcp.json").write_text(content)

        with pytest.raises(UsageError, match=r"\.mcp\.json is not a list of tool servers"):
            parts_of(".mcp.json")

    def test_an_empty_folder_has_no_set_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

        with pytest.raises(UsageError, match="has no set-up of an agent"):
            parts_of()
