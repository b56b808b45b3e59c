"""An experiment as a person writes it: tasks × arms × repeats, with its rules and its purse."""

from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from outweigh.task.arm import ArmSpec
from outweigh.task.harbor import HarborSpec
from outweigh.task.judge import JudgeSpec
from outweigh.task.spec import Dollars, Name, Repeats, Seconds, Spec

DEFAULT_REPEATS = 5
LADDER_REPEATS = 10


class Executor(StrEnum):
    """Who makes the runs: outweigh's own engine, or a harness that is installed beside it."""

    ENGINE = "engine"
    HARBOR = "harbor"


class PolicySpec(Spec, frozen=True, kw_only=True):
    """Which rule decides, and its margins."""

    name: Literal["evidence", "gates", "composite"] = "evidence"
    gates: list[str] | None = None
    margins: dict[str, float] = {}  # noqa: RUF012 - msgspec copies defaults


class SandboxSpec(Spec, frozen=True, kw_only=True):
    """Where agents run. `auto` takes bubblewrap where it works and refuses to fall back to `local` silently."""

    kind: Literal["auto", "local", "bubblewrap", "container"] = "auto"
    image: str | None = None
    allow_hosts: list[str] = []  # noqa: RUF012
    read_only: list[str] = []  # noqa: RUF012
    memory_mb: Annotated[int, Meta(ge=16)] | None = None
    disk_mb: Annotated[int, Meta(ge=1)] | None = None
    processes: Annotated[int, Meta(ge=4)] | None = None


class LimitsSpec(Spec, frozen=True, kw_only=True):
    """What one run may take."""

    timeout_seconds: Seconds = 1800.0
    budget_usd: Dollars | None = None
    tokens: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    retries: Annotated[int, Meta(ge=0, le=20)] = 2


class ProviderSpec(Spec, frozen=True, kw_only=True):
    """Where requests of one kind go, and which variable of the caller holds the key for it; `""` for no key."""

    url: Annotated[str, Meta(pattern=r"^https?://[^\s]+$")]
    key: Annotated[str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]


class GatewaySpec(Spec, frozen=True, kw_only=True):
    """How agents reach their models: metered through the gateway, or directly with what they have themselves."""

    mode: Literal["metered", "direct"] = "metered"
    anthropic: ProviderSpec = ProviderSpec(url="https://api.anthropic.com", key="ANTHROPIC_API_KEY")
    openai: ProviderSpec = ProviderSpec(url="https://api.openai.com", key="OPENAI_API_KEY")
    gemini: ProviderSpec = ProviderSpec(url="https://generativelanguage.googleapis.com", key="GEMINI_API_KEY")
    prices: str | None = None
    keep_bodies: bool = False


class SuiteSpec(Spec, frozen=True, kw_only=True):
    """The content of a `suite.toml`."""

    name: Name
    tasks: Annotated[list[str], Meta(min_length=1)]
    arms: dict[Name, ArmSpec]
    baseline: Name
    repeats: Repeats | None = None
    seed: Annotated[int, Meta(ge=0)] = 0
    budget_usd: Dollars | None = None
    profile: Literal["objective_first", "even"] = "objective_first"
    policy: PolicySpec = PolicySpec()
    sandbox: SandboxSpec = SandboxSpec()
    limits: LimitsSpec = LimitsSpec()
    gateway: GatewaySpec = GatewaySpec()
    judges: list[JudgeSpec] = []  # noqa: RUF012
    executor: Executor = Executor.ENGINE
    harbor: HarborSpec = HarborSpec()


def settings_fingerprint(spec: SuiteSpec) -> str:
    """A hash of what makes a run what it is, beside its arm and its task: the sandbox, the caps, the way to models.

    How often infrastructure is tried again, and which variable holds a key, make no difference to a run.
    """
    limits, gateway = spec.limits, spec.gateway
    identity: dict[str, object] = {
        "sandbox": spec.sandbox,
        "limits": (limits.timeout_seconds, limits.budget_usd, limits.tokens),
        "gateway": (gateway.mode, gateway.anthropic.url, gateway.openai.url, gateway.gemini.url),
    }
    if spec.executor is Executor.HARBOR:
        identity["harbor"] = (spec.harbor.environment, spec.harbor.job)
    return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()
