"""Before the first paid run, start every arm once for free: the agent, sandbox and gateway of a run, a scripted model.

The results are kept in the store: an arm is tried again only after a fault, or when the arm, its program, its sandbox
or another arm of the suite has changed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from outweigh.app.build_engine import SuiteAdapters
from outweigh.app.observer import Notify
from outweigh.app.one_attempt import AttemptSetting
from outweigh.app.preflight_suite import try_all
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import open_allowed_hosts
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.setup_check import describe_unproven, expected_setup
from outweigh.gateway.named_providers import provider_variables
from outweigh.model.arm import Arm
from outweigh.model.suite import SandboxSpec
from outweigh.ports.sandboxes import ReadyImage
from outweigh.report.formatting import count_of
from outweigh.store.tried_arms_file import TriedArm, read_tried_arms, write_tried_arms
from outweigh.version import __version__

if TYPE_CHECKING:
    from outweigh.app.smoke_test import ArmTry

TRY_TIMEOUT_SECONDS = 120.0
"""An agent takes seconds to follow two answers. One that hangs is stopped after this time, tool servers aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRequest:
    """What the tries of a run share with its trials: the suite, its adapters, the folder and label of the engine.

    `arms` are the names of the arms that have runs left. With `keep_faults` an arm with a known fault is not tried
    again. `cancel` ends what is being tried.
    """

    suite: LoadedSuite
    adapters: SuiteAdapters
    arms: Collection[str]
    store: Path
    scratch: Path
    label: str
    jobs: int
    keep_faults: bool = False
    timeout_seconds: float = TRY_TIMEOUT_SECONDS
    cancel: Event = field(default_factory=Event)

    @property
    def image(self) -> ReadyImage | None:
        """The image in which arms are tried: that of the first task, where tasks have their own."""
        return next(iter(self.adapters.images.values()), None)

    def may_try(self, arm: Arm) -> bool:
        """Whether a try is free and tells anything: the agent asks a model, and can be led to another one.

        An agent that nobody knows the keys of goes to its model by itself where the suite has no gateway.
        """
        agent = self.adapters.agents[arm.agent]
        is_led = self.suite.spec.gateway.mode != "direct" or bool(getattr(agent, "keys", ()))
        return arm.name in self.arms and agent.uses_model(arm) and is_led


def try_arms(request: TryRequest, notify: Notify) -> Mapping[str, TriedArm]:
    """Try the arms that were not tried yet, several at once; returns what is known of each arm, by its name."""
    arms = [arm for arm in request.suite.arms.values() if request.may_try(arm)]
    settings = {arm.name: _setting_sha256(request, arm) for arm in arms}
    earlier = read_tried_arms(request.store)
    known = {tried.setting: tried for tried in earlier if request.keep_faults or not tried.faults}
    new = {settings[arm.name]: arm for arm in arms if settings[arm.name] not in known}
    if new:
        began = monotonic()
        results = _try_all(request, list(new.values()))
        notify(_describe(results, monotonic() - began))
        tried = {
            setting: TriedArm(
                arm=arm.name,
                setting=setting,
                faults=one.faults,
                models=one.models,
                apis=one.apis,
                unproven=one.unproven,
            )
            for (setting, arm), one in zip(new.items(), results, strict=True)
        }
        known |= tried
        write_tried_arms(request.store, ({one.setting: one for one in earlier} | tried).values())
    return {name: known[setting] for name, setting in settings.items()}


def _setting_sha256(request: TryRequest, arm: Arm) -> str:
    """A hash of all that a try depends on. What another arm declares must not be seen in this one."""
    spec = request.suite.spec
    tell_version = getattr(request.adapters.agents[arm.agent], "version", None)
    parts = [
        __version__,
        arm.fingerprint,
        sorted(other.fingerprint for other in request.suite.arms.values()),
        None if tell_version is None else tell_version(arm),
        msgspec.to_builtins(spec.sandbox),
        sorted(spec.gateway.allow),
        sorted(spec.gateway.model_aliases.items()),
        *(() if request.image is None else (request.image.name,)),
    ]
    return sha256(msgspec.json.encode(parts)).hexdigest()


