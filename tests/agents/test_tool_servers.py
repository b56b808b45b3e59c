"""With every agent, a tool server that works is proven, and one that does not is a fault with its reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

import pytest
from tests.agents.http_tool_server import http_tool_server
from tests.agents.live_agent import TOOL_SERVER
from tests.agents.programs import PROGRAMS
from tests.prerequisites import needs, require

from outweigh.app.one_attempt import AttemptSetting, OneAttempt, attempt_once
from outweigh.app.suite_sandbox import open_allowed_hosts
from outweigh.engine.server_check import check_servers
from outweigh.engine.setup_check import SetupCheck, check_setup, expected_setup
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm, McpServer, OverlayFile
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter
from outweigh.ports.gateways import HostAccess
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.agent_contract import an_agent_arm
from outweigh.testing.model_server import ModelServer, Script, Turn

MODELS = {
    "claude-code": "claude-sonnet-4-5",
    "codex": "gpt-5",
    "copilot": "gpt-5",
    "gemini-cli": "gemini-2.5-pro",
    "goose": "openai/gpt-5",
    "opencode": "openai/gpt-5",
    "qwen-code": "qwen3-coder",
}
SECRET, SECRET_VALUE = "ZOO_API_TOKEN", "tok-zoo-5f2c"
SERVER = f"""
import os
SECRET = "is_there" if os.environ.get("{SECRET}") == "{SECRET_VALUE}" else "is_missing"
PLACE = "is_there" if os.environ.get("ZOO_PLACE") == "$HOME/zoo" else "is_missing"
{TOOL_SERVER.replace("[TOOL]", "[{**TOOL, 'name': name} for name in ('secret_' + SECRET, 'place_' + PLACE)]")}
""".encode()
SERVERS = {
    "zoo": McpServer(command=["python3", "zoo_server.py"]),
    "absent": McpServer(command=["no-such-server"]),
    "brief": McpServer(command=["sh", "-c", "echo no licence >&2; exit 3"]),
    "mute": McpServer(command=["sleep", "600"], start_timeout_seconds=2.0),
}


@dataclass(frozen=True)
class Tried:
    """One run of an agent with servers; `authorizations` are the headers that the remote one was sent."""

    attempt: OneAttempt
    check: SetupCheck
    authorizations: frozenset[str | None]

    @property
    def description(self) -> str:
        outcome = self.attempt.outcome
        kept = "\n".join(f"--- {name}\n{text.decode(errors='replace')}" for name, text in outcome.artifacts.items())
        return f"{outcome.status} {outcome.status_detail}\n{outcome.servers}\n{self.attempt.account}\n{kept}"


def the_arm(name: str, servers: Mapping[str, McpServer]) -> Arm:
    agent = load_adapter("agent", name)
    return an_agent_arm(
        name,
        {"program": str(PROGRAMS / agent.program)},
        model=MODELS[name],
        overlay=(OverlayFile(path="zoo_server.py", sha256=sha256(SERVER).hexdigest(), executable=False),),
        mcp_servers=dict(servers),
        environment={"ZOO_PLACE": "$HOME/zoo"},
        secrets=(SECRET,),
    )


@pytest.fixture(scope="module", params=sorted(MODELS))
@needs("agent", "bubblewrap")
def tried(request: pytest.FixtureRequest) -> Tried:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    require("agent", load_adapter("agent", request.param).missing(the_arm(request.param, SERVERS)))
    return try_arm(request.param, SERVERS)


@pytest.fixture(scope="module")
def working(tried: Tried) -> Tried:
    """A run in which the agent got to ask its model; Codex does not where a server fails."""
    if tried.attempt.outcome.status is Status.COMPLETED:
        return tried
    name = tried.attempt.outcome.agent.name or ""
    return try_arm(name, {"zoo": SERVERS["zoo"]})


def try_arm(name: str, servers: Mapping[str, McpServer], sandboxes: SandboxProvider | None = None) -> Tried:
    """Try an arm with these servers and a remote one, which a sandbox with walls reaches through its proxy."""
    with http_tool_server(f"Bearer {SECRET_VALUE}") as far:
        remote = McpServer(url=far.url, headers={"Authorization": f"Bearer ${{{SECRET}}}"})
        is_reached = sandboxes is not None or not load_adapter("agent", name).ignores_no_proxy
        arm = the_arm(name, {**servers, "far": remote} if is_reached else servers)
        with open_allowed_hosts(SandboxSpec(allow_hosts=[far.host])) as hosts:
            attempt = attempt_with(arm, hosts, sandboxes or BubblewrapSandboxProvider())
        outcome, expected = (
            attempt.outcome,
            expected_setup({arm.name: arm}, {file.sha256: SERVER for file in arm.overlay}),
        )
        check = check_setup(arm, expected, outcome.loaded, attempt.account, outcome.servers)
        return Tried(attempt, check, frozenset(far.seen))


def attempt_with(arm: Arm, hosts: Callable[[], HostAccess | None], sandboxes: SandboxProvider) -> OneAttempt:
    overlays = {file.sha256: SERVER for file in arm.overlay}
    script = Script(turn=[Turn(text="Done.")])
    with ModelServer(script) as server:
        scripted = ModelUpstream(url=server.url, variable="", key="")
        with ModelGateway(dict.fromkeys(ApiFamily, scripted), PriceTables()) as gateway:
            setting = AttemptSetting(
                overlays=overlays,
                sandbox=SandboxSpec(),
                sandboxes=sandboxes,
                gateway=gateway,
                expected=expected_setup({arm.name: arm}, overlays),
                timeout_seconds=120,
                secrets={SECRET: SECRET_VALUE},
                hosts=hosts,
            )
            return attempt_once(setting, arm, "Say that you are done.")


def test_every_server_that_does_not_work_is_a_fault_with_its_reason_and_the_one_that_works_is_none(
    tried: Tried,
) -> None:
    faults = {fault.split("'")[1]: fault for fault in tried.check.faults}

    assert sorted(faults) == ["absent", "brief", "mute"], tried.description
    assert "could not be started (no-such-server: No such file or directory)" in faults["absent"]
    assert "ended before it answered initialize (exit code 3): no licence" in faults["brief"]
    assert "did not answer initialize within 2 s" in faults["mute"]


def test_requests_alone_show_the_server_that_works_and_no_other(working: Tried) -> None:
    evidence = working.attempt.outcome.servers
    assert evidence is not None

    by_requests = check_servers(
        an_agent_arm("any", mcp_servers=SERVERS), None, working.attempt.account, replace(evidence, starts={})
    )

    assert [server.name for server in by_requests.servers or ()] == ["zoo"], working.description
    assert len(by_requests.faults) == 3


def test_a_forged_record_does_not_make_up_for_tools_that_the_requests_do_not_offer(working: Tried) -> None:
    evidence = working.attempt.outcome.servers
    assert evidence is not None
    forged = replace(evidence, starts=dict.fromkeys(SERVERS, evidence.starts["zoo"]))

    check = check_servers(an_agent_arm("any", mcp_servers=SERVERS), None, working.attempt.account, forged)

    assert [fault.split("'")[1] for fault in check.faults] == ["absent", "brief", "mute"], working.description


def test_secrets_and_variables_of_the_arm_reach_its_server(tried: Tried) -> None:
    evidence = tried.attempt.outcome.servers
    assert evidence is not None

    assert evidence.starts["zoo"].tools == ("secret_is_there", "place_is_there"), tried.description


def test_a_remote_server_gets_the_secret_in_its_header_and_is_proven_by_requests(working: Tried) -> None:
    name = working.attempt.outcome.agent.name or ""
    if load_adapter("agent", name).ignores_no_proxy:
        working = try_arm(name, {}, LocalSandboxProvider())
    own = an_agent_arm("any", mcp_servers={"far": McpServer(url="http://far.example.org")})

    check = check_servers(own, None, working.attempt.account, working.attempt.outcome.servers)

    assert working.authorizations == {f"Bearer {SECRET_VALUE}"}, working.description
    assert (check.faults, check.unproven) == ((), ()), working.description


def test_a_run_whose_servers_all_work_has_no_fault(working: Tried) -> None:
    own = an_agent_arm("any", mcp_servers={"zoo": SERVERS["zoo"]})

    check = check_servers(own, working.attempt.outcome.loaded, working.attempt.account, working.attempt.outcome.servers)

    assert (check.faults, check.unproven) == ((), ()), working.description
