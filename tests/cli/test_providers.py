"""Experiments whose arms have providers of their own, with real agents; and what is refused before any run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.agent_experiment import PRICES, SOLVED, AgentDesk, handed_out, require_agent, used
from tests.engine.engine_fixtures import toml_lines, write_suite
from tests.gateway.cloud_fronts import AWS_KEYS, BEDROCK_MODEL, BedrockFront, a_vertex
from tests.gateway.login_fixtures import LoginProvider, a_jwt, claude_file, codex_file, gemini_file
from tests.gateway.upstreams import an_upstream
from tests.prerequisites import needs

from outweigh.app.build_engine import load_suite_adapters, open_model_gateway
from outweigh.engine.load_suite import load_suite
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.model.usage import CostProvenance
from outweigh.testing.model_server import ModelServer
from outweigh.verdict.policy import check_policy

KEY = "sk-provider-0123456789abcdef"
PLAN_REQUESTS = {"codex": 1, "gemini-cli": 2}
"""One answer of the model; Gemini's login is asked for its project before."""
SCRIPTED = {"agent": "shell", "options": {"command": "true", "model_access": True}}


@pytest.fixture
@needs("agent", "bubblewrap")
def codex(tmp_path: Path) -> AgentDesk:
    require_agent("codex")
    return AgentDesk(tmp_path, "gpt-5")


def test_arms_of_one_experiment_are_served_by_different_providers_and_told_apart(codex: AgentDesk) -> None:
    arm = {"agent": "codex", "model": "gpt-5"}
    free = dict.fromkeys(PRICES, 0.0)
    with ModelServer(SOLVED) as maker, ModelServer(SOLVED) as local:
        (codex.suite / "free.toml").write_text(
            toml_lines({"name": "free", "models": {"gpt-5": free, "qwen3-coder": free}})
        )
        table = {
            "dialect": "openai",
            "url": f"{local.url}/v1",
            "key": "LOCAL_KEY",
            "models": {"gpt-5": "qwen3-coder"},
            "prices": "free.toml",
        }
        codex.write(maker, {"maker": arm, "local": {**arm, "provider": "box"}}, providers={"box": table})
        ended = codex.run(LOCAL_KEY=KEY)
        totals = {"maker": maker.totals(), "local": local.totals()}
        keys, asked = {entry.api_key for entry in local.ledger}, {entry.model for entry in local.ledger}

    runs = {run.trial.arm: run for run in codex.records()}
    assert ended.code == 0, ended.err
    assert {run.status for run in runs.values()} == {Status.COMPLETED}
    for arm_name, run in runs.items():
        assert used([run]) == handed_out(totals[arm_name])
    assert (keys, asked) == ({KEY}, {"qwen3-coder"})
    metered = {name: run.metering for name, run in runs.items()}
    assert metered["maker"] is not None
    assert metered["local"] is not None
    assert metered["maker"].providers == {"openai": maker.url.removeprefix("http://")}
    assert metered["local"].providers == {"box": local.url.removeprefix("http://")}
    assert runs["maker"].cost.usd
    assert (runs["local"].cost.usd, runs["local"].cost.price_table) == (0.0, "free")
    assert runs["maker"].arm_fingerprint != runs["local"].arm_fingerprint
    for file in codex.store.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


class TestClouds:
    """Real agents use their own API; the gateway signs, and the cloud verifies."""

    @pytest.fixture
    @needs("agent", "bubblewrap")
    def claude(self, tmp_path: Path) -> AgentDesk:
        require_agent("claude")
        return AgentDesk(tmp_path, "claude-sonnet-4-5")

    @needs("agent", "bubblewrap")
    def test_claude_code_on_bedrock_and_on_vertex_is_metered_to_the_token(self, claude: AgentDesk) -> None:
        arm = {"agent": "claude-code", "model": "claude-sonnet-4-5"}
        with ModelServer(SOLVED) as first, ModelServer(SOLVED) as second, a_vertex(second) as vertex:
            bedrock = BedrockFront(first)
            (claude.folder / "key.json").write_bytes(msgspec.json.encode(vertex.service_account()))
            with an_upstream(bedrock.answer) as url:
                tables = {
                    "aws": {
                        "kind": "bedrock",
                        "region": "eu-west-1",
                        "url": url,
                        "models": {arm["model"]: BEDROCK_MODEL},
                    },
                    "google": {
                        "kind": "vertex",
                        "project": "our-project",
                        "region": "europe-west1",
                        "url": vertex.url,
                        "models": {arm["model"]: "claude-sonnet-4-5@20250929"},
                    },
                }
                claude.write(
                    first,
                    {"aws": {**arm, "provider": "aws"}, "google": {**arm, "provider": "google"}},
                    providers={name: {"dialect": "anthropic", **table} for name, table in tables.items()},
                )
                key = str(claude.folder / "key.json")
                ended = claude.run("-j", "2", **AWS_KEYS, GOOGLE_APPLICATION_CREDENTIALS=key)
            totals = {"aws": first.totals(), "google": second.totals()}

        runs = {run.trial.arm: run for run in claude.records()}
        assert ended.code == 0, ended.err
        assert (bedrock.refused, vertex.refused) == ([], [])
        assert not any("context_management" in body for body in bedrock.bodies)  # a beta feature of Anthropic alone
        for name, run in runs.items():
            assert (run.status, run.status_detail) == (Status.COMPLETED, None)
            assert used([run]) == handed_out(totals[name])
            assert run.metering is not None
            assert list(run.metering.providers) == [name]
        secrets = [*AWS_KEYS.values(), *vertex.given, "PRIVATE KEY"]
        for file in claude.store.rglob("*"):
            assert not file.is_file() or not any(secret.encode() in file.read_bytes() for secret in secrets)


