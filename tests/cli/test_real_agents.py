"""Suites of real agents, end to end: command lines in bubblewrap, metered by the gateway, proven, paused and capped."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import ACT, END, SOLVED, AgentDesk, handed_out, require_agent, used
from tests.prerequisites import needs

from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind
from outweigh.model.usage import CostProvenance
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn

AGENTS = {
    "claude-code": ("claude", "claude-sonnet-4-5"),
    "codex": ("codex", "gpt-5"),
    "mini-swe-agent": ("mini", "openai/gpt-5"),
}
SKILL = """---
name: greeting
description: Says hello in the way of the house.
---
Always begin with these words: a very good day to you.
"""


@pytest.fixture(params=AGENTS)
@needs("agent", "bubblewrap")
def agent(request: pytest.FixtureRequest) -> str:
    require_agent(AGENTS[request.param][0])
    return str(request.param)


@pytest.fixture
def desk(tmp_path: Path, agent: str) -> AgentDesk:
    return AgentDesk(tmp_path, AGENTS[agent][1])


@pytest.fixture
@needs("agent", "bubblewrap")
def claude(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    return AgentDesk(tmp_path, AGENTS["claude-code"][1])


def arm(agent: str, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "model": AGENTS[agent][1], **more}


def test_two_arms_are_run_and_metered_to_the_token(desk: AgentDesk, agent: str) -> None:
    with ModelServer(SOLVED) as server:
        desk.write(server, {"plain": arm(agent), "told": arm(agent, extra_prompt="Be brief about it.")})
        ended = desk.run("-j", "2")
        totals = server.totals()

    runs = desk.records()
    assert ended.code == 0, ended.err
    assert [run.status for run in runs] == [Status.COMPLETED] * 2
    assert used(runs) == handed_out(totals)
    assert totals.requests >= 4
    for run in runs:
        assert run.checks is not None
        assert all(check.passed for check in run.checks)
        assert (run.agent.kind, run.agent.name) == (AgentKind.REAL, agent)
        assert run.agent.version
        assert run.cost.provenance is CostProvenance.METERED
        assert run.cost.price_table == "listed"
        assert not any("metered" in warning for warning in run.warnings)
        assert run.tool_call_count
        assert {"trajectory.json", "diff.patch"} <= run.artifacts.keys()
        assert run.components is not None
        sent = sum(line.input_tokens for line in run.components)
        assert sent == sum(
            part or 0 for part in (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.cache_write_tokens)
        )
    priced = sum((run.cost.usd or 0.0) for run in runs)
    assert priced == pytest.approx(
        (totals.tokens.input_tokens * 3 + totals.tokens.output_tokens * 15 + totals.tokens.cache_read_tokens * 0.3)
        / 1e6
    )


def test_the_real_key_stays_outside_and_only_the_run_s_own_is_seen_inside(claude: AgentDesk) -> None:
    look = "env | grep -i -e key -e token -e secret; cat /proc/self/environ | tr '\\0' '\\n'; echo 42 >answer.txt"
    with ModelServer(Script(turn=[Turn(run=look), END])) as server:
        claude.write(server, {"a": arm("claude-code"), "b": arm("claude-code", extra_prompt="Again.")})
        suite = claude.suite / "suite.toml"
        suite.write_text(suite.read_text().replace('"key" = ""', '"key" = "THE_REAL_KEY"', 1))
        ended = claude.run(THE_REAL_KEY="sk-very-secret-indeed")
        keys = {entry.api_key for entry in server.ledger}

    assert ended.code == 0, ended.err
    assert keys == {"sk-very-secret-indeed"}
    for file in claude.store.rglob("*"):
        assert not file.is_file() or b"sk-very-secret-indeed" not in file.read_bytes()


def test_requests_that_the_agent_does_not_count_are_metered_and_called_out(claude: AgentDesk) -> None:
    """The agent's own tool sends a request of its own, as helpers and hooks do."""
    body = '{"model":"claude-sonnet-4-5","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}'
    aside = (
        "host=${ANTHROPIC_BASE_URL#http://}; exec 3<>/dev/tcp/${host%:*}/${host#*:}; "
        f"printf 'POST /v1/messages HTTP/1.1\\r\\nHost: x\\r\\nx-api-key: %s\\r\\nContent-Length: {len(body)}\\r\\n"
        f"Connection: close\\r\\n\\r\\n%s' \"$ANTHROPIC_API_KEY\" '{body}' >&3; cat <&3 >/dev/null; echo 42 >answer.txt"
    )
    with ModelServer(Script(turn=[Turn(run=f"bash -c {_quoted(aside)}"), END])) as server:
        claude.write(server, {"a": arm("claude-code"), "b": arm("claude-code", extra_prompt="Again.")})
        ended = claude.run()
        totals = server.totals()

    runs = claude.records()
    assert ended.code == 0, ended.err
    assert totals.requests == 6
    assert used(runs) == handed_out(totals)
    for run in runs:
        assert run.reported is not None
        assert run.reported.usage != run.usage
        assert "it counts 2 of 3 requests" in run.warnings[0]


