"""How a run of ProjectScylla ended: by the agent's own word, its exit code, and what its program complained of."""

from collections.abc import Mapping
from typing import Any

from outweigh.record.status import EXCLUDED, Status
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.failure import FailureKind
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.foreign import amount, count, mapping, text

_NEVER_RAN = -1
_TIMED_OUT = "timed out after"
_DETAIL_CHARACTERS = 500


def ending(
    result: Mapping[str, Any],
    told: Mapping[str, Any],
    report: AgentReport | None,
    *,
    timeout_seconds: float | None,
) -> tuple[Status, str | None]:
    """A status, and why. The project writes -1 where its own call of the agent failed, and runs such a run again."""
    code = result.get("exit_code")
    complaint = _complaint(told)
    if report is not None and report.failure is not None:
        return report.failure.kind.status, report.failure.detail[:_DETAIL_CHARACTERS]
    if code in (0, None):
        return Status.COMPLETED, None
    if code == _NEVER_RAN and not _used_anything(result):
        return _call_failed(complaint, result, timeout_seconds)
    found = failure_of_text(complaint, FailureKind.CRASH)
    shown = f"exit code {code}" + (f": {complaint}" if complaint else "")
    return found.kind.status, shown[:_DETAIL_CHARACTERS]


def _call_failed(complaint: str, result: Mapping[str, Any], timeout_seconds: float | None) -> tuple[Status, str | None]:
    """Out of time is the agent's fault; whatever else kept it from running is not."""
    took = amount(result.get("agent_duration_seconds"))
    at_limit = took is not None and timeout_seconds is not None and took >= timeout_seconds > 0
    if at_limit or _TIMED_OUT in complaint:
        return Status.TIMEOUT, (complaint or f"ran out of {timeout_seconds:g} seconds")[:_DETAIL_CHARACTERS]
    known = failure_of_text(complaint, FailureKind.CONNECTION_REFUSED).kind.status
    detail = f"the agent could not be run: {complaint or 'nobody says why'}"[:_DETAIL_CHARACTERS]
    return known if known in EXCLUDED else Status.INFRA_ERROR, detail


def _used_anything(result: Mapping[str, Any]) -> bool:
    return any(count(each) for each in mapping(result.get("token_stats")).values())


def _complaint(told: Mapping[str, Any]) -> str:
    """What the program wrote to its errors, without the commands that the project's script repeats there."""
    lines = (text(told.get("stderr")) or "").splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("+ ")).strip()
