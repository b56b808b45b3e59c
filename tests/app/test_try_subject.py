"""What a change to an agent's set-up is, by its path or name, and what each arm has of it."""

import json
import os
from pathlib import Path

import pytest
from tests.repositories import Repository

from outweigh.app.try_subject import NamedSubject, SubjectKind, TrySubject
from outweigh.errors import UsageError

SKILL = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    found = Repository(tmp_path / "repository")
    monkeypatch.chdir(found.folder)
    return found


def subject(repository: Repository, named: str, base: str | None = None, agent: str = "claude-code") -> TrySubject:
    found = NamedSubject(named, repository.folder.resolve(), base)
    assert found.read_by(agent)
    return found.for_agent(agent)


def texts(found: TrySubject) -> tuple[dict[str, str], dict[str, str]]:
    before, after = (
        {path: file.content.decode() for path, file in arm.files.items()} for arm in (found.before, found.after)
    )
    return before, after


def test_an_instruction_file_is_in_the_candidate_alone_and_in_no_workspace_of_itself(repository: Repository) -> None:
    repository.write({"CLAUDE.md": "Now.\n"})

    found = subject(repository, "CLAUDE.md")

    assert (found.kind, found.slug, found.without) == (SubjectKind.FILES, "claude-md", ("CLAUDE.md",))
    assert texts(found) == ({}, {"CLAUDE.md": "Now.\n"})


def test_configuration_that_instructions_include_goes_with_them_and_other_files_stay_as_tasks_have_them(
    repository: Repository,
) -> None:
    """The present README may tell what tasks ask for."""
    repository.write({"CLAUDE.md": "@AGENTS.md and @README.md\n", "AGENTS.md": "Agents.\n", "README.md": "Future.\n"})

    found = subject(repository, "CLAUDE.md")

    assert texts(found)[1] == {"CLAUDE.md": "@AGENTS.md and @README.md\n", "AGENTS.md": "Agents.\n"}
    assert found.without == ("CLAUDE.md", "AGENTS.md")


def test_a_link_is_tried_as_the_file_that_it_leads_to(repository: Repository) -> None:
    repository.write({"AGENTS.md": "Agents.\n"})
    (repository.folder / "CLAUDE.md").symlink_to("AGENTS.md")

    assert texts(subject(repository, "CLAUDE.md"))[1] == {"CLAUDE.md": "Agents.\n"}


def test_a_file_that_was_removed_since_the_base_is_in_the_baseline_alone(repository: Repository) -> None:
    repository.commit({"CLAUDE.md": "Then.\n"})
    repository.write({"CLAUDE.md": None})

    assert texts(subject(repository, "CLAUDE.md", "HEAD")) == ({"CLAUDE.md": "Then.\n"}, {})


@pytest.mark.parametrize("named", ["skills/tidy", "skills/tidy/", "skills/tidy/SKILL.md"])
def test_a_skill_is_put_where_the_agent_looks_for_it(repository: Repository, named: str) -> None:
    repository.write({"skills/tidy/SKILL.md": SKILL, "skills/tidy/__pycache__/x.pyc": "x"})

    found = subject(repository, named, agent="codex")

    assert (found.kind, found.slug) == (SubjectKind.SKILL, "tidy")
    assert texts(found) == ({}, {".agents/skills/tidy/SKILL.md": SKILL})
    assert found.without == ("skills/tidy", ".agents/skills/tidy")


def test_a_skill_may_be_outside_of_the_repository(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "tidy").mkdir()
    (tmp_path / "tidy" / "SKILL.md").write_text(SKILL)

    found = subject(repository, str(tmp_path / "tidy"))

    assert found.without == (".claude/skills/tidy",)
    with pytest.raises(UsageError, match="no revision has it"):
        NamedSubject(str(tmp_path / "tidy"), repository.folder.resolve(), "HEAD")


def test_a_plugin_is_named_on_the_command_line_of_the_candidate(repository: Repository) -> None:
    repository.write({"plugin/.claude-plugin/plugin.json": '{"name": "p"}', "plugin/commands/go.md": "Go.\n"})

    found = subject(repository, "plugin")

    assert (found.kind, found.before.flags, found.after.flags) == (
        SubjectKind.PLUGIN,
        (),
        ("--plugin-dir", "plugin"),
    )
    assert sorted(found.after.files) == ["plugin/.claude-plugin/plugin.json", "plugin/commands/go.md"]
    assert not NamedSubject("plugin", repository.folder.resolve(), None).read_by("codex")