class TestLogins:
    """Real agents with the logins of their plans: read outside, sent by the gateway, priced at list."""

    TOKEN = a_jwt(9_999_999_999)

    @pytest.fixture
    @needs("agent", "bubblewrap")
    def desk(self, tmp_path: Path) -> AgentDesk:
        require_agent("claude")
        require_agent("codex")
        require_agent("gemini")
        gemini_file(tmp_path, self.TOKEN, expires_at=9_999_999_999)
        claude_file(tmp_path, self.TOKEN, expires_at=9_999_999_999)
        codex_file(tmp_path, self.TOKEN)
        return AgentDesk(tmp_path, "a-model")

    @needs("agent", "bubblewrap")
    def test_claude_code_codex_and_gemini_are_metered_like_a_key(self, desk: AgentDesk) -> None:
        arms = {
            "claude": {"agent": "claude-code", "model": "a-model", "auth": "login"},
            "codex": {"agent": "codex", "model": "a-model", "auth": "login"},
            "gemini": {"agent": "gemini-cli", "model": "a-model", "auth": "login"},
        }
        with ModelServer(SOLVED) as server:
            provider = LoginProvider(server, self.TOKEN)
            with an_upstream(provider.answer) as url:
                desk.write(server, arms)
                suite = desk.suite / "suite.toml"
                suite.write_text(suite.read_text().replace(server.url, url))
                ended = desk.run("-j", "2")
            totals = server.totals()

        runs = desk.records()
        assert ended.code == 0, ended.err
        assert used(runs) == handed_out(totals)
        for run in runs:
            assert (run.status, run.status_detail) == (Status.COMPLETED, None)
            assert (run.cost.provenance, run.cost.price_table) == (CostProvenance.PLAN, "listed")
            assert run.cost.usd
            assert run.metering is not None
            assert list(run.metering.providers) == [f"{run.agent.name} login"]
        asked = {"/v1/messages", "/backend-api/codex/responses", "/v1internal:streamGenerateContent"}
        assert asked <= set(provider.paths)
        for file in desk.store.rglob("*"):
            assert not file.is_file() or self.TOKEN.encode() not in file.read_bytes()

    @needs("agent", "bubblewrap")
    def test_a_login_that_expires_in_the_middle_ends_the_experiment_in_one_sentence(self, desk: AgentDesk) -> None:
        arm = {"agent": "claude-code", "model": "a-model", "auth": "login"}
        with ModelServer(SOLVED) as server:
            provider = LoginProvider(server, "sk-ant-oat01-0123456789", requests=1)
            with an_upstream(provider.answer) as url:
                desk.write(server, {"a": arm}, repeats=3)
                suite = desk.suite / "suite.toml"
                suite.write_text(suite.read_text().replace(server.url, url))
                ended = desk.run("-j", "1", CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-0123456789")
            answered = server.totals().requests

        runs = desk.records()
        told = "The login in CLAUDE_CODE_OAUTH_TOKEN has expired or was refused, and it cannot be renewed."
        assert ended.code != 0
        assert told in " ".join(ended.err.split())
        assert answered == 1
        assert [run.status for run in runs if run.trial.arm == "a"] == [Status.INFRA_ERROR]  # of three

    @needs("agent", "bubblewrap")
    @pytest.mark.parametrize("agent", PLAN_REQUESTS)
    def test_at_the_limit_of_a_plan_the_run_ends_and_the_experiment_waits(self, desk: AgentDesk, agent: str) -> None:
        arm = {"agent": agent, "model": "a-model", "auth": "login"}
        with ModelServer(SOLVED) as server:
            provider = LoginProvider(server, self.TOKEN, plan_requests=PLAN_REQUESTS[agent])
            with an_upstream(provider.answer) as url:
                limits = {"timeout_seconds": 120, "retries": 0}
                desk.write(server, {"a": arm, "idle": {"agent": "noop"}}, limits=limits)
                suite = desk.suite / "suite.toml"
                suite.write_text(suite.read_text().replace(server.url, url))
                ended = desk.run("-j", "2")

        (run,) = [run for run in desk.records() if run.trial.arm == "a"]
        assert (run.status, (run.status_detail or "").partition(":")[0]) == (Status.INFRA_ERROR, "rate_limited")
        assert "the model asks for a pause of 3600 s" in ended.err


class TestRefusedBeforeAnyRun:
    @pytest.mark.parametrize(
        ("arm", "table", "settings", "told"),
        [
            (
                {"agent": "claude-code"},
                {},
                {},
                "arms.b.provider: claude-code uses anthropic's API for this arm, and 'box' has openai's. Name a "
                'provider with dialect = "anthropic", or another agent.',
            ),
            (
                {"agent": "opencode", "model": "anthropic/claude-sonnet-4-5"},
                {},
                {},
                'with dialect = "anthropic", or write the model as openai/NAME.',
            ),
            (
                SCRIPTED,
                {"key": "NO_SUCH_KEY"},
                {},
                "providers.box needs NO_SUCH_KEY, which is not in the environment; export it",
            ),
            (
                SCRIPTED,
                {"headers": {"x-team": "${NO_SUCH_TEAM}"}},
                {},
                "providers.box needs NO_SUCH_TEAM, which is not in the environment",
            ),
            (SCRIPTED, {}, {"gateway": {"mode": "direct"}}, 'mode = "direct" under [gateway] uses no gateway'),
            (
                {"agent": "claude-code", "auth": "login"},
                {},
                {},
                "arms.b.auth: a login goes to the agent's own provider, and the arm names 'box'. Keep one.",
            ),
            (SCRIPTED, {"prices": "none.toml"}, {}, "none.toml cannot be read: No such file"),
            (
                {"agent": "shell", "options": {"command": "true"}},
                {},
                {},
                "the agent shell asks no model here, so 'box' would serve nothing. Set model_access = true",
            ),
        ],
    )
    def test_what_cannot_be_served_is_one_sentence(
        self, tmp_path: Path, arm: Mapping[str, Any], table: Mapping[str, Any], settings: Mapping[str, Any], told: str
    ) -> None:
        suite = load_suite(self._suite(tmp_path, arm, table, settings), check_policy=check_policy)

        with pytest.raises(UsageError) as refused, open_model_gateway(suite, load_suite_adapters(suite)):
            pass

        assert told in str(refused.value)

    @pytest.mark.parametrize(
        ("arm", "gateway", "told"),
        [
            ({"agent": "aider", "model": "a-model"}, {}, "codex and gemini-cli; aider needs a key"),
            ({"agent": "codex"}, {"mode": "direct"}, 'mode = "direct" under [gateway] uses no gateway'),
            (
                {"agent": "codex"},
                {"openai": {"url": "https://router.example", "key": ""}},
                "[gateway.openai] has the address https://router.example, and a login is sent to its maker alone.",
            ),
            ({"agent": "codex"}, {}, "there is no ChatGPT login in"),
        ],
    )
    def test_a_login_that_cannot_be_used_is_one_sentence(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arm: Mapping[str, Any],
        gateway: Mapping[str, Any],
        told: str,
    ) -> None:
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "nobody"))
        arms = {"a": SCRIPTED, "b": {**arm, "auth": "login", "options": {"program": "/bin/true"}}}
        usual = {"anthropic": {"url": "http://127.0.0.1:9", "key": ""}}
        write_suite(tmp_path, arms, gateway={**usual, **gateway})
        suite = load_suite(tmp_path, check_policy=check_policy)

        with pytest.raises(UsageError) as refused, open_model_gateway(suite, load_suite_adapters(suite)):
            pass

        assert told in str(refused.value)

    def test_nothing_is_run(self, outweigh_process: Any, tmp_path: Path) -> None:
        folder = self._suite(tmp_path, SCRIPTED, {"key": "NO_SUCH_KEY"}, {})

        answer = outweigh_process("run", "-c", str(folder), "-o", str(tmp_path / "store"), "-y")

        assert answer.code == 2
        assert "providers.box needs NO_SUCH_KEY" in " ".join(answer.err.split())
        assert not list((tmp_path / "store").glob("runs*"))

    def _suite(
        self, folder: Path, arm: Mapping[str, Any], table: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Path:
        program = {} if arm["agent"] == "shell" else {"options": {"program": "/bin/true"}}
        provider = {"dialect": "openai", "url": "http://127.0.0.1:9", "key": "", **table}
        arms = {"a": SCRIPTED, "b": {**arm, **program, "provider": "box"}}
        gateway = {"openai": {"url": "http://127.0.0.1:9", "key": ""}}
        return write_suite(folder, arms, **{"gateway": gateway, "providers": {"box": provider}, **settings})

    def test_the_doctor_tells_the_same(self, outweigh_process: Any, tmp_path: Path) -> None:
        provider = {"dialect": "anthropic", "url": "http://127.0.0.1:9", "key": "NO_SUCH_KEY"}
        arms = {"a": SCRIPTED, "b": {**SCRIPTED, "provider": "box"}}
        write_suite(tmp_path, arms, providers={"box": provider})

        answer = outweigh_process("doctor", "-c", str(tmp_path), "--format", "json")

        parts = {f"{part['kind']} {part['name']}": part for part in msgspec.json.decode(answer.out)["parts"]}
        assert parts["key NO_SUCH_KEY"]["required"]
        assert "'b' cannot ask the provider 'box' without it; export it." in parts["key NO_SUCH_KEY"]["missing"]
