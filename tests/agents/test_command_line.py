"""What every command-line agent owes to the driver: a private home, a clean environment, and an honest outcome."""

import os
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agents.programs import a_program, a_room

from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.agents.codex.agent import CodexAgent
from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, read_whole
from outweigh.agents.gemini_cli import GeminiCliAgent
from outweigh.agents.home_files import HomeArtifacts
from outweigh.errors import UsageError
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import Failure, FailureKind, Status, make_failure
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.testing.agent_contract import an_agent_arm, an_attempt
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep

SAID_NOTHING = AgentReport(
    version=None,
    model=None,
    session_id=None,
    usage=NO_USAGE,
    usage_by_model={},
    cost_usd=None,
    duration_seconds=None,
    step_count=None,
    tool_call_count=None,
    request_count=None,
    finished=False,
    failure=None,
    final_text=None,
    steps=(),
    loaded=None,
    warnings=(),
)


class WordReader:
    """Reads an output of single words: what is known about the run is one of them."""

    def __init__(self) -> None:
        self.heard = b""

    def feed(self, chunk: bytes) -> None:
        self.heard += chunk

    def report(self) -> AgentReport:
        words = self.heard.decode().split()
        said: Failure | None = None
        if "limited" in words:
            said = make_failure(FailureKind.RATE_LIMITED, "come back later", 17.0)
        elif "cut" in words:
            said = make_failure(FailureKind.NO_RESULT, "no closing event")
        return replace(
            SAID_NOTHING,
            version="9.9" if "versioned" in words else None,
            usage=Usage(input_tokens=len(words), output_tokens=None, cache_read_tokens=None, cache_write_tokens=None),
            cost_usd=0.5 if "dear" in words else None,
            finished="done" in words,
            failure=said,
            steps=(AtifStep(step_id=1, source="agent", message=" ".join(words)),) if words else (),
        )


class Parrot(CommandLineAgent):
    """Says what its program says."""

    name = "parrot"
    program = "parrot"
    install = "buy a cage"
    options = TurnOptions
    bypass_variables = ("PARROT_TOKEN",)
    keys = ("PARROT_KEY",)

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        access, reader = request.model_access, WordReader()
        return Launch(
            arguments=("speak",),
            stdin=request.task.instruction.encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files={"cage/settings": b"open"},
            defaults={"PARROT_HOME": f"{home}/cage", "PARROT_MOOD": "calm"},
            gateway_variables={} if access is None else {"PARROT_URL": access.base_url},
            artifacts={"feathers.txt": "cage/feather*"},
            workspace_litter=("seeds-*",),
            exit_codes={53: FailureKind.TURN_LIMIT},
        )


class DeafParrot(Parrot):
    """One whose word is in a file."""

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        return replace(super().launch(request, home), on_output=None, report=_feathers)


def _feathers(left: HomeArtifacts) -> AgentReport:
    return read_whole(WordReader(), left["feathers.txt"])


def attempt(
    folder: Path, script: str, agent: CommandLineAgent | None = None, arm: Arm | None = None, **fields: Any
) -> AttemptOutcome:
    agent, arm = agent or Parrot(), arm or an_agent_arm("parrot")
    program = a_program(folder / "bin" / "parrot", f'[ "$1" = --version ] && echo parrot 3.1 && exit\n{script}')
    arm = msgspec.structs.replace(arm, options={**arm.options, "program": str(program)})
    with a_room(folder) as room:
        return agent.attempt(an_attempt(arm, **fields), room)


# --- what the program is given ----------------------------------------------------------------------------------------


def test_the_program_gets_its_words_its_flags_and_the_prompt(tmp_path: Path) -> None:
    done = attempt(tmp_path, 'echo "$@"; cat', arm=an_agent_arm("parrot", flags=("--loud",)), instruction="Say it.")

    assert done.artifacts["transcript.txt"] == b"speak --loud\nSay it."


