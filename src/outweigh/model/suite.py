"""A suite as people write it: tasks, arms, repeats, judges, limits, gateway, sandbox and policy."""

from datetime import date
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from outweigh.model.arm import ArmSpec
from outweigh.model.base import Dollars, Repeats, SafeName, Seconds, Spec, VariableName
from outweigh.model.parts import DesignSpec, PartSpec
from outweigh.model.profile import ProfileSpec
from outweigh.model.provider import ApiFamily, NamedProviderSpec, ProviderSpec
from outweigh.model.task import WorkspacePath
from outweigh.model.task_list import ChosenTasks
from outweigh.model.tiers import TierKey, TierSpec
from outweigh.model.trigger_case import TriggersSpec

Passes = Annotated[int, Meta(ge=1, le=5)]
Tokens = Annotated[int, Meta(ge=100, le=1_000_000)]

LOCATION_OPTIONS = ("base_url", "key", "program")
"""Options that say where a judge is reached; they do not change which judge it is."""


class JudgeSpec(Spec, frozen=True, kw_only=True):
    """One judge: a model behind a backend, how often it is asked, and what it may take.

    Every run is judged `passes` times. Where `most_passes` is larger, the judge is asked again while its answers
    disagree or it is not sure. `minimum_alpha` is the agreement with human labels that it must have shown before its
    scores may decide anything. `retries` are for an answer that cannot be used.
    """

    name: SafeName
    backend: SafeName
    model: SafeName | None = None
    passes: Passes = 1
    most_passes: Passes | None = None
    consensus: Literal["mean", "median", "confidence", "majority"] = "mean"
    minimum_alpha: Annotated[float, Meta(ge=-1, le=1)] | None = None
    budget_usd: Dollars | None = None
    timeout_seconds: Seconds = 300.0
    retries: Annotated[int, Meta(ge=0, le=10)] = 2
    diff_tokens: Tokens = 16_000
    transcript_tokens: Tokens = 8_000
    options: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies defaults

    def __post_init__(self) -> None:
        """More passes cannot be fewer."""
        if self.most_passes is not None and self.most_passes < self.passes:
            raise ValueError(f"judge {self.name!r}: `most_passes` is less than `passes`")

    @property
    def setting_sha256(self) -> str:
        """A hash of the settings that affect its answers, besides model, rubric and prompt."""
        options = {key: value for key, value in self.options.items() if key not in LOCATION_OPTIONS}
        setting = [self.backend, self.diff_tokens, self.transcript_tokens, options]
        return sha256(msgspec.json.encode(setting, order="sorted")).hexdigest()


RESERVED_JOB_KEYS = frozenset(
    {
        "agents",
        "datasets",
        "environment",
        "extra_instructions",
        "install_only",
        "job_name",
        "jobs_dir",
        "n_attempts",
        "n_concurrent_trials",
        "retry",
        "source_jobs",
        "tasks",
    }
)
"""Keys of a job file that are set from the suite and the command line."""


class HarborSpec(Spec, frozen=True, kw_only=True):
    """Which program, in which environments. `environment` and `job` are Harbor's own tables, checked by Harbor.

    `pass_environment` are variables of the caller that Harbor itself needs, such as the key of a cloud.
    """

    program: Annotated[str, Meta(min_length=1, max_length=1000)] = "harbor"
    environment: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies defaults
    job: dict[str, Any] = {}  # noqa: RUF012
    pass_environment: list[VariableName] = []  # noqa: RUF012

    def __post_init__(self) -> None:
        """A job file says nothing that contradicts the suite."""
        taken = sorted(RESERVED_JOB_KEYS & self.job.keys())
        if taken:
            raise ValueError(f"`{taken[0]}` follows from the suite and the command line, so `job` cannot set it")


SUITE_FILE = "suite.toml"
DEFAULT_REPEATS = 5
LADDER_REPEATS = 10


DEFAULT_REUSE_MAX_AGE = "7d"
Age = Annotated[
    str,
    Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,6})?[dh]$", description='a number of days or hours, such as "7d" or "12h"'),
]


def age_in_days(age: Age) -> float:
    """`7d` is 7 and `12h` is a half."""
    return float(age[:-1]) / (24 if age.endswith("h") else 1)


class Executor(StrEnum):
    """Who makes the runs: outweigh's own engine, here or on the hosts of a Dask cluster, or a harness that is installed
    beside it.
    """

    ENGINE = "engine"
    DASK = "dask"
    HARBOR = "harbor"

    @property
    def stored(self) -> "Executor":
        """The executor that a store is for: runs of a cluster are made as on one machine, so both can go on with it."""
        return Executor.ENGINE if self is Executor.DASK else self


