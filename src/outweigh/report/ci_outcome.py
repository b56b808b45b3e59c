"""What a CI job reports: the outcome of one comparison, the outputs for later steps, and the pull request comment."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Any

from msgspec import Struct

from outweigh.report.formatting import SIMULATED, format_dollars, format_points


class NoDecision(StrEnum):
    """Why there is no decision, and the check is neither passed nor failed."""

    NOTHING_TO_COMPARE = "nothing-to-compare"
    NO_SECRETS = "not-run"


class LedgerNote(Struct, frozen=True, kw_only=True):
    """What the ledger said about a verdict, in words; the level that it was held to, and the error that is left.

    The figures are None where the ledger could not be asked, or has no say.
    """

    words: str
    level: float | None
    error_left: float | None


class CiOutcome(Struct, frozen=True, kw_only=True):
    """One candidate against its base. Unknown figures are None; `delta` and its interval are of the pass rate.

    `sentence` tells the effects, with the intervals of the verdict, and `reason` what the decision rests on. A
    `simulated` comparison spends no dollars, and of others the cost may be estimated. `ledger` is what the ledger of
    the repository's verdicts makes of it; None where nothing was entered.
    """

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
    ledger: LedgerNote | None
    sentence: str = ""
    reason: str = ""
    simulated: bool = False
    cost_is_estimated: bool = False


def undecided_outcome(why: NoDecision, words: str) -> CiOutcome:
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
        ledger=None,
    )


def decided_outcome(
    payload: Mapping[str, Any],
    headline: str,
    *,
    satisfied: bool,
    cost_usd: float | None,
    cost_is_estimated: bool,
    runs: int,
    reused_runs: int,
    ledger: LedgerNote | None,
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
        cost_is_estimated=cost_is_estimated,
        runs=runs,
        reused_runs=reused_runs,
        ledger=ledger,
    )


def step_outputs(outcome: CiOutcome, report_path: str) -> dict[str, str]:
    """Names and values for later steps; an unknown is empty, never 0."""
    figures = {
        "delta": outcome.delta,
        "ci-low": outcome.ci_low,
        "ci-high": outcome.ci_high,
        "p-value": outcome.p_value,
        "cost-usd": outcome.cost_usd,
        "ledger-level": None if outcome.ledger is None else outcome.ledger.level,
        "error-left": None if outcome.ledger is None else outcome.ledger.error_left,
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


MOST_PAGE_CHARACTERS = 60_000
"""Forges take 65,536 characters; the rest is left for what they add."""
_ALERTS = {
    "improved": "TIP",
    "neutral": "NOTE",
    "trade_off": "WARNING",
    "regressed": "CAUTION",
    "inconclusive": "WARNING",
}
_RUN_MARKER = re.compile(r"<!-- outweigh run (\d{1,18}) -->")


def comment_marker(suite: str) -> str:
    """The first line of every comment about this suite; a hash, so that no name can end the comment it is in."""
    return f"<!-- outweigh {sha256(suite.encode()).hexdigest()[:16]} -->"


def workflow_run_number(body: str) -> int:
    """Which run of the workflow wrote a comment; 0 where it does not say."""
    found = _RUN_MARKER.search(body)
    return int(found[1]) if found else 0


def render_comment(
    outcome: CiOutcome,
    page: str,
    *,
    suite: str,
    headline: str,
    notes: str,
    run: int | None,
    link: str | None,
    said: Sequence[str] = (),
) -> str:
    """The decision, what is `said` about it, the figures and the link; the whole verdict is folded below them.

    `page` and all words are Markdown with everything foreign escaped; `link` leads to the run.
    """
    alert = "\n>\n".join(f"> {line}" for line in (f"**{headline}**", *said) if line)
    parts = [
        comment_marker(suite),
        *([] if run is None else [f"<!-- outweigh run {run} -->"]),
        f"> [!{_ALERTS.get(outcome.decision, 'NOTE')}]\n{alert}",
        _outcome_figures(outcome),
        "" if link is None else f"[The run with its full report]({link})",
        notes,
        f"<details><summary>The whole verdict</summary>\n\n{_truncate_page(page)}\n\n</details>" if page else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _outcome_figures(outcome: CiOutcome) -> str:
    """Runs, spending and promotion; the change of the pass rate only where no sentence has it, with its interval."""
    if not outcome.runs:
        return ""
    reused = f", {outcome.reused_runs} of them reused" if outcome.reused_runs else ""
    about = "about " if outcome.cost_is_estimated else ""
    spent = SIMULATED if outcome.simulated else f"{about}{format_dollars(outcome.cost_usd)} spent"
    promotion = f"Promotion {'allowed' if outcome.may_promote else 'refused'}."
    return f"{_pass_rate(outcome)}{outcome.runs} runs{reused}, {spent}. {promotion}"


def _pass_rate(outcome: CiOutcome) -> str:
    if outcome.sentence:
        return ""
    interval = ""
    if outcome.ci_low is not None and outcome.ci_high is not None:
        interval = f" ({format_points(outcome.ci_low)} to {format_points(outcome.ci_high)})"
    return f"Pass rate {format_points(outcome.delta)}{interval}. "


def _truncate_page(page: str) -> str:
    if len(page) <= MOST_PAGE_CHARACTERS:
        return page
    whole = page[:MOST_PAGE_CHARACTERS].rpartition("\n")[0]
    return f"{whole}\n\n… and more than a comment can hold; the full report has it."
