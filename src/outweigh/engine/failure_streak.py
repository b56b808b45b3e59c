"""Notices when trial after trial fails for the same reason outside of the agent, so that nothing more is spent on it.

Only `infra_error` is looked at: what the engine saw fail on its own side (`fault.py`), which an agent cannot cause.
"""

import re
from dataclasses import dataclass

from outweigh.model.failure import FailureKind, Remedy, detail_line
from outweigh.model.run_record import Trial, TrialKey

SAME_FAILURES = 3
"""So many different trials in a row may fail for the same reason; then the run stops."""

REASON_LIMIT = 300

_VARIABLE_PARTS = (
    (re.compile(r"(?:/[^\s/'\":,;]+)+/?"), "PATH"),
    (re.compile(r"\b(?=\w*\d)[\w-]{6,}\b"), "ID"),
    (re.compile(r"\d+(?:\.\d+)?"), "N"),
    (re.compile(r"\s+"), " "),
)


def normalise_reason(detail: str | None, trial: Trial) -> str:
    """The reason without what differs from attempt to attempt: names of trials, paths, identifiers and numbers."""
    text = detail or "no reason was given"
    for name in (trial.task_id, trial.arm):
        text = text.replace(name, "TRIAL")
    return without_variable_parts(text)


def without_variable_parts(text: str) -> str:
    """A message without paths, identifiers and numbers, so that two messages about the same failure are equal."""
    for pattern, stands_for in _VARIABLE_PARTS:
        text = pattern.sub(stands_for, text)
    return text.strip().casefold()[:REASON_LIMIT]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedFailure:
    """The failure that too many trials had in a row."""

    kind: FailureKind | None
    detail: str
    trials: int

    def __str__(self) -> str:
        failed = f"{self.trials} trials in a row failed with the same infrastructure error"
        told = "a trial failed with an infrastructure error that no other trial escapes" if self.trials < 2 else failed
        return f"{told}: {detail_line(self.detail).rstrip('.')}. {diagnose(self.kind)}"


def diagnose(kind: FailureKind | None) -> str:
    """What a failure outside of the agent means, and what to do."""
    return _DIAGNOSES.get(kind, _OTHER_DIAGNOSIS)


_PROVIDER_FAILS = "The provider fails or refuses more requests. Wait, or run fewer trials at once with -j 1."
_OTHER_DIAGNOSIS = "The sandbox, the disk or the agent's program did not work before the agent could."
_DIAGNOSES: dict[FailureKind | None, str] = {
    FailureKind.UNAUTHORIZED: "The provider does not accept the key or the login. Check the key that [gateway] names, "
    "or sign the agent in again.",
    FailureKind.LOGIN_EXPIRED: "What has run is kept.",
    FailureKind.UNKNOWN_MODEL: "The provider does not know the model. Check `model` of the arms.",
    FailureKind.CONNECTION_REFUSED: "The model cannot be reached. Check the network and the address under [gateway]; "
    'with mode = "direct", also allow_hosts under [sandbox].',
    FailureKind.SERVER_ERROR: _PROVIDER_FAILS,
    FailureKind.CUT_STREAM: _PROVIDER_FAILS,
    FailureKind.RATE_LIMITED: _PROVIDER_FAILS,
    FailureKind.OVERLOADED: _PROVIDER_FAILS,
}

_Reason = tuple[FailureKind | None, str]


class FailureStreak:
    """Counts trials that fail for the same reason, one after another.

    A result ends the streak of its arm, and so does a failure for another reason. Trials that were running when one
    failed count with it: a sandbox service that dies takes all of them down, and that is one failure. Without a
    `limit` nothing is counted.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._failures = 0
        # Only reasons that trials have now, so that a result takes no longer after many kinds of failures.
        self._trials: dict[_Reason, frozenset[TrialKey]] = {}
        self._counted_at: dict[_Reason, int] = {}

    def mark(self) -> int:
        """The number of failures so far; an attempt that starts keeps it for when it ends."""
        return self._failures

    @property
    def active(self) -> bool:
        """Whether the last that is known of an arm is such a failure."""
        return bool(self._trials)

    def add_result(self, arm: str) -> None:
        """An attempt of the arm has a result."""
        for reason, trials in list(self._trials.items()):
            of_others = frozenset(trial for trial in trials if trial[1] != arm)
            if of_others:
                self._trials[reason] = of_others
            else:
                del self._trials[reason]

    def add_failure(
        self, trial: Trial, kind: FailureKind | None, detail: str | None, started_at: int
    ) -> RepeatedFailure | None:
        """An attempt has failed; returns the failure where it has now happened too often in a row.

        `started_at` is the mark of its start. A login does not come back by itself, so once is too often.
        """
        if self._limit is None:
            return None
        reason = kind, normalise_reason(detail, trial)
        trials = self._trials.get(reason, frozenset())
        if trial.key not in trials:
            self.add_result(trial.arm)
            if self._counted_at.get(reason, 0) <= started_at:
                trials |= {trial.key}
                self._failures += 1
                self._counted_at[reason] = self._failures
            if trials:
                self._trials[reason] = trials
        if len(trials) < self._limit and kind is not FailureKind.LOGIN_EXPIRED:
            return None
        return RepeatedFailure(kind=kind, detail=detail or "no reason was given", trials=len(trials))


def asks_to_wait(kind: FailureKind | None, retry_after_seconds: float | None) -> bool:
    """Whether the provider asks for a pause, after which a retry is likely to work."""
    return retry_after_seconds is not None or (kind is not None and kind.remedy is Remedy.PAUSE)
