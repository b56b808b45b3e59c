"""The check of hooks, sub-agents, plugins and commands: proven, missing, or said to be unprovable."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.model_calls import a_call, an_account

from outweigh.engine.declared_configuration import models_in_files
from outweigh.engine.setup_check import ExpectedSetup, SetupCheck, check_setup, expected_setup
from outweigh.model.agent_files import file_locations_of
from outweigh.model.arm import Arm, OverlayFile, bare_arm
from outweigh.model.run_record import ObservedSetup
from outweigh.model.usage import Component

KEEPER = "---\nname: keeper\ndescription: Takes care of every zebra in the stable.\n---\nYou keep zebras.\n"
STRIPES = "---\ndescription: Counts the stripes of one zebra.\n---\nCount them.\n"
SETTINGS = json.dumps(
    {
        "hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}],
        },
        "enabledPlugins": {"zoo@market": True, "off@market": False},
    }
)
NOTHING = ObservedSetup(
    skills=None, skills_used=None, mcp_servers=None, tools=None, memory_files=None, seen_by=("init event",)
)


def an_arm(name: str, files: Mapping[str, str], agent: str = "claude-code", **fields: Any) -> Arm:
    overlay = tuple(
        OverlayFile(path=path, sha256=sha256(content.encode()).hexdigest(), executable=False)
        for path, content in files.items()
    )
    return replace(bare_arm(name, agent), overlay=overlay, **fields)


def expected(*arms: tuple[Arm, Mapping[str, str]]) -> ExpectedSetup:
    contents = {sha256(text.encode()).hexdigest(): text.encode() for _, files in arms for text in files.values()}
    return expected_setup({arm.name: arm for arm, _ in arms}, contents)


def check(
    files: Mapping[str, str],
    agent: str = "claude-code",
    seen: str | None = None,
    flags: tuple[str, ...] = (),
    **said: Any,
) -> SetupCheck:
    """Check one run. `seen` begins the names of the markers that its requests had, `said` is what the agent lists."""
    arm = an_arm("arm", files, agent, flags=flags)
    setup = expected((arm, files))
    markers = frozenset(name for name in setup.markers if seen is not None and name.startswith(seen))
    return check_setup(arm, setup, replace(NOTHING, **said) if said else None, an_account(a_call(), seen=markers))


AGENT_FILE = {".claude/agents/keeper.md": KEEPER}
COMMAND_FILES = {".claude/commands/stripes.md": STRIPES, ".claude/commands/zoo/feed.md": "Feeds every zebra now.\n"}


class TestListedByTheAgent:
    def test_what_the_agent_lists_is_proven_and_recorded_without_its_own(self) -> None:
        found = check(
            {**AGENT_FILE, **COMMAND_FILES, ".claude/settings.json": SETTINGS},
            agents=("Explore", "keeper"),
            commands=("compact", "stripes", "zoo:feed"),
            plugins=("zoo", "built-in"),
            hooks=("SessionStart", "PreToolUse"),
        )

        assert (found.faults, found.unproven) == ((), ())
        assert found.loaded is not None
        assert found.loaded.agents == ("keeper",)
        assert found.loaded.commands == ("stripes", "zoo:feed")
        assert (found.loaded.plugins, found.loaded.hooks) == (("zoo",), ("SessionStart", "PreToolUse"))

    def test_what_the_agent_does_not_list_is_a_fault(self) -> None:
        found = check(
            {**AGENT_FILE, **COMMAND_FILES, ".claude/settings.json": SETTINGS},
            agents=("Explore",),
            commands=("zoo:feed",),
            plugins=(),
            hooks=(),
        )

        assert found.faults == (
            "the sub-agent 'keeper' is declared and was not loaded",
            "the command 'stripes' is declared and was not loaded",
            "the hook for SessionStart is declared and was not run",
            "the plugin 'zoo' is declared and was not loaded",
        )

    def test_a_hook_whose_moment_may_not_come_is_no_fault(self) -> None:
        found = check({".claude/settings.json": SETTINGS}, plugins=("zoo",), hooks=("SessionStart",))

        assert found.faults == ()
        assert found.unproven == ("the hook 'PreToolUse' (run only at that moment, and not seen in this run)",)

    def test_a_plugin_that_a_flag_names_is_known_by_its_manifest(self) -> None:
        files = {"plug/.claude-plugin/plugin.json": '{"name": "zoo"}'}

        assert check(files, flags=("--plugin-dir", "plug/"), plugins=("zoo",)).faults == ()
        assert check(files, flags=("--plugin-dir=./plug",), plugins=("other",)).faults == (
            "the plugin 'zoo' is declared and was not loaded",
        )


class TestShownInRequests:
    @pytest.mark.parametrize(
        ("agent", "path", "text"),
        [
            ("claude-code", ".claude/agents/keeper.md", KEEPER),
            ("opencode", ".opencode/agents/keeper.md", KEEPER),
            ("goose", ".agents/agents/keeper.md", KEEPER),
            ("codex", ".codex/agents/keeper.toml", 'name = "keeper"\ndescription = "Takes care of every zebra."\n'),
        ],
    )
    def test_a_sub_agent_is_offered_to_the_model_or_missing(self, agent: str, path: str, text: str) -> None:
        shown = check({path: text}, agent, seen="sub-agent keeper")

        assert (shown.faults, shown.unproven) == ((), ())
        assert shown.loaded is not None
        assert shown.loaded.agents == ("keeper",)
        assert check({path: text}, agent).faults == ("the sub-agent 'keeper' is declared and was not loaded",)

    def test_a_sub_agent_that_is_not_offered_to_the_model_cannot_be_missed(self) -> None:
        found = check({".opencode/agents/keeper.md": KEEPER.replace("---\nYou", "mode: primary\n---\nYou")}, "opencode")

        assert found.faults == ()
        assert found.unproven == ("the sub-agent 'keeper' (neither its output nor its requests show this)",)

    def test_instructions_for_a_folder_are_sent_once_the_agent_works_there(self) -> None:
        files = {"sub/CLAUDE.md": "Speak softly to zebras here.\n"}

        assert check(files, seen="instructions for a folder").unproven == ()
        assert check(files).faults == ()
        assert check(files).unproven == (
            "the instructions in 'sub/CLAUDE.md' "
            "(sent only when the agent works with files there, and not seen in this run)",
        )


def test_what_an_agent_does_not_show_is_listed_by_kind_and_never_a_fault() -> None:
    files = {
        ".gemini/commands/stripes.toml": 'description = "Counts the stripes of one zebra."\nprompt = "x"\n',
        ".gemini/commands/feed.toml": 'prompt = "x"\n',
        ".gemini/agents/keeper.md": KEEPER,
        ".gemini/settings.json": '{"hooks": {"BeforeTool": [{"matcher": "*", "hooks": []}]}}',
    }

    found = check(files, "gemini-cli")

    assert found.faults == ()
    assert found.unproven == (
        "the sub-agent 'keeper' (neither its output nor its requests show this)",
        "the commands 'stripes', 'feed' (neither its output nor its requests show this)",
        "the hook 'BeforeTool' (neither its output nor its requests show this)",
    )


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".codex/hooks.json", '{"hooks": {"Stop": [{"hooks": []}]}}'),
        (".codex/config.toml", "[[hooks.Stop]]\nhooks = []\n"),
    ],
)
def test_hooks_are_found_wherever_an_agent_s_settings_name_them(path: str, content: str) -> None:
    assert check({path: content}, "codex").unproven == (
        "the hook 'Stop' (neither its output nor its requests show this)",
    )


@pytest.mark.parametrize("content", ["", "{", "[]", '{"hooks": 3, "enabledPlugins": []}', '{"hooks": {"Stop": []}}'])
def test_settings_that_declare_nothing_or_cannot_be_read_expect_nothing(content: str) -> None:
    found = check({".claude/settings.json": content}, hooks=(), plugins=())

    assert (found.faults, found.unproven) == ((), ())


@pytest.mark.parametrize(
    ("path", "content", "models"),
    [
        (".claude/agents/a.md", "---\nname: a\nmodel: opus\n---\nmodel: none\n", ("opus",)),
        (".claude/agents/a.md", "---\nmodel: inherit\n---\n", ()),
        (".claude/commands/a.md", "---\nmodel: 'claude-opus-4-6'  # large\n---\n", ("claude-opus-4-6",)),
        (".claude/skills/a/SKILL.md", '---\nmodel: "haiku"\n---\n', ("haiku",)),
        (".claude/agents/a.md", "model: opus\n", ()),
        (".claude/agents/a.md", "---\nmodel: claude-*\n---\n", ()),
        (".claude/agents/a.md", "---\nmodel: '*'\n---\n", ()),
        ("src/a.md", "---\nmodel: opus\n---\n", ()),
    ],
)
def test_models_that_files_name_for_themselves_are_found(path: str, content: str, models: tuple[str, ...]) -> None:
    arm = an_arm("arm", {path: content})
    overlays = {sha256(content.encode()).hexdigest(): content.encode()}

    assert models_in_files(arm, overlays, file_locations_of("claude-code")) == models


def test_a_sub_agent_of_codex_names_its_model_in_toml() -> None:
    content = 'name = "a"\nmodel = "gpt-5-mini"\n'
    arm = an_arm("arm", {".codex/agents/a.toml": content}, "codex")
    overlays = {sha256(content.encode()).hexdigest(): content.encode()}

    assert models_in_files(arm, overlays, file_locations_of("codex")) == ("gpt-5-mini",)


class TestOtherArms:
    PLAIN, KEPT = an_arm("plain", {}), an_arm("kept", AGENT_FILE)
    BOTH = expected((PLAIN, {}), (KEPT, AGENT_FILE))

    def test_the_text_of_another_arm_s_sub_agent_is_a_fault(self) -> None:
        found = check_setup(self.PLAIN, self.BOTH, None, an_account(a_call(), seen=frozenset(self.BOTH.markers)))

        assert found.faults == ("the sub-agent 'keeper' of another arm was loaded",)

    def test_a_name_alone_may_be_the_workspace_s_own(self) -> None:
        said = replace(NOTHING, agents=("keeper",))

        assert check_setup(self.PLAIN, self.BOTH, said, an_account(a_call())).faults == ()

    def test_what_both_arms_have_is_no_fault(self) -> None:
        twin = an_arm("twin", AGENT_FILE)
        both = expected((twin, AGENT_FILE), (self.KEPT, AGENT_FILE))

        assert check_setup(twin, both, None, an_account(a_call(), seen=frozenset(both.markers))).faults == ()


@pytest.mark.parametrize(
    ("name", "component"),
    [("stable-monitor", Component.MONITOR), ("evaluator", Component.EVALUATOR), ("keeper", None), ("monitoring", None)],
)
def test_the_prompt_of_a_sub_agent_that_is_named_for_its_role_marks_its_requests(
    name: str, component: Component | None
) -> None:
    files = {f".claude/agents/{name}.md": KEEPER.replace("keeper", name).replace("You keep", "You keep an eye on all")}
    markers = expected((an_arm("new", files), files)).markers
    found = {marker.component for marker in markers.values() if marker.text == "You keep an eye on all zebras."}

    assert found == (set() if component is None else {component})