class TestProofOfLoad:
    def test_a_skill_is_seen_in_the_treatment_and_not_in_the_control(self, claude: AgentDesk) -> None:
        self._skill(claude.suite / "skills")
        with ModelServer(SOLVED) as server:
            skilled = arm("claude-code", skills=["skills/greeting"])
            claude.write(server, {"plain": arm("claude-code"), "skilled": skilled})
            ended = claude.run()

        loaded = {run.trial.arm: run.loaded for run in claude.records()}
        assert ended.code == 0, ended.err
        assert {run.status for run in claude.records()} == {Status.COMPLETED}
        assert "greeting" in loaded["skilled"].skills  # type: ignore[union-attr, operator]
        assert "greeting" not in loaded["plain"].skills  # type: ignore[union-attr, operator]
        assert loaded["skilled"].seen_by == ("init event", "requests")  # type: ignore[union-attr]
        assert loaded["skilled"].skills_used == ()  # type: ignore[union-attr]

    def test_a_skill_that_was_opened_counts_as_used(self, claude: AgentDesk) -> None:
        self._skill(claude.suite / "skills")
        opened = Turn(run="cat .claude/skills/greeting/SKILL.md")
        with ModelServer(Script(turn=[opened, ACT, END])) as server:
            claude.write(
                server, {"plain": arm("claude-code"), "skilled": arm("claude-code", skills=["skills/greeting"])}
            )
            claude.run()

        used_skills = {run.trial.arm: run.loaded.skills_used for run in claude.records() if run.loaded is not None}
        assert used_skills == {"plain": (), "skilled": ("greeting",)}

    def test_a_declared_skill_that_is_not_loaded_makes_the_run_no_evidence(self, claude: AgentDesk) -> None:
        self._skill(claude.suite / "skills")
        deaf = arm("claude-code", skills=["skills/greeting"], flags=["--disable-slash-commands"])
        with ModelServer(SOLVED) as server:
            claude.write(server, {"plain": arm("claude-code"), "deaf": deaf})
            ended = claude.run()

        (run,) = (run for run in claude.records() if run.trial.arm == "deaf")
        assert ended.code == 3
        assert run.status is Status.ARM_NOT_APPLIED
        assert run.status_detail == "the skill 'greeting' is declared and was not loaded"
        assert run.checks is None
        assert run.cost.usd

    def test_the_skill_of_the_treatment_in_the_control_makes_its_run_no_evidence(self, claude: AgentDesk) -> None:
        self._skill(claude.suite / "skills")
        with ModelServer(SOLVED) as server:
            claude.write(
                server, {"plain": arm("claude-code"), "skilled": arm("claude-code", skills=["skills/greeting"])}
            )
            self._skill(claude.suite / "task-1" / "environment" / ".claude" / "skills")
            claude.run()

        statuses = {run.trial.arm: (run.status, run.status_detail) for run in claude.records()}
        assert statuses == {
            "skilled": (Status.COMPLETED, None),
            "plain": (Status.ARM_NOT_APPLIED, "the skill 'greeting' of another arm was loaded"),
        }

    def _skill(self, folder: Path) -> None:
        (folder / "greeting").mkdir(parents=True)
        (folder / "greeting" / "SKILL.md").write_text(SKILL)


def test_a_rate_limit_is_waited_out_and_the_attempt_repeated(claude: AgentDesk) -> None:
    limited = ErrorSpec(kind="rate_limited", retry_after_seconds=2, times=1, shared=True)
    once = {"environment": {"CLAUDE_CODE_MAX_RETRIES": "0"}}
    with ModelServer(Script(turn=[Turn(error=limited, run=ACT.run), END])) as server:
        claude.write(server, {"a": arm("claude-code", **once), "b": arm("claude-code", extra_prompt="Again.", **once)})
        ended = claude.run("-j", "1")

    runs = claude.records()
    failed = [run for run in runs if run.status is Status.INFRA_ERROR]
    assert ended.code == 0, ended.err
    assert "the model asks for a pause of 2 s" in ended.err
    assert failed
    assert all("rate_limited: HTTP 429" in (run.status_detail or "") for run in failed)
    assert {run.trial.arm for run in runs if run.status is Status.COMPLETED} == {"a", "b"}
    for before, after in _attempts(runs):
        assert (after.started_at - before.started_at).total_seconds() >= 2


def test_a_budget_stops_a_run_before_the_next_request(desk: AgentDesk, agent: str) -> None:
    with ModelServer(SOLVED) as server:
        arms = {"a": arm(agent), "b": arm(agent, extra_prompt="Again.")}
        desk.write(server, arms, limits={"timeout_seconds": 240, "budget_usd": 0.004})
        desk.run()
        totals = server.totals()

    runs = desk.records()
    assert {run.status for run in runs} == {Status.BUDGET_EXCEEDED}
    assert totals.billed == 2
    assert used(runs) == handed_out(totals)


def test_a_refused_key_is_not_tried_twice(claude: AgentDesk) -> None:
    with ModelServer(Script(turn=[Turn(error=ErrorSpec(kind="unauthorized"))])) as server:
        claude.write(server, {"a": arm("claude-code"), "b": arm("claude-code", extra_prompt="Again.")})
        ended = claude.run()

    assert ended.code == 3
    assert [run.attempt for run in claude.records()] == [1, 1]
    assert all((run.status_detail or "").startswith("unauthorized: HTTP 401") for run in claude.records())


def _attempts(runs: list[Any]) -> list[tuple[Any, Any]]:
    """Each first attempt with the one after it."""
    by_arm: dict[str, list[Any]] = {}
    for run in sorted(runs, key=lambda run: run.attempt):
        by_arm.setdefault(run.trial.arm, []).append(run)
    return [(first, second) for first, second, *_ in (found for found in by_arm.values() if len(found) > 1)]


def _quoted(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"
