"""The comment on a pull request: one that is found again by a mark nobody sees, with the answer before the figures."""

import re
from hashlib import sha256

from outweigh.report.ci_outcome import CiOutcome
from outweigh.report.wording import dollars, points

LONGEST = 60_000
"""Forges take 65,536 characters; the rest is room for what they add themselves."""
_ALERTS = {"improved": "TIP", "neutral": "NOTE", "regressed": "CAUTION", "inconclusive": "WARNING"}
_RUN = re.compile(r"<!-- outweigh run (\d{1,18}) -->")


def comment_mark(suite: str) -> str:
    """The first line of every comment about this suite; a hash, so that no name can end the comment it is in."""
    return f"<!-- outweigh {sha256(suite.encode()).hexdigest()[:16]} -->"


def run_number(body: str) -> int:
    """Which run of the workflow wrote a comment; 0 where it does not say."""
    found = _RUN.search(body)
    return int(found[1]) if found else 0


def comment_text(
    outcome: CiOutcome, page: str, *, suite: str, headline: str, notes: str, run: int | None, link: str | None
) -> str:
    """`page`, `headline` and `notes` are Markdown with everything foreign escaped; `link` leads to the run."""
    parts = [
        comment_mark(suite),
        *([] if run is None else [f"<!-- outweigh run {run} -->"]),
        f"> [!{_ALERTS.get(outcome.decision, 'NOTE')}]\n> **{headline}**",
        _figures(outcome),
        notes,
        f"<details><summary>The whole verdict</summary>\n\n{_cut(page)}\n\n</details>" if page else "",
        "" if link is None else f"[The run with its full report]({link})",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _figures(outcome: CiOutcome) -> str:
    if not outcome.runs:
        return ""
    interval = ""
    if outcome.ci_low is not None and outcome.ci_high is not None:
        interval = f" ({points(outcome.ci_low)} to {points(outcome.ci_high)})"
    reused = f", {outcome.reused_runs} of them reused" if outcome.reused_runs else ""
    return (
        f"Pass rate {points(outcome.delta)}{interval}. {outcome.runs} runs{reused}, "
        f"{dollars(outcome.cost_usd)} spent. Promotion {'allowed' if outcome.may_promote else 'refused'}."
    )


def _cut(page: str) -> str:
    if len(page) <= LONGEST:
        return page
    whole = page[:LONGEST].rpartition("\n")[0]
    return f"{whole}\n\n… and more than a comment can hold; the full report has it."