def test_its_home_is_its_own_with_what_the_adapter_wrote(tmp_path: Path) -> None:
    done = attempt(tmp_path, 'cd && pwd && cat cage/settings && echo && ls -A . "$XDG_CONFIG_HOME" 2>/dev/null')

    assert done.artifacts["transcript.txt"].decode().split() == [str(tmp_path / "home"), "open", ".:", "cage"]


def test_its_environment_is_clean_and_the_arm_may_change_defaults_but_not_the_way_to_the_model(tmp_path: Path) -> None:
    wishes = {"PARROT_MOOD": "wild", "PARROT_URL": "http://elsewhere", "PARROT_TOKEN": "own"}

    done = attempt(tmp_path, "env", arm=an_agent_arm("parrot", environment=wishes))

    seen = dict(line.split("=", 1) for line in done.artifacts["transcript.txt"].decode().splitlines())
    assert (seen["PARROT_MOOD"], seen["PARROT_URL"]) == ("wild", "http://127.0.0.1:9")
    assert "PARROT_TOKEN" not in seen
    home = tmp_path / "home"
    assert {name: value for name, value in seen.items() if "HOME" in name} == {
        "HOME": str(home),
        "PARROT_HOME": str(home / "cage"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
    }
    assert not seen.keys() & (os.environ.keys() - {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_"})


def test_without_a_gateway_its_own_ways_to_the_model_are_left_to_it(tmp_path: Path) -> None:
    arm = an_agent_arm("parrot", environment={"PARROT_TOKEN": "own"})

    done = attempt(tmp_path, 'echo "$PARROT_TOKEN ${PARROT_URL-none}"', arm=arm, model_access=None)

    assert done.artifacts["transcript.txt"] == b"own none\n"


def test_a_settings_file_is_never_written_through_what_lies_there(tmp_path: Path) -> None:
    (tmp_path / "home" / "cage").mkdir(parents=True)
    (tmp_path / "home" / "cage" / "settings").symlink_to(tmp_path / "victim")

    with pytest.raises(FileExistsError):
        attempt(tmp_path, "true")

    assert not (tmp_path / "victim").exists()


# --- what becomes of it -----------------------------------------------------------------------------------------------


def test_a_program_that_says_it_is_done_is_done(tmp_path: Path) -> None:
    done = attempt(tmp_path, "echo done dear versioned; echo noise >&2")

    assert (done.status, done.status_detail, done.failure) == (Status.COMPLETED, None, None)
    assert (done.agent.name, done.agent.version, done.cost.usd) == ("parrot", "9.9", 0.5)
    assert done.usage.input_tokens == 3
    assert done.artifacts["stderr.txt"] == b"noise\n"
    assert done.steps is not None
    assert b'"name":"parrot"' in done.artifacts["trajectory.json"]


def test_a_version_that_the_output_does_not_tell_is_the_programs(tmp_path: Path) -> None:
    assert attempt(tmp_path, "echo done").agent.version == "3.1"


@pytest.mark.parametrize(
    ("script", "status", "kind", "detail"),
    [
        ("echo limited done", Status.INFRA_ERROR, FailureKind.RATE_LIMITED, "come back later"),
        ("echo limited; exit 3", Status.INFRA_ERROR, FailureKind.RATE_LIMITED, "come back later"),
        ("echo done; echo ouch >&2; exit 3", Status.AGENT_ERROR, FailureKind.CRASH, "exit code 3: ouch"),
        ("echo cut; exit 53", Status.AGENT_ERROR, FailureKind.TURN_LIMIT, "exit code 53"),
        ("echo cut; exit 3", Status.AGENT_ERROR, FailureKind.CRASH, "exit code 3"),
        ("echo cut", Status.AGENT_ERROR, FailureKind.NO_RESULT, "no closing event"),
        ("echo cut; echo why >&2", Status.AGENT_ERROR, FailureKind.NO_RESULT, "no closing event: why"),
        (
            "echo 429 too many requests >&2; exit 1",
            Status.AGENT_ERROR,
            FailureKind.CRASH,
            "exit code 1: 429 too many requests",
        ),
        ("echo why >&2", Status.AGENT_ERROR, FailureKind.NO_RESULT, "it ended without a result: why"),
        ("kill -9 $$", Status.AGENT_ERROR, FailureKind.CRASH, "exit code 137"),
    ],
)
def test_every_other_end_is_a_failure_of_a_known_kind(
    tmp_path: Path, script: str, status: Status, kind: FailureKind, detail: str
) -> None:
    done = attempt(tmp_path, script)

    assert (done.status, done.status_detail) == (status, detail)
    assert done.failure is not None
    assert done.failure.kind is kind
    assert done.retry_after_seconds == (17.0 if kind is FailureKind.RATE_LIMITED else None)


def test_a_program_that_takes_too_long_is_out_of_time_and_its_words_count(tmp_path: Path) -> None:
    done = attempt(tmp_path, "echo one two; sleep 600", timeout_seconds=2.0)

    assert (done.status, done.usage.input_tokens) == (Status.TIMEOUT, 2)
    assert done.failure is not None
    assert done.failure.kind is FailureKind.TIMEOUT


def test_a_program_that_cannot_be_started_inside_says_nothing_about_the_arm(tmp_path: Path) -> None:
    arm = an_agent_arm("parrot", {"in_image": True})

    with a_room(tmp_path) as room:
        done = Parrot().attempt(an_attempt(arm), room)

    assert (done.status, done.status_detail) == (
        Status.INFRA_ERROR,
        "the program 'parrot' was not found in the sandbox, or cannot be executed there; the agent never started",
    )


def test_a_program_that_is_missing_is_told_apart_from_one_that_fails(tmp_path: Path) -> None:
    arm = an_agent_arm("parrot", {"program": "/no/such/parrot"})

    with a_room(tmp_path) as room:
        done = Parrot().attempt(an_attempt(arm), room)

    assert done.status is Status.INFRA_ERROR
    assert "there is no program '/no/such/parrot'" in (done.status_detail or "")


# --- what it leaves behind --------------------------------------------------------------------------------------------


def test_files_worth_keeping_are_kept_and_litter_is_taken_away(tmp_path: Path) -> None:
    script = 'echo done; echo a >"$HOME/cage/feather1"; echo b >"$HOME/cage/feather2"; mkdir seeds-1; echo x >work'

    done = attempt(tmp_path, script)

    assert done.artifacts["feathers.txt"] == b"a\nb\n"
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == ["work"]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")

    done = attempt(tmp_path, f'echo done; ln -s {tmp_path}/secret "$HOME/cage/feather1"')

    assert "feathers.txt" not in done.artifacts


def test_an_agent_whose_word_is_in_a_file_is_read_from_there(tmp_path: Path) -> None:
    done = attempt(tmp_path, 'echo ignored; echo done and dusted >"$HOME/cage/feather"', DeafParrot())

    assert (done.status, done.usage.input_tokens) == (Status.COMPLETED, 3)


# --- what is missing --------------------------------------------------------------------------------------------------


class Choosy(Parrot):
    """One that starts no servers and has no model of its own."""

    starts_servers = False
    needs_model = True


@pytest.mark.parametrize(
    ("agent", "arm", "complaint"),
    [
        (Parrot(), an_agent_arm("parrot"), "there is no program 'parrot' on your PATH"),
        (Parrot(), an_agent_arm("parrot"), "Install parrot (buy a cage)"),
        (
            Parrot(),
            an_agent_arm("parrot", {"max_turns": 0}),
            "arms.plain.options.max_turns must be a whole number of at least 1, not 0.",
        ),
        (Parrot(), an_agent_arm("parrot", {"colour": "red"}), "the keys are in_image, max_turns, program."),
        (Choosy(), an_agent_arm("parrot"), "has no default model"),
        (
            Choosy(),
            an_agent_arm("parrot", model="m", mcp_servers={"x": McpServer(command=["x"])}),
            "starts no tool servers",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_way_out(agent: CommandLineAgent, arm: Arm, complaint: str) -> None:
    assert complaint in (agent.missing(arm) or "")


def test_nothing_is_missing_where_the_program_is_there_or_in_the_image(tmp_path: Path) -> None:
    program = a_program(tmp_path / "parrot", "true")

    there, inside = an_agent_arm("parrot", {"program": str(program)}), an_agent_arm("parrot", {"in_image": True})
    by_path = an_agent_arm("parrot", environment={"PATH": str(tmp_path)})

    assert [Parrot().missing(arm) for arm in (there, inside, by_path)] == [None, None, None]
    assert [Parrot().read_only(arm) for arm in (there, inside, by_path)] == [(str(program),), (), (str(program),)]


def test_options_that_make_no_sense_are_refused_wherever_they_are_looked_at() -> None:
    with pytest.raises(UsageError, match=r"unknown key \"colour\" in \[arms\.plain\.options\]"):
        Parrot().read_only(an_agent_arm("parrot", {"colour": "red"}))


# --- which models it may ask ------------------------------------------------------------------------------------------


def test_an_arm_may_ask_the_models_that_its_flags_and_variables_name() -> None:
    flags = ("--fallback-model", "spare", "--weak-model=weak", "--loud")
    arm = an_agent_arm("parrot", model="big", flags=flags, environment={"PARROT_FAST_MODEL": "fast", "MODE": "odd"})

    assert Parrot().other_models(arm) == ("spare", "weak", "fast")
    assert Parrot().resolved_models(arm) == ()


@pytest.mark.parametrize(
    ("agent", "alias", "stands_for"),
    [
        (ClaudeCodeAgent(), "sonnet", ("claude-*sonnet*",)),
        (ClaudeCodeAgent(), "sonnet[1m]", ("claude-*sonnet*",)),
        (ClaudeCodeAgent(), "opusplan", ("claude-*opus*", "claude-*sonnet*")),
        (ClaudeCodeAgent(), "claude-sonnet-4-5", ()),
        (GeminiCliAgent(), "flash", ("gemini-*flash", "gemini-*flash-preview*")),
        (GeminiCliAgent(), "auto-gemini-2.5", ("gemini-*",)),
    ],
)
def test_an_agent_says_what_its_own_names_stand_for(
    agent: CommandLineAgent, alias: str, stands_for: tuple[str, ...]
) -> None:
    assert agent.resolved_models(an_agent_arm(agent.name, model=alias)) == stands_for


def test_a_variable_of_the_arm_says_what_an_alias_of_claude_code_stands_for() -> None:
    stated = {"ANTHROPIC_DEFAULT_OPUS_MODEL": "claude-opus-4-1"}

    assert ClaudeCodeAgent().resolved_models(an_agent_arm("claude-code", model="opus[1m]", environment=stated)) == (
        "claude-opus-4-1",
    )
    assert ClaudeCodeAgent().resolved_models(an_agent_arm("claude-code", model="opusplan", environment=stated)) == (
        "claude-opus-4-1",
        "claude-*sonnet*",
    )


def test_codex_searches_through_its_provider_only_where_the_suite_allows_it() -> None:
    asked = an_attempt(an_agent_arm("codex"), model_access=ModelAccess(base_url="http://127.0.0.1:9", key="k"))
    allowed = replace(asked, model_access=ModelAccess(base_url="http://127.0.0.1:9", key="k", allow=("web_search",)))

    files = [CodexAgent().launch(each, "/h").files[".codex/config.toml"].decode() for each in (asked, allowed)]
    assert [tomllib.loads(file)["web_search"] for file in files] == ["disabled", "live"]
