"""What a CI job learns: a decision with its figures, or why nothing was decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class NotJudged(StrEnum):
    """Why there is no decision, and the check is neither passed nor failed."""

    NOTHING_TO_COMPARE = "nothing-to-compare"
    NO_SECRETS = "not-run"


@dataclass(frozen=True, slots=True, kw_only=True)
class CiOutcome:
    """One candidate against its base. Unknown figures are None; `delta` and its interval are of the pass rate."""

    decision: str
    may_promote: bool
    satisfied: bool
    headline: str
    delta: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    cost_usd: float | None
    runs: int
    reused_runs: int


def not_judged(why: NotJudged, words: str) -> CiOutcome:
    """Nothing was run, so nothing was spent and nothing may be promoted."""
    return CiOutcome(
        decision=why.value,
        may_promote=False,
        satisfied=True,
        headline=words,
        delta=None,
        ci_low=None,
        ci_high=None,
        p_value=None,
        cost_usd=0.0,
        runs=0,
        reused_runs=0,
    )


def judged(
    payload: Mapping[str, Any],
    headline: str,
    *,
    satisfied: bool,
    cost_usd: float | None,
    runs: int,
    reused_runs: int,
) -> CiOutcome:
    """From the JSON of `outweigh report` about one candidate."""
    (verdict,), (comparison,) = payload["verdicts"], payload["comparisons"]
    delta = comparison["deltas"]["pass_delta"]
    interval = delta["interval"] or {}
    return CiOutcome(
        decision=verdict["decision"],
        may_promote=verdict["may_promote"],
        satisfied=satisfied,
        headline=headline,
        delta=delta["task_mean"],
        ci_low=interval.get("low"),
        ci_high=interval.get("high"),
        p_value=comparison["tests"]["sign_flip"]["p_value"],
        cost_usd=cost_usd,
        runs=runs,
        reused_runs=reused_runs,
    )


def outputs(outcome: CiOutcome, report_path: str) -> dict[str, str]:
    """Names and values for later steps; an unknown is empty, never 0."""
    figures = {
        "delta": outcome.delta,
        "ci-low": outcome.ci_low,
        "ci-high": outcome.ci_high,
        "p-value": outcome.p_value,
        "cost-usd": outcome.cost_usd,
    }
    return {
        "decision": outcome.decision,
        "may-promote": "true" if outcome.may_promote else "false",
        "satisfied": "true" if outcome.satisfied else "false",
        **{name: "" if value is None else f"{value:.6g}" for name, value in figures.items()},
        "runs": str(outcome.runs),
        "reused-runs": str(outcome.reused_runs),
        "report-path": report_path,
    }