def _try_all(request: TryRequest, arms: Sequence[Arm]) -> "list[ArmTry]":
    from outweigh.app.smoke_test import open_scripted_model, try_arm  # noqa: PLC0415 - brings a model along

    suite, agents, cancel = request.suite, request.adapters.agents, request.cancel
    with open_scripted_model(arms) as gateway, open_allowed_hosts(_hosts_of_tries(request)) as hosts:
        shared = AttemptSetting(
            overlays=suite.overlays,
            sandbox=with_default_limits(suite.spec.sandbox, request.jobs),
            sandboxes=request.adapters.sandboxes,
            gateway=gateway,
            expected=expected_setup(suite.arms, suite.overlays, agents, suite.spec.gateway.model_aliases),
            timeout_seconds=request.timeout_seconds,
            allow=suite.spec.gateway.allow,
            hosts=hosts,
            label=f"{request.label}:try",
            folder=request.scratch,
            cancel=cancel,
            image=request.image,
        )

        def work(arm: Arm) -> "ArmTry":
            seconds, secrets = _timeout_of_try(request, arm), _secrets_of_try(request, arm)
            return try_arm(replace(shared, timeout_seconds=seconds, secrets=secrets), arm)

        return try_all(arms, cancel, work, request.jobs)


def _timeout_of_try(request: TryRequest, arm: Arm) -> float:
    """The agent's own time, and before that what the slowest tool server may take to start."""
    starts = (server.start_timeout_seconds for server in arm.mcp_servers.values())
    return request.timeout_seconds + max(starts, default=0.0)


def _hosts_of_tries(request: TryRequest) -> SandboxSpec:
    """The hosts that a try may reach: without a gateway none, because one of them may be the model that is paid."""
    spec = request.suite.spec
    return msgspec.structs.replace(spec.sandbox, allow_hosts=[]) if spec.gateway.mode == "direct" else spec.sandbox


def _secrets_of_try(request: TryRequest, arm: Arm) -> Mapping[str, str]:
    """The secrets that tool servers may need. Keys of models stay outside, so that nothing can be paid with them."""
    agent, gateway = request.adapters.agents[arm.agent], request.suite.spec.gateway
    keys = {*getattr(agent, "keys", ()), *getattr(agent, "direct_keys", ())}
    if not keys:
        return {}
    keys |= {provider.key for provider in (gateway.anthropic, gateway.openai, gateway.gemini)}
    keys |= {name for provider in request.suite.spec.providers.values() for name in provider_variables(provider)}
    return {name: value for name, value in request.adapters.secrets.items() if name not in keys}


def _describe(tried: "Sequence[ArmTry]", seconds: float) -> str:
    fit = sum(not result.faults for result in tried)
    if fit == len(tried):
        words = {1: "it applies", 2: "both apply"}.get(fit, "all apply")
    else:
        words = f"{fit} of {len(tried)} {'applies' if fit == 1 else 'apply'}"
    arms = count_of(len(tried), "arm")
    return f"tried {arms} on the scripted model, which is free, in {seconds:.0f} s: {words} as declared"


def describe_faults(tried: Mapping[str, TriedArm], agents: Mapping[str, str]) -> Iterator[str]:
    """A paragraph for every arm that is not what it declares; `agents` are the agents by arm."""
    for name, result in tried.items():
        if result.faults:
            advice = dict.fromkeys(_advice(fault) for fault in result.faults)
            yield f"arm {name!r} ({agents[name]}): {'; '.join(result.faults)}. {' '.join(advice)}"


def describe_unproven_parts(tried: Mapping[str, TriedArm], agents: Mapping[str, str]) -> Iterator[str]:
    """A sentence for every arm with parts that its agent does not show; `agents` are the agents by arm."""
    for name, result in tried.items():
        if result.unproven:
            parts = "; ".join(result.unproven)
            yield f"arm {name!r} ({agents[name]}): {describe_unproven(parts)}. That is no fault."


_ADVICE = {
    "the skill ": "A skill must lie where the agent reads skills, which `skills` of the arm takes care of, with a "
    "SKILL.md that has a name and a description; no flag or setting may switch skills off.",
    "the instructions ": "Name them under `instructions` of the arm, and leave out what switches them off.",
    "the MCP server ": "Check that its command starts inside the sandbox: its program must be visible there, its "
    "files must be among the arm's `files`, and what it needs from your environment among the arm's `secrets`.",
    "the sub-agent ": "Check its file: where the agent reads sub-agents, with a name and a description.",
    "the command ": "Check its file: where the agent reads commands, with the right ending.",
    "the plugin ": "Check its folder and its manifest, and that no flag or setting switches plugins off.",
    "the hook ": "Check its command, and that no flag or setting switches hooks off.",
    "the model ": "Correct `model` of the arm, or the flag or setting that names another one.",
}
_OTHER_ADVICE = "`outweigh doctor --try-agents` with the same -c tries it again."


def _advice(fault: str) -> str:
    """What to do about a fault, by how its sentence begins."""
    if "of another arm" in fault:
        return "It comes from files that both arms have, or from settings of the whole machine; remove it there."
    return next((words for start, words in _ADVICE.items() if fault.startswith(start)), _OTHER_ADVICE)
