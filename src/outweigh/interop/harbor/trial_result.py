"""One trial of a Harbor job as the fields of a run: its agent, how it ended, and what it took.

Exceptions are classified by Harbor's own table, as of 0.25 (`models/trial/error_policy.py`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from outweigh.interop.field_values import known_sum, parse_time, seconds_between
from outweigh.interop.imported_run import extra_fields, fingerprint, outcome_check
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_names, as_str
from outweigh.model.usage import Usage, reported_cost
from outweigh.transcript.token_counts import subtract_counts


class FailureCause(StrEnum):
    """Who or what ended a trial."""

    SANDBOX_FAILED = "sandbox_failed"
    MODEL_PROVIDER_FAILED = "model_provider_failed"
    HARBOR_FAILED = "harbor_failed"
    UNCLASSIFIED = "unclassified"
    AGENT_EXHAUSTED_BUDGET = "agent_exhausted_budget"
    AGENT_REFUSED_TASK = "agent_refused_task"
    VERIFIER_FAILED = "verifier_failed"
    CANCELLED = "cancelled"

    @property
    def is_of_the_agent(self) -> bool:
        """Whether the failure is the agent's, so that the trial counts by its reward."""
        return self in (FailureCause.AGENT_EXHAUSTED_BUDGET, FailureCause.AGENT_REFUSED_TASK)


_EXCEPTIONS = {
    FailureCause.SANDBOX_FAILED: "EnvironmentStartTimeoutError SandboxBuildFailedError AgentSetupTimeoutError "
    "HealthcheckError SandboxLikelyOutOfMemoryError MemoryLimitExceededError SSHAccessError GKEExecStreamClosedError "
    "GKEPodNotFoundError RuntimeRequestError AddTestsDirError DownloadVerifierDirError",
    FailureCause.MODEL_PROVIDER_FAILED: "ApiError ApiRateLimitError ApiInternalServerError ApiOverloadedError "
    "ApiConnectionClosedError ApiResponseStalledError UnknownApiError NetworkConnectionError ApiConnectionError "
    "ApiUsageLimitError RateLimitError InternalServerError ServiceUnavailableError APIConnectionError APIError Timeout "
    "BadRequestError UnprocessableEntityError UnsupportedParamsError APIResponseValidationError BudgetExceededError "
    "AgentAuthenticationError ModelNotFoundError ApiProviderResourceNotFoundError AuthenticationError "
    "PermissionDeniedError NotFoundError",
    FailureCause.HARBOR_FAILED: "ServiceOperationsUnsupportedError VercelScopeError DspyImportError MissingExtraError "
    "RegradeError",
    FailureCause.AGENT_EXHAUSTED_BUDGET: "AgentTimeoutError ContextWindowExceededError OutputTokenExceededError "
    "ContextLengthExceededError OutputLengthExceededError",
    FailureCause.AGENT_REFUSED_TASK: "AgentSafetyRefusalError ContentPolicyViolationError",
    FailureCause.VERIFIER_FAILED: "VerifierTimeoutError RewardFileNotFoundError RewardFileEmptyError "
    "VerifierOutputParseError",
    FailureCause.CANCELLED: "CancelledError",
}
_CAUSES = {name: cause for cause, names in _EXCEPTIONS.items() for name in names.split()}


def cause_of(exception_type: str) -> FailureCause:
    """The cause that an exception's name stands for; unclassified if Harbor's table does not have it."""
    return _CAUSES.get(exception_type, FailureCause.UNCLASSIFIED)


def status_of(exception_types: list[str], *, graded: bool) -> Status:
    """How a trial ended. A graded trial that ran out of budget counts by its reward, as in Harbor."""
    causes = [cause_of(name) for name in exception_types]
    if FailureCause.CANCELLED in causes:
        return Status.NOT_RUN
    if not all(cause.is_of_the_agent for cause in causes):
        return Status.INFRA_ERROR
    if graded or not causes:
        return Status.COMPLETED
    return Status.TIMEOUT if "AgentTimeoutError" in exception_types else Status.AGENT_ERROR


_RawTrial = Mapping[str, Any]

