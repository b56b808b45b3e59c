"""The set-up check: what an arm declares must show, what another arm declares must not."""

from collections.abc import Mapping
from hashlib import sha256

import pytest
from tests.engine.model_calls import a_call, a_failed_call, an_account

from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.engine.setup_check import ExpectedSetup, check_setup, expected_setup
from outweigh.model.agent_files import SkillText, read_skill
from outweigh.model.arm import Arm, McpServer, OverlayFile
from outweigh.model.failure import FailureKind
from outweigh.model.run_record import ObservedServer, ObservedSetup

SKILL = (
    b"---\nname: greeting\ndescription: Says hello in the way of the house.\n---\nAlways begin with: good day to you.\n"
)
OTHER_SKILL = SKILL.replace(b"hello", b"farewell").replace(b"good day", b"so long")
SKILL_PATH = ".claude/skills/greeting/SKILL.md"
INSTRUCTIONS = b"Prefer small functions, and name them well.\n"


def an_arm(name: str, files: Mapping[str, bytes] | None = None, **fields: object) -> Arm:
    overlay = tuple(
        OverlayFile(path=path, sha256=sha256(content).hexdigest(), executable=False)
        for path, content in (files or {}).items()
    )
    known: dict[str, object] = {
        "model": None,
        "tier": None,
        "skills": (),
        "mcp_servers": {},
        "extra_prompt": None,
        "environment": {},
        "secrets": (),
        "flags": (),
        "options": {},
        "option_files": {},
    }
    return Arm(name=name, agent="claude-code", overlay=overlay, **(known | fields))  # type: ignore[arg-type]


def expected(*arms: Arm, files: tuple[bytes, ...] = (SKILL, OTHER_SKILL, INSTRUCTIONS)) -> ExpectedSetup:
    contents = {sha256(content).hexdigest(): content for content in files}
    return expected_setup({arm.name: arm for arm in arms}, contents, {"claude-code": ClaudeCodeAgent()})


def reported(skills: tuple[str, ...] | None = None, servers: tuple[ObservedServer, ...] | None = None) -> ObservedSetup:
    return ObservedSetup(
        skills=skills,
        skills_used=None,
        mcp_servers=servers,
        tools=None,
        memory_files=None,
        seen_by=("init event",),
    )


PLAIN = an_arm("plain")
SKILLED = an_arm("skilled", {SKILL_PATH: SKILL})
BOTH = expected(PLAIN, SKILLED)
SHOWN = next(name for name in BOTH.markers if name.startswith("skill greeting"))
TEXT = next(name for name in BOTH.markers if name.startswith("text of skill"))


class TestSkills:
    def test_a_declared_skill_that_the_agent_lists_was_loaded(self) -> None:
        check = check_setup(SKILLED, BOTH, reported(skills=("greeting",)), None)

        assert check.faults == ()
        assert check.loaded is not None
        assert check.loaded.skills == ("greeting",)

    def test_a_declared_skill_whose_description_was_sent_was_loaded(self) -> None:
        check = check_setup(SKILLED, BOTH, None, an_account(a_call(), seen=frozenset({SHOWN})))

        assert check.faults == ()
        assert check.loaded is not None
        assert (check.loaded.skills, check.loaded.seen_by) == (("greeting",), ("requests",))

    @pytest.mark.parametrize("said", [reported(skills=()), reported(skills=("other",)), None])
    def test_a_declared_skill_that_nothing_shows_is_a_fault(self, said: ObservedSetup | None) -> None:
        check = check_setup(SKILLED, BOTH, said, an_account(a_call()))

        assert check.faults == ("the skill 'greeting' is declared and was not loaded",)

    @pytest.mark.parametrize(
        ("said", "seen"), [(reported(skills=("greeting",)), ()), (None, (SHOWN,)), (None, (TEXT,))]
    )
    def test_a_skill_of_the_treatment_in_the_control_is_a_fault(
        self, said: ObservedSetup | None, seen: tuple[str, ...]
    ) -> None:
        check = check_setup(PLAIN, BOTH, said, an_account(a_call(), seen=frozenset(seen)))

        assert check.faults == ("the skill 'greeting' of another arm was loaded",)

    def test_a_control_without_the_skill_has_no_fault(self) -> None:
        assert check_setup(PLAIN, BOTH, reported(skills=("something-else",)), an_account(a_call())).faults == ()

    def test_two_versions_of_one_skill_are_told_apart_by_their_texts(self) -> None:
        newer = an_arm("newer", {SKILL_PATH: OTHER_SKILL})
        both = expected(SKILLED, newer)
        old = frozenset(name for name in both.markers if both.markers[name].text.startswith("Says hello"))

        assert check_setup(SKILLED, both, reported(skills=("greeting",)), an_account(a_call(), seen=old)).faults == ()
        assert check_setup(newer, both, reported(skills=("greeting",)), an_account(a_call(), seen=old)).faults == (
            "the skill 'greeting' of another arm was loaded",
        )

    def test_without_any_observation_nothing_is_known_and_nothing_is_a_fault(self) -> None:
        failed = a_failed_call(FailureKind.SERVER_ERROR)

        assert check_setup(SKILLED, BOTH, None, None).loaded is None
        assert check_setup(SKILLED, BOTH, None, an_account(failed)).faults == ()

    def test_a_skill_whose_text_was_sent_was_used(self) -> None:
        check = check_setup(
            SKILLED, BOTH, reported(skills=("greeting",)), an_account(a_call(), seen=frozenset({SHOWN, TEXT}))
        )

        assert check.loaded is not None
        assert check.loaded.skills_used == ("greeting",)

    def test_a_skill_that_nobody_opened_was_not_used(self) -> None:
        check = check_setup(SKILLED, BOTH, None, an_account(a_call(), seen=frozenset({SHOWN})))

        assert check.loaded is not None
        assert check.loaded.skills_used == ()


