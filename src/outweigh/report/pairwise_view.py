"""Candidate against baseline side by side, as judges prefer."""

from collections.abc import Mapping
from types import MappingProxyType

from outweigh.compare.preferences import Pairwise, PairwiseSummary
from outweigh.report.document import Block, Report, Table, Tone, notes
from outweigh.report.judges_contract import pairwise_payload
from outweigh.report.wording import UNKNOWN, dollars, percent
from outweigh.stats.equivalence import excludes

READING = (
    "wins, ties and losses go by the mean of both orders, in which the place on the page cancels out.",
    "first place preferred: 50 % without a bias for the place; ties count half.",
    "preferences are shown and decide nothing: no policy weighs them.",
)


def pairwise_report(
    pairwise: Pairwise, *, left_open: int = 0, set_aside: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The page of `outweigh judge --pairwise`; `left_open` questions have no answer, `set_aside` says why."""
    aside = (f"judge {name!r} is set aside: {why}" for name, why in set_aside.items())
    blocks: list[Block] = [
        _table(pairwise),
        *notes("Notes", READING),
        *notes("Warnings", (*aside, *pairwise.warnings, *_remarks(pairwise))),
    ]
    pairs = sum(judge.pairs for judge in pairwise.judges)
    still = f", {left_open} questions still open" if left_open else ""
    return Report(
        headline=f"{pairwise.candidate} against {pairwise.baseline}, side by side: {pairs} pairs in both orders{still}",
        tone=Tone.UNSURE if left_open or set_aside else Tone.PLAIN,
        blocks=tuple(blocks),
        payload=pairwise_payload(pairwise),
    )


def _table(pairwise: Pairwise) -> Table:
    return Table(
        title=f"Preferences for {pairwise.candidate}",
        columns=(
            "",
            "pairs",
            "wins",
            "ties",
            "losses",
            "p (sign test)",
            "won in both orders",
            "lost in both",
            "first place preferred",
            "cost",
        ),
        rows=tuple(_row(judge) for judge in pairwise.judges),
    )


def _row(judge: PairwiseSummary) -> tuple[str, ...]:
    p_value, share = judge.sign_test.p_value, judge.first_share
    span = "" if share.interval is None else f" ({percent(share.interval.low)} to {percent(share.interval.high)})"
    return (
        judge.judge.name,
        str(judge.pairs),
        str(judge.tally.wins),
        str(judge.tally.ties),
        str(judge.tally.losses),
        UNKNOWN if p_value is None else f"{p_value:.2g}",
        str(judge.agreed.wins),
        str(judge.agreed.losses),
        f"{percent(share.point)}{span}",
        dollars(judge.cost_usd.value),
    )


def _remarks(pairwise: Pairwise) -> tuple[str, ...]:
    lines = []
    for judge in pairwise.judges:
        if excludes(judge.first_share.interval, 0.5):
            place = "first" if (judge.first_share.point or 0) > 0.5 else "second"
            lines.append(f"{judge.judge.name} favours what it is shown {place}, beyond chance.")
        if judge.incomplete:
            lines.append(
                f"{judge.judge.name}: {judge.incomplete} pairs lack a usable answer in at least one order; left out."
            )
    return tuple(lines)
