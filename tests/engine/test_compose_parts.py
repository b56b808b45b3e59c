"""An arm that is composed of parts: what each brings, in which order, and what two of them cannot both have."""

import json
from pathlib import Path

import pytest

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError
from outweigh.verdict.policy import check_policy

GUIDE = "Intro.\r\n\r\n# Testing\nRun it.\n\n## Slow\nAt night.\n# Style\nTabs.\n- Be brief\n- Be kind\n\nEnd"
HOOK = '{ hooks = [{ type = "command", command = "true" }] }'


class PartSuite:
    """A suite with parts, written to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("tasks/one/instruction.md", "Do it.")
        self.write("tasks/one/task.toml", "")
        self.write("CLAUDE.md", GUIDE)

    def write(self, path: str, content: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode())

    def load(self, parts: str, chosen: str, agent: str = "claude-code", settings: str = "") -> LoadedSuite:
        self.write(
            "suite.toml",
            f'name = "s"\ntasks = ["tasks/*"]\nbaseline = "plain"\n[arms.plain]\nagent = "{agent}"\nmodel = "m"\n'
            f'[arms.full]\nextends = "plain"\nparts = [{chosen}]\n{settings}\n{parts}',
        )
        return load_suite(self.folder, check_policy=check_policy)

    def files(self, parts: str, chosen: str, agent: str = "claude-code", settings: str = "") -> dict[str, str]:
        suite = self.load(parts, chosen, agent, settings)
        return {file.path: suite.overlays[file.sha256].decode() for file in suite.arms["full"].overlay}

    def complaint(self, parts: str, chosen: str, agent: str = "claude-code", settings: str = "") -> str:
        with pytest.raises(UsageError) as raised:
            self.load(parts, chosen, agent, settings)
        return str(raised.value).partition(": ")[2]


@pytest.fixture
def suite(tmp_path: Path) -> PartSuite:
    return PartSuite(tmp_path)


def section(part: str, *titles: str) -> str:
    return f'[parts.{part}]\ninstructions_file = "CLAUDE.md"\nsections = {json.dumps(titles)}\n'


ALL_SECTIONS = "".join(
    (
        section("style", "Style"),
        section("testing", "Testing"),
        section("kind", "Be kind"),
        section("slow", "Slow"),
        section("intro", "(before the first heading)"),
    )
)


def test_all_sections_of_a_file_are_that_file_byte_for_byte(suite: PartSuite) -> None:
    files = suite.files(ALL_SECTIONS, '"slow", "intro", "kind", "style", "testing"')
    assert files == {"CLAUDE.md": GUIDE}


def test_sections_keep_the_order_of_the_file_and_lose_only_what_is_left_out(suite: PartSuite) -> None:
    files = suite.files(ALL_SECTIONS, '"style", "testing"')
    assert files == {"CLAUDE.md": "# Testing\nRun it.\n\n# Style\nTabs.\n- Be brief\n\nEnd"}


def test_texts_of_different_sources_follow_the_order_of_the_suite(suite: PartSuite) -> None:
    parts = '[parts.b]\ninstructions = "Second."\n' + section("c", "Style") + '[parts.a]\ninstructions = "Last."\n'
    files = suite.files(parts, '"a", "b", "c"', settings='instructions = "First."')
    assert files == {"CLAUDE.md": "First.\n\nSecond.\n\n# Style\nTabs.\n- Be brief\n- Be kind\n\nEnd\n\nLast."}


def test_a_part_without_sections_is_the_whole_file(suite: PartSuite) -> None:
    assert suite.files('[parts.a]\ninstructions_file = "CLAUDE.md"\n', '"a"', "codex") == {"AGENTS.md": GUIDE}


def test_parts_bring_skills_servers_sub_agents_files_flags_and_a_model(suite: PartSuite) -> None:
    suite.write("skills/tidy/SKILL.md", "---\nname: tidy\n---\nTidy up.")
    suite.write("agents/keeper.md", "Keep.")
    suite.write("more/docs/a.md", "A.")
    parts = (
        '[parts.b]\nskills = ["skills/tidy"]\nflags = ["--last"]\n'
        '[parts.a]\nagents = ["agents/keeper.md"]\nfiles = "more"\nflags = ["--first"]\nmodel = "better"\n'
        'mcp_servers = { clock = { command = ["clock"] } }\n'
    )
    loaded = suite.load(parts, '"a", "b"', settings='flags = ["--own"]')
    arm = loaded.arms["full"]
    assert [file.path for file in arm.overlay] == [
        ".claude/agents/keeper.md",
        ".claude/skills/tidy/SKILL.md",
        "docs/a.md",
    ]
    assert (arm.skills, arm.model, arm.flags) == (("tidy",), "better", ("--own", "--last", "--first"))
    assert arm.mcp_servers["clock"].command == ["clock"]


def test_hooks_go_into_the_settings_that_the_arm_has_already(suite: PartSuite) -> None:
    known = {"env": {"A": "1"}, "hooks": {"Stop": [{"hooks": []}]}}
    suite.write("own/.claude/settings.json", json.dumps(known))
    parts = f"[parts.a]\nhooks.Stop = [{HOOK}]\n[parts.b]\nhooks.Stop = [{HOOK}]\nhooks.SessionStart = [{HOOK}]\n"
    files = suite.files(parts, '"a", "b"', settings='files = "own"')
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    assert json.loads(files[".claude/settings.json"]) == {
        "env": {"A": "1"},
        "hooks": {"Stop": [{"hooks": []}, hook], "SessionStart": [hook]},
    }
    assert list(suite.files(parts, '"a"', "codex")) == [".codex/hooks.json"]


def test_settings_that_hooks_cannot_be_added_to_are_refused(suite: PartSuite) -> None:
    suite.write("own/.claude/settings.json", "[]")
    told = suite.complaint(f"[parts.a]\nhooks.Stop = [{HOOK}]\n", '"a"', settings='files = "own"')
    assert told == (
        "arms.full: .claude/settings.json is not a JSON object that hooks can be added to; correct it, or leave it out."
    )


@pytest.mark.parametrize(
    ("part", "agent", "told"),
    [
        (f"hooks.Stop = [{HOOK}]", "goose", "goose has no settings that hooks could be added to; use `files`"),
        ('agents = ["CLAUDE.md"]', "aider", "aider has no folder of sub-agents that they could be added to"),
        ('skills = ["x"]', "aider", "aider does not support skills"),
        ('instructions = "x"', "mini-swe-agent", "mini-swe-agent reads no instruction file"),
        ("hooks.Stop = 3", "claude-code", "must be a list of tables, as the settings of claude-code have it."),
    ],
)
def test_what_the_agent_would_not_read_is_refused(suite: PartSuite, part: str, agent: str, told: str) -> None:
    found = suite.complaint(f"[parts.a]\n{part}\n", '"a"', agent)
    assert found.startswith("parts.a")
    assert told in found


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ('model = "x"', 'model = "y"', "'a' and 'b' have different models ('x' and 'y'); an arm has one."),
        (
            'mcp_servers = { s = { command = ["x"] } }',
            'mcp_servers = { s = { command = ["y"] } }',
            "'a' and 'b' have different tool servers called 's'; give one of them another name.",
        ),
        ('files = "x"', 'files = "y"', "part 'a' and part 'b' have different files for 'CLAUDE.md'; keep one of them."),
        ('files = "x"', 'instructions = "z"', "part 'a' and part 'b' have different files for 'CLAUDE.md'"),
        (
            'skills = ["x/tidy"]',
            'skills = ["y/tidy"]',
            "part 'a' and part 'b' have different files for '.claude/skills/",
        ),
        (
            'instructions_file = "CLAUDE.md"',
            'instructions_file = "CLAUDE.md"\nsections = ["Style"]',
            "'a' and 'b' have the same section of one file; leave one of them out",
        ),
    ],
)
def test_two_parts_that_contradict_each_other_are_both_named(suite: PartSuite, one: str, other: str, told: str) -> None:
    for folder in ("x", "y"):
        suite.write(f"{folder}/CLAUDE.md", folder)
        suite.write(f"{folder}/tidy/SKILL.md", folder)
    found = suite.complaint(f"[parts.a]\n{one}\n[parts.b]\n{other}\n", '"a", "b"')
    assert found.startswith("arms.full")
    assert told in found


def test_what_two_parts_share_is_there_once(suite: PartSuite) -> None:
    suite.write("x/notes.md", "Same.")
    suite.write("y/notes.md", "Same.")
    parts = '[parts.a]\nfiles = "x"\nmodel = "n"\n[parts.b]\nfiles = "y"\nmodel = "n"\n'
    assert suite.files(parts, '"a", "b"') == {"notes.md": "Same."}


def test_a_server_of_a_part_that_contradicts_the_arm_is_refused(suite: PartSuite) -> None:
    told = suite.complaint(
        '[parts.a]\nmcp_servers = { s = { command = ["x"] } }\n', '"a"', settings='mcp_servers.s.command = ["y"]'
    )
    assert "the arm itself and 'a' have different tool servers called 's'" in told


def test_mistakes_in_parts_are_found_where_they_are_written(suite: PartSuite) -> None:
    assert suite.complaint(section("a", "Nothing"), "") == (
        "parts.a.sections: CLAUDE.md has no section 'Nothing'; its sections are '(before the first heading)', "
        "'Testing', 'Slow', 'Style'."
    )
    assert "parts.a.instructions_file: there is no file" in suite.complaint(
        '[parts.a]\ninstructions_file = "x.md"\n', '"a"'
    )
    assert suite.complaint(section("testing", "Style"), '"tests"') == (
        'arms.full.parts names "tests", which is not under [parts]; did you mean "testing"?'
    )


def test_arms_that_come_out_the_same_need_same_as(suite: PartSuite) -> None:
    parts = '[parts.a]\ninstructions = "x"\n[parts.b]\ninstructions = "x"\n'
    both = 'same_as = "twin"\n[arms.twin]\nextends = "plain"\nparts = ["b"]\n'
    assert "arms 'full' and 'twin' are the same" in suite.complaint(parts, '"a"', settings=both.partition("\n")[2])
    arms = suite.load(parts, '"a"', settings=both).arms
    assert arms["full"].fingerprint == arms["twin"].fingerprint


def test_an_arm_may_extend_an_arm_that_a_design_makes(suite: PartSuite) -> None:
    parts = '[parts.a]\ninstructions = "x"\n[parts.b]\ninstructions = "y"\n[[designs]]\nkind = "leave-one-out"\n'
    more = '[arms.terse]\nextends = "all-parts"\nextra_prompt = "Be brief."\n'
    arms = suite.load(parts, '"a"', settings=more).arms
    assert list(arms) == ["plain", "full", "terse", "all-parts", "without-a"]  # `full` is the arm without b
    assert arms["terse"].overlay == arms["all-parts"].overlay
    assert suite.complaint(parts, '"a"', settings=more.replace("all-parts", "all-part")) == (
        'arms.terse.extends: there is no arm "all-part". Did you mean "all-parts"?'
    )


def test_an_arm_can_leave_out_parts_of_the_arm_that_it_extends(suite: PartSuite) -> None:
    smaller = '[arms.smaller]\nextends = "full"\nwithout = ["testing", "slow"]\n[arms.written]\nextends = "plain"\n'
    twin = smaller + 'parts = ["style", "kind", "intro"]\nsame_as = "smaller"\n'
    arms = suite.load(ALL_SECTIONS, '"slow", "intro", "kind", "style", "testing"', settings=twin).arms

    assert arms["smaller"].fingerprint == arms["written"].fingerprint != arms["full"].fingerprint


def test_only_parts_of_the_extended_arm_can_be_left_out(suite: PartSuite) -> None:
    smaller = '[arms.smaller]\nextends = "full"\nwithout = ["style"]\n'

    assert "arms.smaller.without names 'style', which is no part of the arm that it extends" in suite.complaint(
        ALL_SECTIONS, '"slow"', settings=smaller
    ).replace('"', "'")
