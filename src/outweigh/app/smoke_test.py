"""Try arms before any run is paid for: the real agent, sandbox and gateway with a scripted model that costs nothing.

It shows that the agent starts, reaches its model, can use its tools, and sees everything that the arm provides.
"""

from collections.abc import Iterator, Mapping, Sequence

from outweigh.app.one_attempt import AttemptSetting, attempt_once
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import choose_sandbox
from outweigh.engine.setup_check import check_setup, expected_setup
from outweigh.gateway.model_gateway import ModelGateway, NamedUpstream
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.arm import Arm
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent
from outweigh.ports.gateways import MeteredCalls
from outweigh.ports.sandboxes import SandboxError
from outweigh.report.doctor_page import RunRequirement
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

SMOKE_TIMEOUT_SECONDS = 300.0
_END_COMMAND = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How some agents are told that they are done: by a command, which their prompt names."""
SMOKE_SCRIPT = Script(
    conversation=[Conversation(when=When(contains=_END_COMMAND), turn=[Turn(run="true"), Turn(run=_END_COMMAND)])],
    turn=[Turn(run="true"), Turn(text="Done.")],
)
_INSTRUCTION = "This only tries the set-up. Run the command `true`, and then say that you are done.\n"


def smoke_test_arms(
    arms: Sequence[Arm],
    overlays: Mapping[str, bytes],
    spec: SandboxSpec,
    *,
    allow: tuple[str, ...] = (),
    model_aliases: Mapping[str, str] | None = None,
    required: bool,
) -> Iterator[RunRequirement]:
    """Try one arm after the other in such a sandbox; where they are required, one that fails blocks.

    Nothing of value goes into a try: no secret of the arms.
    """
    sandboxes = choose_sandbox(spec.kind)
    agents: dict[str, Agent] = {name: load_adapter("agent", name) for name in {arm.agent for arm in arms}}
    expected = expected_setup({arm.name: arm for arm in arms}, overlays, agents, model_aliases)
    with ModelServer(SMOKE_SCRIPT) as server, _scripted_gateway(server, arms) as gateway:
        setting = AttemptSetting(
            overlays=overlays,
            sandbox=with_default_limits(spec, 1),
            sandboxes=sandboxes,
            gateway=gateway,
            expected=expected,
            timeout_seconds=SMOKE_TIMEOUT_SECONDS,
            allow=allow,
        )
        for arm in arms:
            yield _try_arm(setting, arm, required=required)


def _scripted_gateway(server: ModelServer, arms: Sequence[Arm]) -> ModelGateway:
    """Every provider is the scripted model, those that arms name too."""
    scripted = ModelUpstream(url=server.url, variable="", key="")
    providers = {
        arm.provider_name: NamedUpstream(dialect=arm.provider.dialect, upstream=scripted, prices=PriceTables())
        for arm in arms
        if arm.provider is not None and arm.provider_name is not None
    }
    return ModelGateway(dict.fromkeys(ApiFamily, scripted), PriceTables(), providers=providers)


def _try_arm(setting: AttemptSetting, arm: Arm, *, required: bool) -> RunRequirement:
    try:
        tried = attempt_once(setting, arm, _INSTRUCTION)
    except (SandboxError, OSError) as fault:
        return RunRequirement(kind="tried", name=arm.name, missing=str(fault), required=required, detail="")
    faults = check_setup(arm, setting.expected, tried.outcome.loaded, tried.account).faults
    is_done = tried.outcome.status is Status.COMPLETED
    return RunRequirement(
        kind="tried",
        name=arm.name,
        missing="; ".join(faults) or None if is_done else tried.outcome.status_detail,
        required=required,
        detail=_count_requests(tried.account),
        startup_seconds=tried.outcome.duration_seconds,
    )


def _count_requests(account: MeteredCalls | None) -> str:
    count = 0 if account is None else len(account.calls)
    return "1 request" if count == 1 else f"{count} requests"
