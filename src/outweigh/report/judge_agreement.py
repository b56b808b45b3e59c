"""How far judges agree with each other: the JSON of a judge panel, and the page of `judge --pairwise`."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec.structs import asdict

from outweigh.compare.judge_agreement import JudgePair, JudgeSummary, PanelAgreement
from outweigh.compare.preferences import Pairwise, PairwiseSummary
from outweigh.model.judgment import JudgeVersion
from outweigh.report.document import Block, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, format_dollars, format_percent
from outweigh.report.json_output import Payload, finite_or_none
from outweigh.stats.agreement import TaskAlphas
from outweigh.stats.estimate import Estimate, Quantity, excludes


def panel_payload(panel: PanelAgreement | None) -> Payload | None:
    """`judges` of `compare --format json`; null where no run was judged."""
    if panel is None:
        return None
    return {
        "agreement": _alphas_payload(panel.agreement),
        "pairs": [_pair_payload(pair) for pair in panel.pairs],
        "cost_usd": _quantity_values(panel.cost_usd),
        "judges": [_judge_payload(judge) for judge in panel.judges],
    }


def pairwise_payload(pairwise: Pairwise) -> Payload:
    """`judge --pairwise --format json`."""
    return {
        "schema": "outweigh.pairwise/1",
        "baseline": pairwise.baseline,
        "candidate": pairwise.candidate,
        "evidence_sha256": pairwise.evidence_sha256,
        "judges": [_pairwise_judge_payload(judge) for judge in pairwise.judges],
        "warnings": list(pairwise.warnings),
    }


def estimate_payload(estimate: Estimate) -> Payload:
    """A point with its interval and its doubts."""
    interval = None if estimate.interval is None else asdict(estimate.interval)
    return {
        "value": finite_or_none(estimate.point),
        "interval": interval,
        "n": estimate.n,
        "unit": estimate.unit.value,
        "method": estimate.method,
        "warnings": list(estimate.warnings),
    }


def _alphas_payload(alphas: TaskAlphas) -> Payload:
    """The overall alpha as every estimate has it, and beside it what it is made of."""
    return {
        **estimate_payload(alphas.overall),
        "runs": alphas.runs,
        "between": estimate_payload(alphas.between),
        "within": estimate_payload(alphas.within),
        "by_task": dict(alphas.by_task),
    }


def _pair_payload(pair: JudgePair) -> Payload:
    return {
        "first": _judge_version_payload(pair.first),
        "second": _judge_version_payload(pair.second),
        "agreement": _alphas_payload(pair.alphas),
        "bias": estimate_payload(pair.bias),
    }


def _judge_payload(judge: JudgeSummary) -> Payload:
    return {
        **_judge_version_payload(judge.judge_version),
        "answers": dict(judge.answers),
        "invalid": dict(judge.invalid),
        "flagged": judge.flagged,
        "stated_totals": judge.stated_totals,
        "notable_gaps": judge.notable_gaps,
        "mean_gap": judge.mean_gap,
        "retest": _alphas_payload(judge.retest),
        "cost_usd": _quantity_values(judge.cost_usd),
    }


def _pairwise_judge_payload(judge: PairwiseSummary) -> Payload:
    return {
        **_judge_version_payload(judge.judge),
        "tasks": judge.tasks,
        "pairs": judge.pairs,
        **asdict(judge.tally),
        "both_orders_agree": asdict(judge.agreed),
        "sign_test": {"p_value": judge.sign_test.p_value, "n": judge.sign_test.n, "unit": judge.sign_test.unit.value},
        "first_share": estimate_payload(judge.first_share),
        "incomplete": judge.incomplete,
        "invalid": judge.invalid,
        "cost_usd": judge.cost_usd.value,
    }


def _judge_version_payload(judge_version: JudgeVersion) -> Payload:
    return {**msgspec.to_builtins(judge_version), "judge_sha256": judge_version.sha256}


def _quantity_values(quantities: Mapping[str, Quantity]) -> Payload:
    return {name: quantity.value for name, quantity in quantities.items()}


PAIRWISE_NOTES = (
    "wins, ties and losses are by the mean of both orders, in which the place on the page cancels out.",
    "first place preferred: 50 % without a bias for the place; ties count half.",
    "preferences are shown and decide nothing: no policy weighs them.",
)


def pairwise_report(
    pairwise: Pairwise, *, left_open: int = 0, set_aside: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The page of `outweigh judge --pairwise`; `left_open` questions have no answer, `set_aside` says why."""
    aside = (f"judge {name!r} is set aside: {why}" for name, why in set_aside.items())
    blocks: list[Block] = [
        _pairwise_table(pairwise),
        *optional_bullets("Notes", PAIRWISE_NOTES),
        *optional_bullets("Warnings", (*aside, *pairwise.warnings, *_pairwise_remarks(pairwise))),
    ]
    pairs = sum(judge.pairs for judge in pairwise.judges)
    still = f", {left_open} questions still open" if left_open else ""
    return Report(
        headline=f"{pairwise.candidate} against {pairwise.baseline}, side by side: {pairs} pairs in both orders{still}",
        tone=Tone.UNSURE if left_open or set_aside else Tone.PLAIN,
        blocks=tuple(blocks),
        payload=pairwise_payload(pairwise),
    )


def _pairwise_table(pairwise: Pairwise) -> Table:
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
        rows=tuple(_pairwise_row(judge) for judge in pairwise.judges),
    )


def _pairwise_row(judge: PairwiseSummary) -> tuple[str, ...]:
    p_value, share = judge.sign_test.p_value, judge.first_share
    span = (
        ""
        if share.interval is None
        else f" ({format_percent(share.interval.low)} to {format_percent(share.interval.high)})"
    )
    return (
        judge.judge.name,
        str(judge.pairs),
        str(judge.tally.wins),
        str(judge.tally.ties),
        str(judge.tally.losses),
        UNKNOWN if p_value is None else f"{p_value:.2g}",
        str(judge.agreed.wins),
        str(judge.agreed.losses),
        f"{format_percent(share.point)}{span}",
        format_dollars(judge.cost_usd.value),
    )


def _pairwise_remarks(pairwise: Pairwise) -> tuple[str, ...]:
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
