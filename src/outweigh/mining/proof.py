"""Proof that a candidate is a task: red before the change, green after it, three times alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from outweigh.mining.candidate import Candidate


class ProofFault(StrEnum):
    """Why a candidate could not be proven, in the words of the table at the end."""

    SETUP_FAILED = "its dependencies cannot be installed"
    NO_RUNNER = "no test runner was found"
    FIX_NOT_GREEN = "its tests do not pass after the change"
    BASE_NOT_RED = "its tests pass before the change"
    WRONG_RED = "its tests fail before the change for another reason"
    FLAKY = "its tests do not give the same result three times"
    TIMED_OUT = "its tests take too long"
    LEAK = "the workspace contains the change"
    SANDBOX_FAILED = "it could not be tried in a sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenTask:
    """A candidate whose tests tell. `fail_to_pass` must pass after the change, `pass_to_pass` must stay green.

    Where the runner reports no single tests, both are empty and the exit code decides. `missing_names` are symbols
    without which the hidden tests could not be collected at the base.
    """

    candidate: Candidate
    runner: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    passed_at_base: int
    missing_names: tuple[str, ...] = ()
    test_seconds: float
    dependencies: str | None
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedProof:
    """A candidate that could not be proven. `detail` names tests, commands or output."""

    candidate: Candidate
    fault: ProofFault
    detail: str = ""