class ClusterSpec(Spec, frozen=True, kw_only=True):
    """The Dask cluster that runs are made on. A host without a message of its lead for `lease_seconds` ends its agents.

    `tags` are what an arm needs of a host beside its secrets, such as "gpu". The certificates are paths on the machine
    of the lead, and needed for a scheduler on another one. `artifacts` is a folder that lead and hosts share, or an
    address, through which large artifacts travel.
    """

    scheduler: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    lease_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 120.0
    tags: dict[SafeName, list[SafeName]] = {}  # noqa: RUF012 - msgspec copies defaults
    artifacts: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    tls_ca_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None


class PolicySpec(Spec, frozen=True, kw_only=True):
    """Which rule decides, by which version of it, with which margins and tolerances.

    `value_usd` is what one solved task is worth, `promotion_tasks` and `promotion_repeats` ask for more evidence than
    the policy does before anything is promoted. Without a `version` a new experiment takes the current one.
    """

    name: str = "evidence"
    gates: list[str] | None = None
    margins: dict[str, float] = {}  # noqa: RUF012 - msgspec copies defaults
    tolerances: dict[str, float] = {}  # noqa: RUF012
    value_usd: Annotated[float, Meta(gt=0)] | None = None
    promotion_tasks: Annotated[int, Meta(ge=0)] = 0
    promotion_repeats: Annotated[int, Meta(ge=0)] = 0
    version: Annotated[int, Meta(ge=1)] | None = None


class SandboxSpec(Spec, frozen=True, kw_only=True):
    """Where agents run. `auto` is bubblewrap, or containers where a task has an image; `local` only by name.

    A task's own image goes before `image`, unless `task_images` is off. `build_network` is what its build can reach.
    With `writable_system` programs may write everywhere in such an image, into a layer that is thrown away.
    """

    kind: Literal["auto", "local", "bubblewrap", "container"] = "auto"
    image: str | None = None
    allow_hosts: list[str] = []  # noqa: RUF012
    read_only: list[str] = []  # noqa: RUF012
    memory_mb: Annotated[int, Meta(ge=16)] | None = None
    disk_mb: Annotated[int, Meta(ge=1)] | None = None
    processes: Annotated[int, Meta(ge=4)] | None = None
    task_images: bool = True
    build_network: Literal["default", "host", "none"] = "default"
    writable_system: bool = False


class LimitsSpec(Spec, frozen=True, kw_only=True):
    """What one run may take; `tokens_per_minute` is what all runs together may ask each provider for."""

    timeout_seconds: Seconds = 1800.0
    budget_usd: Dollars | None = None
    tokens: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    tokens_per_minute: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    retries: Annotated[int, Meta(ge=0, le=20)] = 2


class GatewaySpec(Spec, frozen=True, kw_only=True):
    """How agents reach their models: metered through the gateway, or directly with what they have themselves.

    `allow` names models beyond the arm's own, and tools that the provider runs itself, such as "web_search".
    `model_aliases` say which model a name of a router, a deployment or an agent stands for, as a name or a pattern.
    """

    mode: Literal["metered", "direct"] = "metered"
    anthropic: ProviderSpec = ProviderSpec(url="https://api.anthropic.com", key="ANTHROPIC_API_KEY")
    openai: ProviderSpec = ProviderSpec(url="https://api.openai.com", key="OPENAI_API_KEY")
    gemini: ProviderSpec = ProviderSpec(url="https://generativelanguage.googleapis.com", key="GEMINI_API_KEY")
    prices: str | None = None
    keep_bodies: bool = False
    allow: tuple[str, ...] = ()
    model_aliases: dict[Annotated[str, Meta(min_length=1)], Annotated[str, Meta(min_length=1)]] = {}  # noqa: RUF012


class UserModelSpec(Spec, frozen=True, kw_only=True):
    """The model that plays the users of tasks with a simulated one; `api` is the provider's under `[gateway]`.

    Without it, models called claude-… use Anthropic's, gemini-… Gemini's, and all others OpenAI's.
    """

    model: Annotated[str, Meta(min_length=1, max_length=200)]
    api: ApiFamily | None = None

    @property
    def family(self) -> ApiFamily:
        """The API that it is asked by."""
        if self.api is not None:
            return self.api
        known = {"claude": ApiFamily.ANTHROPIC, "gemini": ApiFamily.GEMINI}
        return next((api for start, api in known.items() if self.model.startswith(start)), ApiFamily.OPENAI)