MAIN_REWARD = "reward"
_NOT_ARM_SETTINGS = frozenset({"n_concurrent", "concurrency_group"})
_TEST_AGENTS = frozenset({"oracle", "nop"})
_DETAIL_LENGTH = 500
_SHOWN_SKILLS = 3


class HarborTrial:
    """A trial's `result.json`, whose shape is not trusted."""

    def __init__(self, raw: _RawTrial) -> None:
        self.raw = raw
        self.info = as_dict(raw.get("agent_info"))
        self._steps = [as_dict(step) for step in as_list(raw.get("step_results"))]

    @property
    def trial_id(self) -> str | None:
        """Harbor's own id, else the trial's name."""
        return as_name(self.raw.get("id")) or as_name(self.raw.get("trial_name"))

    @property
    def task(self) -> str | None:
        """The task's name."""
        return as_name(self.raw.get("task_name"))

    @property
    def started_at(self) -> datetime | None:
        """When the agent was started, else the trial."""
        return parse_time(as_dict(self.raw.get("agent_execution")).get("started_at")) or parse_time(
            self.raw.get("started_at")
        )

    def arm_settings(self) -> dict[str, Any]:
        """What can make the arm: every setting of `config.agent` that can change what the agent does."""
        agent = as_dict(as_dict(self.raw.get("config")).get("agent"))
        return {key: value for key, value in agent.items() if value and key not in _NOT_ARM_SETTINGS}

    def flat_settings(self) -> dict[str, Any]:
        """The same with every argument by itself, paths within the task's folder by their place in it, and where the
        task comes from, because a task's folder may hold skills.
        """
        settings = self.arm_settings()
        kwargs = as_dict(settings.pop("kwargs", None))
        folder = self._task_folder()
        if folder is not None:
            settings = {key: _within_task(value, folder) for key, value in settings.items()}
        place = {} if folder is None else {"tasks": PurePath(folder).parent.as_posix()}
        return settings | {f"kwargs.{key}": value for key, value in kwargs.items()} | place

    def _task_folder(self) -> str | None:
        task = as_dict(as_dict(self.raw.get("config")).get("task"))
        return as_name(task.get("path")) or as_name(as_dict(self.raw.get("task_id")).get("path"))

    def arm_fingerprint(self) -> str | None:
        """The hash of these settings; None if the trial does not state them."""
        settings = self.arm_settings()
        return fingerprint(settings) if settings else None

    def arm_name(self, configuration: str | None) -> str:
        """A name that different settings never share: agent, model, skills, and the start of the configuration's
        hash.
        """
        agent = self.identity()
        skills = [f"+{PurePath(each).name}" for each in as_names(self.arm_settings().get("skills")) or ()]
        known = [part for part in (agent.name or "agent", agent.model, *skills[:_SHOWN_SKILLS]) if part]
        return f"{' '.join(known)[:150]} @{(configuration or 'unknown')[:7]}"

    def identity(self) -> AgentIdentity:
        """The agent; Harbor's oracle and nop count as scripted."""
        settings = self.arm_settings()
        agent = as_name(self.info.get("name")) or as_name(settings.get("name")) or as_name(settings.get("import_path"))
        model = as_name(as_dict(self.info.get("model_info")).get("name")) or as_name(settings.get("model_name"))
        version = as_name(self.info.get("version"))
        return AgentIdentity(
            kind=AgentKind.SCRIPTED if agent in _TEST_AGENTS else AgentKind.REAL,
            name=agent,
            version=None if version == "unknown" else version,
            model=model,
        )

    def exceptions(self) -> list[_RawTrial]:
        """The trial's exception, then those of its steps."""
        found = [as_dict(part.get("exception_info")) for part in (self.raw, *self._steps)]
        return [exception for exception in found if exception]

    def unclassified(self) -> list[str]:
        """The types of exceptions whose cause is unknown."""
        kinds = [_exception_type(exception) for exception in self.exceptions()]
        return [kind for kind in kinds if cause_of(kind) is FailureCause.UNCLASSIFIED]

    def fields(self, cache_write_tokens: int | None) -> dict[str, Any]:
        """Fields of a RunRecord. Only the trajectory states cache writes, so they are passed in."""
        kinds = [_exception_type(exception) for exception in self.exceptions()]
        checks = tuple(self._checks())
        usage, cost_usd = self._totals(cache_write_tokens)
        return {
            "status": status_of(kinds, graded=bool(checks)),
            "status_detail": self._detail(),
            "agent": self.identity(),
            "arm_fingerprint": self.arm_fingerprint(),
            "task_checksum": as_str(self.raw.get("task_checksum")) or None,
            "started_at": self.started_at,
            "duration_seconds": self._seconds("agent_execution"),
            "setup_seconds": _merged(_phase(self.raw, "environment_setup"), _phase(self.raw, "agent_setup")),
            "checks_seconds": self._seconds("verifier"),
            "usage": usage,
            "cost": reported_cost(cost_usd),
            "checks": checks or None,
            "extra": self._extra(),
        }

    def _checks(self) -> Iterator[CheckResult]:
        rewards = as_dict(as_dict(self.raw.get("verifier_result")).get("rewards"))
        values = {as_name(key): as_amount(value) for key, value in rewards.items()}
        for reward, value in values.items():
            if reward is None:
                continue
            required = reward == MAIN_REWARD or MAIN_REWARD not in values
            passed = None if value is None else value >= 1
            yield outcome_check(reward, passed, None if value is None else f"reward {value:g}", required=required)

    def _totals(self, cache_write_tokens: int | None) -> tuple[Usage, float | None]:
        """Tokens and cost. Harbor counts cached tokens as input; a trial with several steps has totals for each."""
        own = as_dict(self.raw.get("agent_result"))
        parts = [own] if own else [part for step in self._steps if (part := as_dict(step.get("agent_result")))]
        totals = {key: known_sum(as_count(part.get(key)) for part in parts) for key in _TOKENS}
        cost = known_sum(as_amount(part.get("cost_usd")) for part in parts)
        cached = as_count(totals["n_cache_tokens"])
        usage = Usage(
            input_tokens=subtract_counts(as_count(totals["n_input_tokens"]), cached, cache_write_tokens or 0),
            output_tokens=as_count(totals["n_output_tokens"]),
            cache_read_tokens=cached,
            cache_write_tokens=cache_write_tokens,
        )
        return usage, as_amount(cost)

    def _seconds(self, phase: str) -> float | None:
        whole = _phase(self.raw, phase)
        if whole is not None or not self._steps:
            return whole
        return _merged(*(_phase(step, phase) for step in self._steps))

    def _detail(self) -> str | None:
        messages = [
            f"{_exception_type(each)}: {as_str(each.get('exception_message')) or ''}" for each in self.exceptions()
        ]
        return "; ".join(messages)[:_DETAIL_LENGTH] if messages else None

    def _extra(self) -> dict[str, Any]:
        own = as_dict(self.raw.get("agent_result"))
        said = {
            "trial_name": self.raw.get("trial_name"),
            "dataset": self.raw.get("source"),
            "rewards": as_dict(self.raw.get("verifier_result")).get("rewards"),
            "failure_causes": [cause_of(_exception_type(each)).value for each in self.exceptions()] or None,
            "model_usage": own.get("model_usage"),
            "n_input_tokens": own.get("n_input_tokens"),
        }
        return extra_fields(said)


def _within_task(value: Any, folder: str) -> Any:
    if isinstance(value, list):
        return [_within_task(each, folder) for each in value]
    if isinstance(value, str) and value.startswith(f"{folder.rstrip('/')}/"):
        return f"TASK/{value[len(folder.rstrip('/')) + 1 :]}"
    return value


_TOKENS = ("n_input_tokens", "n_cache_tokens", "n_output_tokens")


def _exception_type(exception: _RawTrial) -> str:
    return as_name(exception.get("exception_type")) or "unknown"


def _phase(part: _RawTrial, phase: str) -> float | None:
    timing = as_dict(part.get(phase))
    return seconds_between(timing.get("started_at"), timing.get("finished_at"))


def _merged(*seconds: float | None) -> float | None:
    total: float | None = known_sum(seconds)
    return total