def test_tool_servers_become_those_of_the_arm_and_variables_become_its_secrets(repository: Repository) -> None:
    servers = {
        "files": {"command": "node", "args": ["server.js", "."], "env": {"TOKEN": "${TOKEN}", "MODE": "fast"}},
        "remote": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
    }
    repository.write({".mcp.json": json.dumps({"mcpServers": servers})})

    found = subject(repository, ".mcp.json")

    assert found.after.mcp_servers["files"].command == ["node", "server.js", "."]
    assert found.after.mcp_servers["files"].environment == {"MODE": "fast"}
    assert found.after.mcp_servers["remote"].url == "https://example.org/mcp"
    assert found.after.secrets == ("KEY", "TOKEN")
    assert (found.without, texts(found)) == ((".mcp.json",), ({}, {}))


def test_the_program_of_a_server_comes_along_alone_and_stays_in_the_baseline(repository: Repository) -> None:
    """What is beside it may be the code that tasks are about."""
    servers = {"one": {"command": "node", "args": ["src/server.js"]}, "two": {"command": "./start.sh"}}
    repository.write({".mcp.json": json.dumps({"mcpServers": servers}), "src/server.js": "1", "src/index.js": "2"})
    repository.write({"start.sh": "3", "other.sh": "4"})

    found = subject(repository, ".mcp.json")

    assert texts(found) == ({}, {"src/server.js": "1", "start.sh": "3"})
    assert found.without == (".mcp.json",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not a list of tool servers"),
        ('{"mcpServers": {}}', "has no tool server"),
        ('{"mcpServers": {"a": {"args": []}}}', "is not a list of tool servers"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"A": "${B}"}}}}', "value of another variable"),
        ('{"mcpServers": {"a": {"command": "x", "env": [1]}}}', "is not a list of tool servers"),
    ],
)
def test_servers_that_cannot_be_read_are_refused(repository: Repository, content: str, said: str) -> None:
    repository.write({".mcp.json": content})

    with pytest.raises(UsageError, match=said):
        subject(repository, ".mcp.json")


def test_a_name_without_a_file_is_that_of_a_model(repository: Repository) -> None:
    found = subject(repository, "claude-haiku-4-5")

    assert (found.kind, found.before.model, found.after.model) == (SubjectKind.MODEL, None, "claude-haiku-4-5")
    assert (found.without, found.slug) == ((), "claude-haiku-4-5")


def test_a_folder_of_configuration_is_tried_whole(repository: Repository) -> None:
    repository.write({".claude/agents/a.md": "A.\n", ".claude/settings.json": "{}"})

    found = subject(repository, ".claude")

    assert sorted(found.after.files) == [".claude/agents/a.md", ".claude/settings.json"]
    assert found.without == (".claude",)


def test_a_file_that_the_agent_does_not_read_is_not_for_it(repository: Repository) -> None:
    repository.write({"AGENTS.md": "Agents.\n", "notes.md": "Notes.\n"})
    top = repository.folder.resolve()

    assert NamedSubject("AGENTS.md", top, None).read_by("codex")
    assert not NamedSubject("AGENTS.md", top, None).read_by("claude-code")
    assert not NamedSubject("notes.md", top, None).read_by("claude-code")


@pytest.mark.parametrize("named", ["../elsewhere.md", "."])
def test_what_is_not_inside_the_repository_is_refused(repository: Repository, named: str) -> None:
    (repository.folder.parent / "elsewhere.md").write_text("Elsewhere.\n")

    with pytest.raises(UsageError, match="is not a file or folder inside the repository"):
        NamedSubject(named, repository.folder.resolve(), None)


def test_a_pipe_is_not_read(repository: Repository) -> None:
    os.mkfifo(repository.folder / "CLAUDE.md")

    with pytest.raises(UsageError, match="is empty"):
        NamedSubject("CLAUDE.md", repository.folder.resolve(), None)