class WorkspacesSpec(Spec, frozen=True, kw_only=True):
    """What all workspaces of a suite have in common.

    `without` are files and folders that are removed from every task's workspace, so that only arms add them.
    """

    without: list[WorkspacePath] = []  # noqa: RUF012 - msgspec copies defaults

    def __post_init__(self) -> None:
        """Only what is below a workspace can be left out of it."""
        for path in self.without:
            parts = path.split("/")
            if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or "\0" in path:
                raise ValueError(f"{path!r} is not a path below a workspace, such as 'CLAUDE.md' or '.claude/skills'")


Day = Annotated[date, Meta(description="a date such as 2026-11-16")]


class QuarantinedTask(Spec, frozen=True, kw_only=True):
    """A task that is set aside: it is not run, and its runs in a store do not count. `reason` is for people."""

    task: SafeName
    reason: Annotated[str, Meta(min_length=1, max_length=1000)]
    since: Day


ADDRESS_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
}
"""The variables in which agents look for the address of a provider; the gateway goes by the suite instead."""


class SuiteSpec(Spec, frozen=True, kw_only=True):
    """The content of a `suite.toml`. Reused runs of the baseline are stale beyond `reuse_max_age`.

    Its paths are relative to `folder`, which is relative to the file. `chosen` says how its tasks were chosen.
    `triggers` are prompts that should and should not make an agent use a skill; a suite has these, `tasks`, or both.
    `parts` are what arms and `designs` are composed of; `tiers` names the tiers of a ladder by their numbers. `profile`
    is built in, or one of the suite's own `profiles`.
    """

    name: SafeName
    tasks: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    arms: dict[SafeName, ArmSpec]
    baseline: SafeName
    triggers: list[TriggersSpec] = []  # noqa: RUF012
    parts: dict[SafeName, PartSpec] = {}  # noqa: RUF012
    designs: list[DesignSpec] = []  # noqa: RUF012
    tiers: dict[TierKey, TierSpec] = {}  # noqa: RUF012
    repeats: Repeats | None = None
    seed: Annotated[int, Meta(ge=0)] = 0
    budget_usd: Dollars | None = None
    reuse_max_age: Age = DEFAULT_REUSE_MAX_AGE
    profile: SafeName = "objective_first"
    profiles: dict[SafeName, ProfileSpec] = {}  # noqa: RUF012
    policy: PolicySpec = PolicySpec()
    sandbox: SandboxSpec = SandboxSpec()
    limits: LimitsSpec = LimitsSpec()
    workspaces: WorkspacesSpec = WorkspacesSpec()
    gateway: GatewaySpec = GatewaySpec()
    providers: dict[SafeName, NamedProviderSpec] = {}  # noqa: RUF012
    judges: list[JudgeSpec] = []  # noqa: RUF012
    simulated_user: UserModelSpec | None = None
    executor: Executor = Executor.ENGINE
    harbor: HarborSpec = HarborSpec()
    cluster: ClusterSpec = ClusterSpec()
    quarantine: list[QuarantinedTask] = []  # noqa: RUF012
    folder: Annotated[str, Meta(min_length=1)] = "."
    chosen: ChosenTasks | None = None

    def __post_init__(self) -> None:
        """A suite without tasks asks nothing."""
        if not self.tasks and not self.triggers:
            raise ValueError('`tasks` names no task; name some, such as tasks = ["tasks/*"], or write [[triggers]]')


def _sandbox_identity(spec: SandboxSpec) -> dict[str, object]:
    """Every key. The later ones are left out at their defaults, so that stores of earlier releases can be resumed."""
    identity: dict[str, object] = msgspec.structs.asdict(spec)
    usual = SandboxSpec()
    for key in ("task_images", "build_network", "writable_system"):
        if identity[key] == getattr(usual, key):
            del identity[key]
    return identity


def settings_fingerprint(spec: SuiteSpec) -> str:
    """A hash of the settings that affect a run, besides its arm and task: sandbox, limits and gateway addresses.

    Retries after infrastructure failures, the variables that hold keys, and the tokens of a minute do not affect a run:
    what waits for tokens is not timed.
    """
    limits, gateway = spec.limits, spec.gateway
    identity: dict[str, object] = {
        "sandbox": _sandbox_identity(spec.sandbox),
        "limits": (limits.timeout_seconds, limits.budget_usd, limits.tokens),
        "gateway": (gateway.mode, gateway.anthropic.url, gateway.openai.url, gateway.gemini.url),
    }
    if gateway.allow:  # left out where empty, so that stores of earlier releases can be resumed
        identity["allow"] = sorted(gateway.allow)
    if gateway.model_aliases:
        identity["model_aliases"] = gateway.model_aliases
    if spec.simulated_user is not None:
        identity["simulated_user"] = spec.simulated_user
    if spec.executor is Executor.HARBOR:
        identity["harbor"] = (spec.harbor.environment, spec.harbor.job)
    return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()
