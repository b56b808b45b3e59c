"""Harbor's own table of what an exception says about a trial, as of 0.25 (`models/trial/error_policy.py`)."""

from enum import StrEnum

from outweigh.record.status import Status


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
        """Whether the trial is a fair attempt all the same, so that its reward counts."""
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
    """What an exception of this name says; a name that Harbor does not know is unclassified."""
    return _CAUSES.get(exception_type, FailureCause.UNCLASSIFIED)


def status_of(exception_types: list[str], *, graded: bool) -> Status:
    """How a trial ended. One that ran out of its budget and was graded counts by its reward, as it does in Harbor."""
    causes = [cause_of(name) for name in exception_types]
    if FailureCause.CANCELLED in causes:
        return Status.NOT_RUN
    if not all(cause.is_of_the_agent for cause in causes):
        return Status.INFRA_ERROR
    if graded or not causes:
        return Status.COMPLETED
    return Status.TIMEOUT if "AgentTimeoutError" in exception_types else Status.AGENT_ERROR
