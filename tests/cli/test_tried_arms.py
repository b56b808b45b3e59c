"""`outweigh run` tries every arm once on a scripted model before it pays, and says what is wrong instead of paying."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agents.programs import a_program
from tests.cli.agent_experiment import SOLVED, AgentDesk, require_agent
from tests.cli.engines import records
from tests.engine.engine_fixtures import shell, write_suite
from tests.prerequisites import needs, require

from outweigh.app.build_engine import load_suite_adapters
from outweigh.app.try_arms import TryRequest, try_arms
from outweigh.engine.load_suite import load_suite
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.store.tried_arms_file import TriedArm
from outweigh.testing.model_server import ModelServer, Script, Turn
from outweigh.verdict.policy import check_policy

SKILL = "---\nname: greeting\ndescription: Says hello in the way of the house.\n---\nA very good day to you.\n"
CLAUDE = {"agent": "claude-code", "model": "claude-sonnet-4-5"}
GONE = {"name": "gone", "backend": "command", "options": {"command": ["/no/such/judge"]}}
RUBRIC = {"criteria": [{"type": "binary", "name": "good", "description": "It is good."}]}


@pytest.fixture
@needs("agent", "bubblewrap")
def claude(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    desk = AgentDesk(tmp_path, CLAUDE["model"])
    (desk.suite / "greeting").mkdir()
    (desk.suite / "greeting" / "SKILL.md").write_text(SKILL)
    return desk


def test_all_that_is_wrong_with_arms_of_a_real_agent_is_said_before_anything_is_paid(claude: AgentDesk) -> None:
    arms = {
        "plain": CLAUDE,
        "served": CLAUDE | {"mcp_servers": {"zoo": {"command": ["no-such-server"]}}},
        "deaf": CLAUDE | {"skills": ["greeting"], "flags": ["--disable-slash-commands"]},
        "misspelt": CLAUDE | {"model": "sonet"},
        "unknown": CLAUDE | {"model": "opus-9-ultra"},
    }
    with ModelServer(SOLVED) as server:
        claude.write(server, arms, judges=[GONE], task={"rubric": RUBRIC})
        refused = claude.run_checked()
        paid = server.totals().requests

    lines = refused.err.splitlines()
    assert (refused.code, paid) == (2, 0)
    assert lines[0].startswith("outweigh: tried 5 arms on the scripted model, which is free, in ")
    assert lines[0].endswith(" s: 3 of 5 apply as declared")
    assert lines[1] == "outweigh: nothing was run or paid for: 5 problems were found."
    for start in (
        "- judge 'gone': there is no program '/no/such/judge'",
        "- arm 'served' (claude-code): the MCP server 'zoo' is declared and",
        "- arm 'deaf' (claude-code): the skill 'greeting' is declared and was not loaded. A skill must lie where",
        "- arm 'misspelt' would ask for the model 'sonet', but no price list has that name, so its cost would be "
        "unknown. Did you mean 'sonnet'",
        "- arm 'unknown' would ask for the model 'opus-9-ultra', but no price list has that name, so its cost would be "
        "unknown. Did you mean 'opus'",
    ):
        assert any(line.startswith(start) for line in lines), refused.err
    assert lines[-1] == "To run it as it is, add -y."


ASKING = """
import json, os, urllib.request
place = os.environ["OUTWEIGH_MODEL_URL"] + "/v1/messages"
body = {"model": os.environ["OUTWEIGH_MODEL"], "max_tokens": 9, "messages": [{"role": "user", "content": "What?"}]}
headers = {"x-api-key": os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(place, json.dumps(body).encode(), headers)).read()
open(os.environ["STARTS"], "a").write("started\\n")
open("answer.txt", "w").write("42")
"""
LISTED = 'name = "mine"\n[models."house-model"]\ninput_usd_per_million = 1\noutput_usd_per_million = 2\n'


class AskingDesk:
    """A suite of one arm whose command asks a model through the gateway, and notes every start."""

    def __init__(self, folder: Path, outweigh: Any, server: ModelServer) -> None:
        self._folder, self._outweigh, self.server = folder, outweigh, server
        self._starts = folder / "starts.txt"

    def write(self, model: str, *, key: str = "", **settings: Any) -> None:
        options = {"command": [sys.executable, "-Ic", ASKING], "model_access": True}
        arm = {"agent": "shell", "model": model, "options": options, "environment": {"STARTS": str(self._starts)}}
        ways = {provider: {"url": self.server.url, "key": key} for provider in ("anthropic", "openai", "gemini")}
        suite = write_suite(
            self._folder / "suite", {"asks": arm}, repeats=1, gateway={**ways, "prices": "prices.toml"}, **settings
        )
        (suite / "prices.toml").write_text(LISTED)

    def run(self, *arguments: str) -> Any:
        return self._outweigh("run", "-c", str(self._folder / "suite"), "-o", str(self._folder / "store"), *arguments)

    @property
    def store(self) -> Path:
        return self._folder / "store"

    @property
    def starts(self) -> int:
        return self._starts.read_text().count("started") if self._starts.exists() else 0

    @property
    def paid_requests(self) -> int:
        return self.server.totals().requests


@pytest.fixture
def desk(tmp_path: Path, outweigh: Any) -> Iterator[AskingDesk]:
    with ModelServer(Script(turn=[Turn(text="42")])) as server:
        yield AskingDesk(tmp_path, outweigh, server)


class TestUnpricedModel:
    def test_one_with_a_price_of_the_suite_s_own_is_run(self, desk: AskingDesk) -> None:
        desk.write("house-model")

        answer = desk.run()

        assert answer.code == 0, answer.err
        assert "price list" not in answer.err
        assert (desk.starts, desk.paid_requests) == (2, 1)

    def test_one_that_is_paid_with_a_key_is_refused(self, desk: AskingDesk, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOUSE_KEY", "sk-1")
        desk.write("unheard-of", key="HOUSE_KEY")

        answer = desk.run()

        assert (answer.code, desk.paid_requests) == (2, 0)
        assert answer.err.endswith(
            "outweigh: nothing was run or paid for: arm 'asks' would ask for the model 'unheard-of', but no price list "
            "has that name, so its cost would be unknown. Correct `model` of the arm, or list the model's price in the "
            "file that `prices` under [gateway] names. To run it as it is, add -y.\n"
        )

    def test_one_on_a_server_without_a_key_bills_no_one_and_is_only_mentioned(self, desk: AskingDesk) -> None:
        desk.write("unheard-of")

        answer = desk.run()

        assert (answer.code, desk.paid_requests) == (0, 1), answer.err
        assert (
            "outweigh: the cost of arm 'asks' will be unknown: no price list has the model 'unheard-of'." in answer.err
        )

    @pytest.mark.parametrize(
        ("settings", "arguments"),
        [
            ({"limits": {"budget_usd": 1.0}}, ()),
            ({"budget_usd": 1.0}, ()),
            ({}, ("--budget", "1")),
            ({"policy": {"name": "evidence", "gates": ["pass_rate", "cost"]}}, ()),
        ],
    )
    def test_where_dollars_are_limited_or_compared_it_is_refused_on_any_server(
        self, desk: AskingDesk, settings: dict[str, Any], arguments: tuple[str, ...]
    ) -> None:
        desk.write("unheard-of", **settings)

        answer = desk.run(*arguments)

        assert (answer.code, desk.paid_requests) == (2, 0)
        assert "so no budget can be kept" in answer.err

    def test_a_name_that_is_nearly_a_known_one_is_refused_on_any_server(self, desk: AskingDesk) -> None:
        desk.write("hose-model")

        answer = desk.run()

        assert (answer.code, desk.paid_requests) == (2, 0)
        assert "Did you mean 'house-model'?" in answer.err

    def test_yes_says_it_and_goes_on(self, desk: AskingDesk) -> None:
        desk.write("hose-model")

        answer = desk.run("-y")

        assert (answer.code, desk.paid_requests) == (0, 1), answer.err
        assert "outweigh: arm 'asks' would ask for the model 'hose-model', but no price list has that" in answer.err

    def test_a_known_name_with_a_local_server_s_tag_is_no_misspelling(self, desk: AskingDesk) -> None:
        desk.write("house:model")

        assert desk.run().code == 0


class TestResultsThatAreKept:
    def test_an_arm_is_not_tried_again_by_a_run_that_goes_on(self, desk: AskingDesk) -> None:
        desk.write("house-model")
        desk.run()
        again = desk.run("-k", "2")

        assert again.code == 0, again.err
        assert (desk.starts, desk.paid_requests) == (3, 2)

    def test_a_run_with_nothing_left_to_do_tries_nothing(self, desk: AskingDesk) -> None:
        desk.write("house-model")
        desk.run()
        (desk.store / "tried-arms.json").unlink()

        again = desk.run()

        assert again.code == 0, again.err
        assert desk.starts == 2

    @pytest.mark.parametrize("damage", [b"\xff", b'{"schema": "outweigh.tried_arms/2", "arms": []}'])
    def test_results_that_cannot_be_read_are_made_again(self, desk: AskingDesk, damage: bytes) -> None:
        desk.write("house-model")
        desk.run()
        (desk.store / "tried-arms.json").write_bytes(damage)

        again = desk.run("-k", "2")

        assert again.code == 0, again.err
        assert desk.starts == 4

    def test_another_sandbox_is_tried_again(self, desk: AskingDesk) -> None:
        desk.write("house-model")
        desk.run()
        kept = msgspec.json.decode((desk.store / "tried-arms.json").read_bytes())
        kept["arms"][0]["setting"] = "of another sandbox"
        (desk.store / "tried-arms.json").write_bytes(msgspec.json.encode(kept))

        desk.run("-k", "2")

        assert desk.starts == 4


@pytest.mark.needs_bubblewrap
def test_an_arm_that_asks_directly_from_a_sandbox_that_reaches_no_host_is_refused(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    arms = {"a": shell("true", model="m"), "b": shell("true", secrets=["A_KEY"])}
    suite = write_suite(tmp_path / "suite", arms, gateway={"mode": "direct"}, sandbox={"kind": "bubblewrap"})
    monkeypatch.setenv("A_KEY", "sk-1")

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 2
    assert "2 problems were found" in answer.err
    assert "Add the host of the model's API to allow_hosts under [sandbox]" in answer.err


def test_a_suite_that_was_refused_is_run_into_the_same_store_when_it_is_corrected(desk: AskingDesk) -> None:
    desk.write("hose-model")
    refused = desk.run()
    file = desk.store.parent / "suite" / "suite.toml"
    file.write_text(file.read_text().replace("hose-model", "house-model"))

    done = desk.run()

    assert (refused.code, done.code) == (2, 0), done.err
    assert "has changed" not in done.err


def test_what_an_agent_does_not_show_is_listed_and_the_run_goes_on(desk: AskingDesk) -> None:
    desk.write("house-model")
    suite = desk.store.parent / "suite"
    (suite / "files" / ".claude" / "agents").mkdir(parents=True)
    (suite / "files" / ".claude" / "agents" / "keeper.md").write_text("---\ndescription: Keeps every zebra.\n---\nx\n")
    file = suite / "suite.toml"
    file.write_text(file.read_text().replace('"agent" = "shell"', '"files" = "files", "agent" = "shell"'))

    answer = desk.run()

    part = "the sub-agent 'keeper' (neither its output nor its requests show this)"
    assert answer.code == 0, answer.err
    assert f"outweigh: arm 'asks' (shell): not provable with this agent: {part}. That is no fault.\n" in answer.err
    (run,) = (run for run in records(desk.store) if run.trial.arm == "asks")
    assert f"not provable with this agent: {part}" in run.warnings


def test_how_the_user_s_own_command_ends_on_a_made_up_task_is_no_fault(outweigh: Any, tmp_path: Path) -> None:
    options = {"command": "cat question.txt >answer.txt", "model_access": True}
    with ModelServer(SOLVED) as server:
        suite = write_suite(
            tmp_path / "suite",
            {"needs-the-task": {"agent": "shell", "options": options}},
            repeats=1,
            gateway={"openai": {"url": server.url, "key": ""}},
        )
        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 0, answer.err
    assert "tried 1 arm on the scripted model" in answer.err


class TestFilesThatLookLikeSkills:
    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")

    def run_with(self, path: str, folder: Path, outweigh: Any, arm: dict[str, Any]) -> Any:
        suite = write_suite(folder / "suite", {"skilled": arm | {"files": "files"}})
        (suite / "files" / path).parent.mkdir(parents=True)
        (suite / "files" / path).write_text(SKILL)
        return outweigh("run", "-c", str(suite), "-o", str(folder / "store"))

    @pytest.mark.parametrize(
        "path",
        [
            ".claude/skill/greeting/SKILL.md",
            "greeting/SKILL.md",
            ".claude/skills/SKILL.md",
            ".claude/skills/greeting/skill.md",
        ],
    )
    def test_one_in_the_wrong_place_is_named_with_the_right_one(self, outweigh: Any, tmp_path: Path, path: str) -> None:
        answer = self.run_with(path, tmp_path, outweigh, fake_claude(tmp_path, "exit"))

        assert answer.code == 2
        assert f"- arm 'skilled' has the file {path}, and claude-code reads skills at .claude/skills/NAME" in answer.err

    @pytest.mark.parametrize("path", [".claude/skills/greeting/SKILL.md", ".claude/skills/greeting/parts/SKILL.md"])
    def test_one_in_the_right_place_is_not_named(self, outweigh: Any, tmp_path: Path, path: str) -> None:
        answer = self.run_with(path, tmp_path, outweigh, fake_claude(tmp_path, "exit"))

        assert "has the file" not in answer.err

    def test_one_of_an_arm_that_asks_no_model_is_any_file(self, outweigh: Any, tmp_path: Path) -> None:
        answer = self.run_with("greeting/SKILL.md", tmp_path, outweigh, shell("echo 42 >answer.txt"))

        assert answer.code == 0, answer.err


def try_alone(
    folder: Path, arm: dict[str, Any], timeout_seconds: float = 300.0, **settings: Any
) -> tuple[Mapping[str, TriedArm], list[str]]:
    """Try one arm in a sandbox that hides nothing."""
    suite = load_suite(write_suite(folder / "suite", {"alone": arm}, **settings), check_policy=check_policy)
    said: list[str] = []
    request = TryRequest(
        suite=suite,
        adapters=load_suite_adapters(suite),
        arms={"alone"},
        store=folder,
        scratch=folder,
        label="outweigh:test",
        jobs=1,
        timeout_seconds=timeout_seconds,
    )
    return try_arms(request, said.append), said


def fake_claude(folder: Path, script: str) -> dict[str, Any]:
    program = a_program(folder / "bin" / "claude", f'[ "$1" = --version ] && exit\n{script}')
    return {"agent": "claude-code", "options": {"program": str(program)}}


def test_a_program_that_hangs_is_stopped_and_named(tmp_path: Path) -> None:
    tried, said = try_alone(tmp_path, fake_claude(tmp_path, "exec sleep 600"), timeout_seconds=0.5)

    assert tried["alone"].faults == ("claude-code did not end within 0.5 s",)
    assert said[0].endswith("0 of 1 apply as declared")


def test_an_arm_without_the_key_of_its_provider_is_refused(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    suite = write_suite(tmp_path / "suite", {"plain": fake_claude(tmp_path, "exit")})

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert answer.code == 2
    assert "- key ANTHROPIC_API_KEY: it is not in the environment. 'plain' cannot ask anthropic without" in answer.err


@pytest.mark.parametrize("stated", [False, True])
def test_an_exported_address_that_the_suite_does_not_name_is_said_before_another_one_is_paid(
    stated: bool, outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:9"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{address}/")
    provider = {"url": "http://127.0.0.1:8" if stated else address, "key": "ANTHROPIC_API_KEY"}
    gateway = {"anthropic": provider} if stated else {}
    suite = write_suite(tmp_path / "suite", {"plain": fake_claude(tmp_path, "exit")}, gateway=gateway)

    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    said = f"ANTHROPIC_BASE_URL is {address}, but arm 'plain' would ask https://api.anthropic.com:"
    assert answer.code == 2
    assert (said in answer.err) is not stated
    assert (
        f'anthropic = {{ url = "{address}", key = "ANTHROPIC_API_KEY" }} under [gateway]' in answer.err
    ) is not stated


def test_a_dry_run_names_what_can_be_found_without_starting_an_agent(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    arm = fake_claude(tmp_path, f"touch {tmp_path}/started")
    suite = write_suite(tmp_path / "suite", {"plain": arm}, judges=[GONE], task={"rubric": RUBRIC})

    answer = outweigh("run", "-c", str(suite), "--dry-run")

    assert answer.code == 0
    assert "to fix before a run: key ANTHROPIC_API_KEY: it is not in the environment." in answer.out
    assert "to fix before a run: judge 'gone': there is no program '/no/such/judge'" in answer.out
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("mode", ["metered", "direct"])
def test_a_try_has_the_secrets_of_tool_servers_and_no_key_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    names = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "ZOO_TOKEN"]
    for name in names:
        monkeypatch.setenv(name, f"value-of-{name}")
    arm = fake_claude(tmp_path, f"env >{tmp_path}/seen.txt") | {"secrets": names}

    try_alone(tmp_path, arm, gateway={"mode": mode})

    seen = (tmp_path / "seen.txt").read_text()
    assert [name for name in names if f"value-of-{name}" in seen] == ["ZOO_TOKEN"]


@pytest.mark.parametrize(("mode", "reaches"), [("metered", True), ("direct", False)])
def test_a_try_reaches_the_hosts_that_the_suite_allows_unless_one_may_be_the_paid_model(
    tmp_path: Path, mode: str, *, reaches: bool
) -> None:
    arm = fake_claude(tmp_path, f"env >{tmp_path}/seen.txt")

    try_alone(tmp_path, arm, gateway={"mode": mode}, sandbox={"kind": "local", "allow_hosts": ["api.example.com"]})

    assert ("HTTPS_PROXY=" in (tmp_path / "seen.txt").read_text()) is reaches


@pytest.mark.parametrize("mode", ["metered", "direct"])
def test_an_agent_that_cannot_be_led_to_the_scripted_model_is_not_tried_without_a_gateway(
    tmp_path: Path, mode: str
) -> None:
    arm = {"agent": "shell", "options": {"command": "true", "model_access": True}}

    tried, said = try_alone(tmp_path, arm, gateway={"mode": mode})

    assert bool(tried) is bool(said) is (mode == "metered")
