"""Plugins of an arm: laid into the workspace without their evals, from the disk or a commit, and proven by their
names.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import write_suite
from tests.engine.plugin_arms import PLUGIN_FILES, write_files

from outweigh.app.suite_selection import load_two_revisions
from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.engine.setup_check import SetupCheck, check_setup, expected_setup
from outweigh.errors import UsageError
from outweigh.model.run_record import ObservedServer, ObservedSetup

ALL = ObservedSetup(
    skills=("full:greet", "verify"),
    skills_used=(),
    mcp_servers=(ObservedServer(name="plugin:full:sums", state="connected"),),
    tools=None,
    memory_files=None,
    seen_by=("init event",),
    agents=("Explore", "full:critic"),
    commands=("compact", "full:zoo:release"),
    plugins=("full", "builtin"),
    hooks=("SessionStart",),
)


def suite_with(folder: Path, files: dict[str, str] = PLUGIN_FILES, agent: str = "claude-code") -> LoadedSuite:
    write_files(folder / "plug", files)
    arms: dict[str, dict[str, Any]] = {
        "plain": {"agent": agent},
        "plugged": {"extends": "plain", "plugins": ["plug"]},
    }
    return load_suite(write_suite(folder, arms), check_policy=lambda _: None)


def checked(suite: LoadedSuite, reported: ObservedSetup, arm: str = "plugged") -> SetupCheck:
    return check_setup(suite.arms[arm], expected_setup(suite.arms, suite.overlays), reported, None)


def test_a_plugin_is_laid_into_the_workspace_and_named_by_a_flag(tmp_path: Path) -> None:
    arm = suite_with(tmp_path).arms["plugged"]

    assert arm.flags == ("--plugin-dir", ".claude-plugins/full")
    assert {file.path for file in arm.overlay} == {f".claude-plugins/full/{path}" for path in PLUGIN_FILES}


def test_what_says_how_the_agent_is_judged_is_left_out(tmp_path: Path) -> None:
    hidden = {
        "evals/greeting/prompt.md": "Greet.",
        "evals/results/1/aggregate-result.json": "{}",
        "checks/suite.toml": "",
        "checks/tasks/a/tests/test.sh": "",
        ".git/config": "",
    }
    arm = suite_with(tmp_path, PLUGIN_FILES | hidden).arms["plugged"]

    assert {file.path for file in arm.overlay} == {f".claude-plugins/full/{path}" for path in PLUGIN_FILES}


def test_evals_are_where_the_manifest_says(tmp_path: Path) -> None:
    manifest = json.dumps({"name": "full", "experimental": {"evals": "./quality"}})
    arm = suite_with(tmp_path, {".claude-plugin/plugin.json": manifest, "quality/a/prompt.md": "Greet."}).arms[
        "plugged"
    ]

    assert [file.path for file in arm.overlay] == [".claude-plugins/full/.claude-plugin/plugin.json"]


def test_all_that_a_plugin_brings_is_proven_by_what_claude_code_lists(tmp_path: Path) -> None:
    found = checked(suite_with(tmp_path), ALL)

    assert (found.faults, found.unproven) == ((), ())
    assert found.loaded is not None
    assert (found.loaded.plugins, found.loaded.agents) == (("full",), ("full:critic",))
    assert (found.loaded.commands, found.loaded.hooks) == (("full:zoo:release",), ("SessionStart",))


@pytest.mark.parametrize(
    ("missing", "fault"),
    [
        ({"skills": ("verify",)}, "the skill 'full:greet' is declared and was not loaded"),
        ({"commands": ("compact",)}, "the command 'full:zoo:release' is declared and was not loaded"),
        ({"agents": ("Explore",)}, "the sub-agent 'full:critic' is declared and was not loaded"),
        ({"hooks": ()}, "the hook for SessionStart is declared and was not run"),
        ({"mcp_servers": ()}, "the MCP server 'plugin:full:sums' is declared and was not loaded"),
        ({"plugins": ("builtin",)}, "the plugin 'full' is declared and was not loaded"),
    ],
)
def test_each_part_that_is_missing_is_a_fault(tmp_path: Path, missing: dict[str, Any], fault: str) -> None:
    assert checked(suite_with(tmp_path), msgspec.structs.replace(ALL, **missing)).faults == (fault,)


def test_the_arm_without_the_plugin_must_not_have_its_skill(tmp_path: Path) -> None:
    assert checked(suite_with(tmp_path), ALL, "plain").faults == ("the skill 'full:greet' of another arm was loaded",)


def test_a_plugin_without_a_manifest_goes_by_its_folder(tmp_path: Path) -> None:
    arm = suite_with(tmp_path, {"skills/greet/SKILL.md": PLUGIN_FILES["skills/greet/SKILL.md"]}).arms["plugged"]

    assert arm.flags == ("--plugin-dir", ".claude-plugins/plug")


@pytest.mark.parametrize(
    ("files", "agent", "words"),
    [
        ({"README.md": "Nothing."}, "claude-code", "is no plugin: it has neither a .claude-plugin/plugin.json nor"),
        (PLUGIN_FILES, "codex", "codex does not load plugins of Claude Code"),
    ],
)
def test_what_would_not_be_loaded_is_refused(tmp_path: Path, files: dict[str, str], agent: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        suite_with(tmp_path, files, agent)


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def test_base_and_head_of_a_plugin_s_repository_differ_in_the_plugin_alone(tmp_path: Path) -> None:
    write_files(tmp_path, PLUGIN_FILES | {"CLAUDE.md": "For those who work on this plugin.\n"})
    (tmp_path / "evals/outweigh").mkdir(parents=True)
    write_suite(tmp_path / "evals/outweigh", {"plugged": {"agent": "claude-code", "plugins": ["../.."]}})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "one")
    (tmp_path / "skills/greet/SKILL.md").write_text("---\nname: greet\ndescription: Greets nobody.\n---\nBye.\n")
    git(tmp_path, "commit", "-qam", "two")

    with load_two_revisions(tmp_path / "evals/outweigh", "one", "main", None) as suite:
        base, head = suite.arms["base"], suite.arms["head"]

    assert {file.path for file in base.overlay} == {
        f".claude-plugins/full/{path}" for path in (*PLUGIN_FILES, "CLAUDE.md")
    }
    assert {one.path for one, other in zip(base.overlay, head.overlay, strict=True) if one != other} == {
        ".claude-plugins/full/skills/greet/SKILL.md"
    }
    assert base.flags == head.flags == ("--plugin-dir", ".claude-plugins/full")


def test_a_plugin_that_the_head_adds_is_missing_in_the_base(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    write_suite(tmp_path / "suite", {"plugged": {"agent": "claude-code", "plugins": ["../plug"]}})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "one")
    write_files(tmp_path / "plug", PLUGIN_FILES)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "two")

    with load_two_revisions(tmp_path / "suite", "one", "main", None) as suite:
        assert suite.arms["base"].flags == ()
        assert suite.arms["head"].flags == ("--plugin-dir", ".claude-plugins/full")
