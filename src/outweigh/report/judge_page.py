"""The page and the JSON of `outweigh judge`: per judge its usable answers, scores, cost and warnings."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from outweigh.model.judgment import Judgment
from outweigh.model.suite import JudgeSpec
from outweigh.report.document import Block, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, count_of, format_dollars, format_score
from outweigh.score.judge_scores import judged_outcome

MOST_REMARKS = 5


class JudgeTotals(Struct, frozen=True, kw_only=True):
    """One judge: what it says to the present questions, the tries that came to nothing, and why it says no more."""

    judge: JudgeSpec
    judgments: Sequence[Judgment]
    replaced: Sequence[Judgment]
    set_aside: str | None


class JudgingTotals(Struct, frozen=True, kw_only=True):
    """All judges; `asked` answers were added just now, `failed` of them unusable; `open` cases have none yet.

    `retry_command` asks again for the answers that could not be used.
    """

    accounts: Sequence[JudgeTotals]
    stop: str
    asked: int
    failed: int
    open: int
    retry_command: str

    @property
    def unusable(self) -> int:
        """How many answers to the present questions could not be used."""
        return sum(one.invalid_reason is not None for account in self.accounts for one in account.judgments)


def judge_report(accounts: JudgingTotals) -> Report:
    """The page of `outweigh judge`."""
    rows = tuple(_row(_figures(account)) for account in accounts.accounts)
    columns = ("judge", "model", "valid", "invalid", "mean score", "passed", "times asked", "cost")
    blocks: list[Block] = [Table(title="Judges", columns=columns, rows=rows)]
    blocks.extend(optional_bullets("Warnings", _warnings(accounts)))
    return Report(headline=_headline(accounts), tone=_tone(accounts), blocks=tuple(blocks), payload=_payload(accounts))


def summarize_judging(accounts: JudgingTotals) -> tuple[str, ...]:
    """The same in a few lines, for the end of a run."""
    figures = [_figures(account) for account in accounts.accounts]
    known = [each["known_cost_usd"] for each in figures if each["known_cost_usd"] is not None]
    unknown = sum(each["unknown_costs"] for each in figures)
    cost = f"{_format_spent(sum(known), unknown)} spent on judging" if known else "what judging cost is unknown"
    return (f"judges: {_headline(accounts)}, {cost}", *_warnings(accounts))


def _headline(accounts: JudgingTotals) -> str:
    failed = f", {accounts.failed} failed" if accounts.failed else ""
    earlier = accounts.unusable if not accounts.asked else 0
    kept = f", {count_of(earlier, 'failed judgment')} not asked for again" if earlier else ""
    still = f", {accounts.open} still open" if accounts.open else ""
    return f"{accounts.stop}: {accounts.asked - accounts.failed} judgments added{failed}{kept}{still}"


def _tone(accounts: JudgingTotals) -> Tone:
    return Tone.UNSURE if accounts.open or _warnings(accounts) else Tone.PLAIN


def _figures(account: JudgeTotals) -> dict[str, Any]:
    outcomes = [judged_outcome(judgment) for judgment in account.judgments]
    passed = [outcome.passed for outcome in outcomes if outcome.passed is not None]
    scores = [outcome.score.value for outcome in outcomes if outcome.score.value is not None]
    paid = (*account.judgments, *account.replaced)
    costs = [judgment.cost.usd for judgment in paid]
    known = [cost for cost in costs if cost is not None]
    return {
        "name": account.judge.name,
        "backend": account.judge.backend,
        "model": account.judge.model,
        "valid": sum(judgment.invalid_reason is None for judgment in account.judgments),
        "invalid": sum(judgment.invalid_reason is not None for judgment in account.judgments),
        "mean_score": sum(scores) / len(scores) if scores else None,
        "passed": sum(passed) if passed else None,
        "attempts": sum(judgment.attempts or 1 for judgment in paid),
        "known_cost_usd": sum(known) if known or not costs else None,
        "unknown_costs": len(costs) - len(known),
        "set_aside": account.set_aside,
    }


def _row(figures: dict[str, Any]) -> tuple[str, ...]:
    return (
        figures["name"],
        figures["model"] or UNKNOWN,
        str(figures["valid"]),
        str(figures["invalid"]),
        format_score(figures["mean_score"]),
        UNKNOWN if figures["passed"] is None else str(figures["passed"]),
        str(figures["attempts"]),
        _format_spent(figures["known_cost_usd"], figures["unknown_costs"]),
    )


def _format_spent(known_usd: float | None, unknown: int) -> str:
    """What was paid; where no answer has a known cost, no sum pretends that there is one."""
    if known_usd is None:
        return UNKNOWN
    return format_dollars(known_usd) + (f" and {unknown} unknown" if unknown else "")


def _warnings(accounts: JudgingTotals) -> tuple[str, ...]:
    found = [
        f"judge {account.judge.name!r} is set aside: {account.set_aside}"
        for account in accounts.accounts
        if account.set_aside is not None
    ]
    judgments = [judgment for account in accounts.accounts for judgment in account.judgments]
    invalid = [(judgment.invalid_reason, judgment.run_id) for judgment in judgments if judgment.invalid_reason]
    if invalid:
        found.append(
            f"{count_of(len(invalid), 'answer')} could not be used; `{accounts.retry_command}` asks again: "
            f"{_group_remarks(invalid)}"
        )
    suspicious = [(warning, judgment.run_id) for judgment in judgments for warning in judgment.warnings]
    if suspicious:
        found.append(f"{len(suspicious)} times a run addressed its judge: {_group_remarks(suspicious)}")
    return tuple(found)


def _group_remarks(remarks: Sequence[tuple[str, str]]) -> str:
    """Each remark once, the most common first, with a run that it is about."""
    runs: dict[str, list[str]] = defaultdict(list)
    for remark, run_id in remarks:
        runs[remark.rstrip(".")].append(run_id)
    common = sorted(runs.items(), key=lambda item: -len(item[1]))
    shown = (f"{remark} ({len(where)}, such as {where[0]})" for remark, where in common[:MOST_REMARKS])
    return "; ".join(shown) + ("; …" if len(common) > MOST_REMARKS else "")


def _payload(accounts: JudgingTotals) -> dict[str, Any]:
    return {
        "schema": "outweigh.judge/1",
        "stop": accounts.stop,
        "added": accounts.asked,
        "added_valid": accounts.asked - accounts.failed,
        "added_invalid": accounts.failed,
        "open": accounts.open,
        "judges": [_figures(account) for account in accounts.accounts],
        "warnings": list(_warnings(accounts)),
    }
