"""Try arms before any run is paid for: the real agent, sandbox and gateway with a scripted model that costs nothing.

It shows that the agent starts, reaches its model, can use its tools, and sees everything that the arm provides.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from outweigh.app.arm_login import login_api
from outweigh.app.one_attempt import AttemptSetting, OneAttempt, attempt_once
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import choose_sandbox
from outweigh.app.task_images import first_image
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.setup_check import check_setup, describe_unproven, expected_setup
from outweigh.gateway.model_gateway import ModelGateway, NamedUpstream
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm
from outweigh.model.failure import FailureKind, Status, detail_line
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.redact import storable_text
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent
from outweigh.ports.gateways import Gateway
from outweigh.ports.sandboxes import SandboxError
from outweigh.report.doctor_page import RunRequirement
from outweigh.report.formatting import count_of
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

SMOKE_TIMEOUT_SECONDS = 300.0
_END_COMMAND = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How some agents are told that they are done: by a command, which their prompt names."""
SMOKE_SCRIPT = Script(
    conversation=[Conversation(when=When(contains=_END_COMMAND), turn=[Turn(run="true"), Turn(run=_END_COMMAND)])],
    turn=[Turn(run="true"), Turn(text="Done.")],
)
SMOKE_INSTRUCTION = "This only tries the set-up. Run the command `true`, and then say that you are done.\n"
PLACEHOLDER_SECRET = "outweigh-placeholder"
_OWN_COMMAND = "shell"
"""The agent that runs a command of the user's. That may need the files of a task, so how it ends here tells nothing."""


def smoke_test_arms(
    arms: Sequence[Arm],
    overlays: Mapping[str, bytes],
    spec: SandboxSpec,
    *,
    allow: tuple[str, ...] = (),
    model_aliases: Mapping[str, str] | None = None,
    required: bool,
    suite: LoadedSuite | None = None,
) -> Iterator[RunRequirement]:
    """Try one arm after the other in such a sandbox; where they are required, one that fails blocks.

    Nothing of value goes into a try: secrets of the arms are replaced by a placeholder, so that tool servers that ask
    for one can start.
    """
    sandboxes = choose_sandbox(spec, () if suite is None else suite.tasks)
    agents: dict[str, Agent] = {name: load_adapter("agent", name) for name in {arm.agent for arm in arms}}
    expected = expected_setup({arm.name: arm for arm in arms}, overlays, agents, model_aliases)
    with open_scripted_model(arms) as gateway:
        setting = AttemptSetting(
            overlays=overlays,
            sandbox=with_default_limits(spec, 1),
            sandboxes=sandboxes,
            gateway=gateway,
            expected=expected,
            timeout_seconds=SMOKE_TIMEOUT_SECONDS,
            allow=allow,
            image=first_image(suite, sandboxes),
            secrets={name: PLACEHOLDER_SECRET for arm in arms for name in arm.secrets},
        )
        for arm in arms:
            tried = try_arm(setting, arm)
            yield RunRequirement(
                kind="tried",
                name=arm.name,
                missing=_describe_faults(arm, tried.faults),
                required=required,
                detail="; ".join((count_of(tried.requests, "request"), *map(describe_unproven, tried.unproven))),
                startup_seconds=tried.seconds,
            )


def _describe_faults(arm: Arm, faults: tuple[str, ...]) -> str | None:
    """The faults of a try; a server may have failed because of a placeholder."""
    if not faults:
        return None
    placeholder = arm.secrets and any(fault.startswith("the MCP server") for fault in faults)
    note = f" (secrets are the placeholder {PLACEHOLDER_SECRET!r} here)" if placeholder else ""
    return f"{'; '.join(faults)}{note}"


@contextmanager
def open_scripted_model(
    arms: Collection[Arm], counters: Mapping[ApiFamily, ModelUpstream] | None = None
) -> Iterator[Gateway]:
    """A gateway on which every provider is the scripted model, those that arms name too; `counters` only count."""
    with ModelServer(SMOKE_SCRIPT) as server:
        scripted = ModelUpstream(url=server.url, variable="", key="")
        providers = {
            arm.provider_name: NamedUpstream(dialect=arm.provider.dialect, upstream=scripted, prices=PriceTables())
            for arm in arms
            if arm.provider is not None and arm.provider_name is not None
        } | {
            arm.upstream_name: NamedUpstream(dialect=login_api(arm), upstream=scripted, prices=PriceTables())
            for arm in arms
            if arm.auth == "login" and arm.upstream_name is not None
        }
        upstreams = dict.fromkeys(ApiFamily, scripted)
        with ModelGateway(upstreams, PriceTables(), providers=providers, counters=counters or {}) as gateway:
            yield gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTry:
    """What a try showed: the ways in which the arm is not what it declares, and the models that its agent asked for.

    `apis` are the APIs by which it asked, as `[gateway]` names them. `unproven` is what its agent does not show.
    """

    faults: tuple[str, ...]
    unproven: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    requests: int = 0
    seconds: float | None = None


def try_arm(setting: AttemptSetting, arm: Arm) -> ArmTry:
    """Let the arm's agent follow a small instruction against the scripted model."""
    arm = _without_unreachable_servers(setting, arm)
    try:
        tried = attempt_once(setting, arm, SMOKE_INSTRUCTION)
    except (SandboxError, OSError) as fault:
        return ArmTry(faults=(str(fault),))
    calls = () if tried.account is None else tried.account.calls
    proof = check_setup(arm, setting.expected, tried.outcome.loaded, tried.account, tried.outcome.servers)
    faults = proof.faults or tuple(_ending_faults(tried, arm, setting.timeout_seconds))
    return ArmTry(
        faults=tuple(storable_text(fault, setting.secrets.values()) or "" for fault in faults),
        unproven=proof.unproven,
        models=tuple(dict.fromkeys(call.requested_model for call in calls if call.requested_model)),
        apis=tuple(dict.fromkeys(call.dialect.partition("_")[0] for call in calls)),
        requests=len(calls),
        seconds=tried.outcome.duration_seconds,
    )


def _without_unreachable_servers(setting: AttemptSetting, arm: Arm) -> Arm:
    """The arm without remote tool servers, where a try reaches no host."""
    if setting.sandbox.kind == "local" or setting.hosts() is not None:
        return arm
    started = {name: server for name, server in arm.mcp_servers.items() if server.url is None}
    return msgspec.structs.replace(arm, mcp_servers=started)


def _ending_faults(tried: OneAttempt, arm: Arm, timeout_seconds: float) -> Iterator[str]:
    """How the agent failed; an arm's own limit of turns is no fault."""
    outcome = tried.outcome
    failure = None if outcome.failure is None else outcome.failure.kind
    if outcome.status is Status.COMPLETED or failure is FailureKind.TURN_LIMIT or arm.agent == _OWN_COMMAND:
        return
    if outcome.status is Status.TIMEOUT:
        yield f"{arm.agent} did not end within {timeout_seconds:g} s"
    else:
        yield detail_line(outcome.status_detail or outcome.status.value)
