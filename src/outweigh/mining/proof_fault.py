"""Why a candidate is no task: the reasons of a proof that fails."""

from enum import StrEnum


class ProofFault(StrEnum):
    """Why a candidate could not be proven, in the words of the table at the end."""

    SETUP_FAILED = "its dependencies cannot be installed"
    TOOL_MISSING = "the program that installs its dependencies is missing"
    NO_RUNNER = "no test runner was found"
    FIX_NOT_GREEN = "its tests do not pass after the change"
    NEEDS_NETWORK = "its tests need the network"
    TESTS_NOT_RUN = "none of its changed tests is run"
    BASE_NOT_RED = "its tests pass before the change"
    WRONG_RED = "its tests fail before the change for another reason"
    FLAKY = "its tests do not give the same result three times"
    TIMED_OUT = "its tests take too long"
    LEAK = "the workspace contains the change"
    UNSUPPORTED_FILES = "its files cannot be made into a workspace"
    SANDBOX_FAILED = "it could not be tried in a sandbox"


class UnprovenError(Exception):
    """The end of a proof that fails."""

    def __init__(self, fault: ProofFault, detail: str = "") -> None:
        super().__init__(detail)
        self.fault, self.detail = fault, detail