class TestInstructions:
    ARM = an_arm("told", {"CLAUDE.md": INSTRUCTIONS, "AGENTS.md": INSTRUCTIONS})

    def test_declared_instructions_must_be_sent(self) -> None:
        list_of_both = expected(PLAIN, self.ARM)
        (marker,) = list_of_both.markers

        assert check_setup(self.ARM, list_of_both, None, an_account(a_call(), seen=frozenset({marker}))).faults == ()
        assert check_setup(self.ARM, list_of_both, None, an_account(a_call())).faults == (
            "the instructions in CLAUDE.md are declared and were not sent to the model",
        )

    def test_instructions_of_another_arm_must_not_be_sent(self) -> None:
        list_of_both = expected(PLAIN, self.ARM)

        check = check_setup(PLAIN, list_of_both, None, an_account(a_call(), seen=frozenset(list_of_both.markers)))

        assert check.faults == ("the instructions in CLAUDE.md of another arm were sent to the model",)

    def test_a_long_file_of_which_another_arm_lacks_the_beginning_has_no_fault(self) -> None:
        first, rest = b"# First\nSing.\n", b"".join(b"- Rule %d of the house.\n" % number for number in range(1_500))
        whole = an_arm("whole", {"CLAUDE.md": first + rest})
        shorter = an_arm("shorter", {"CLAUDE.md": rest})
        setup = expected(whole, shorter, files=(first + rest, rest))

        check = check_setup(whole, setup, None, an_account(a_call(), seen=frozenset(setup.markers)))

        assert check.faults == ()

    def test_text_around_a_comment_must_be_sent_and_the_comment_need_not(self) -> None:
        one, other = b"Always greet the zebra first.\n", b"Shut the gate behind you.\n"
        noted = an_arm("noted", {"CLAUDE.md": one + b"\n<!-- for us alone -->\n\n" + other})
        plain = an_arm("plain", {"CLAUDE.md": one + b"\n" + other})
        texts = (one + b"\n<!-- for us alone -->\n\n" + other, one + b"\n" + other)
        setup = expected(noted, plain, files=texts)
        first, second, whole = setup.markers

        sent = {first, second, whole}
        assert check_setup(noted, setup, None, an_account(a_call(), seen=frozenset(sent))).faults == ()
        for seen in ({first}, {second}, set()):
            assert check_setup(noted, setup, None, an_account(a_call(), seen=frozenset(seen))).faults == (
                "the instructions in CLAUDE.md are declared and were not sent to the model",
            )

    def test_what_an_arm_repeats_from_another_is_its_own(self) -> None:
        more = INSTRUCTIONS + b"Write tests first.\n"
        longer = an_arm("longer", {"CLAUDE.md": more})
        list_of_both = expected(self.ARM, longer, files=(INSTRUCTIONS, more))

        assert (
            check_setup(longer, list_of_both, None, an_account(a_call(), seen=frozenset(list_of_both.markers))).faults
            == ()
        )


class TestServersAndModel:
    ARM = an_arm("tooled", mcp_servers={"notes": McpServer(command=["notes"])}, model="opus")

    def test_a_connected_server_was_loaded(self) -> None:
        said = reported(servers=(ObservedServer(name="notes", state="connected"),))

        assert check_setup(self.ARM, expected(self.ARM), said, None).faults == ()

    @pytest.mark.parametrize(
        ("servers", "fault"),
        [
            ((ObservedServer(name="notes", state="failed"),), "its state was 'failed'"),
            ((), "was not loaded"),
        ],
    )
    def test_a_broken_or_missing_server_is_a_fault(self, servers: tuple[ObservedServer, ...], fault: str) -> None:
        (found,) = check_setup(self.ARM, expected(self.ARM), reported(servers=servers), None).faults

        assert fault in found

    @pytest.mark.parametrize("tool", ["mcp__notes__add", "mcp_notes_add", "notes__add", "notes_add"])
    def test_a_server_whose_tools_are_offered_is_there_whatever_was_said_at_the_start(self, tool: str) -> None:
        said = reported(servers=(ObservedServer(name="notes", state="failed"),))
        account = an_account(a_call(tools=(tool,), requested_model="claude-opus-4-5", model=None))

        assert check_setup(self.ARM, expected(self.ARM), said, account).faults == ()

    def test_another_model_is_a_fault(self) -> None:
        account = an_account(a_call(requested_model="claude-haiku", model="claude-haiku", tools=("mcp__notes__add",)))

        assert check_setup(self.ARM, expected(self.ARM), None, account).faults == (
            "the model 'opus' is declared and 'claude-haiku' was asked",
        )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("no front matter", SkillText("folder", "", "no front matter")),
        ("---\nname: a\ndescription: b c\n---\n\nbody\n", SkillText("a", "b c", "body")),
        ("---\nname: \"a\"\ndescription: 'it''s'\n---\n", SkillText("a", "it's", "")),
        ("---\ndescription: >-\n  one\n  two\nlicense: x\n  y\n---\nbody", SkillText("folder", "one two", "body")),
        ("---\nname: never closed", SkillText("never closed", "", "")),
        ("", SkillText("folder", "", "")),
    ],
)
def test_a_skill_file_is_read_as_agents_read_it(text: str, read: SkillText) -> None:
    assert read_skill(text.encode(), "folder") == read
