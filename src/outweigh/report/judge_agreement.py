"""How far judges can be trusted: the JSON of a judge panel, and the pages of `judge --calibrate` and `judge
--pairwise`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType

import msgspec

from outweigh.compare.judge_agreement import JudgeSummary, PanelAgreement
from outweigh.compare.preferences import Pairwise, PairwiseSummary
from outweigh.model.judgment import AgreementMeasure, Calibration, JudgeAgreement, JudgeVersion
from outweigh.report.document import Block, Heading, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, format_dollars, format_percent, format_score
from outweigh.report.json_output import Payload, finite_or_none
from outweigh.stats.estimate import Estimate, Quantity, excludes


def panel_payload(panel: PanelAgreement | None) -> Payload | None:
    """`judges` of `compare --format json`; null where no run was judged."""
    if panel is None:
        return None
    return {
        "agreement": estimate_payload(panel.agreement),
        "cost_usd": _quantity_values(panel.cost_usd),
        "judges": [_judge_payload(judge) for judge in panel.judges],
    }


def calibrations_payload(calibrations: Sequence[Calibration]) -> Payload:
    """`judge --calibrate LABELS --format json`: one calibration as it is stored, or a list of them."""
    if len(calibrations) == 1:
        payload: Payload = msgspec.to_builtins(calibrations[0])
        return payload
    return {"schema": "outweigh.calibrations/1", "calibrations": [msgspec.to_builtins(one) for one in calibrations]}


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


def _judge_payload(judge: JudgeSummary) -> Payload:
    return {
        **_judge_version_payload(judge.judge_version),
        "answers": dict(judge.answers),
        "invalid": dict(judge.invalid),
        "flagged": judge.flagged,
        "stated_totals": judge.stated_totals,
        "notable_gaps": judge.notable_gaps,
        "mean_gap": judge.mean_gap,
        "retest": estimate_payload(judge.retest),
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


def calibration_report(calibrations: Sequence[Calibration], demands: Sequence[float | None]) -> Report:
    """The page of `outweigh judge --calibrate`; `demands` are the alphas that the suite asks of each judge."""
    blocks: list[Block] = []
    met = []
    for calibration, demand in zip(calibrations, demands, strict=True):
        alpha = calibration.overall.alpha.value
        met.append(demand is None or (alpha is not None and alpha >= demand))
        blocks += [
            Heading(title=_calibration_title(calibration, demand), tone=Tone.PLAIN if met[-1] else Tone.BAD),
            _calibration_table(calibration),
            *optional_bullets("Warnings", _calibration_remarks(calibration, demand)),
        ]
    decided = "" if all(met) else f"; {met.count(False)} may not decide anything"
    judges = "1 judge" if len(met) == 1 else f"{len(met)} judges"
    return Report(
        headline=f"{judges} compared with people{decided}",
        tone=Tone.PLAIN if all(met) else Tone.BAD,
        blocks=tuple(blocks),
        payload=calibrations_payload(calibrations),
    )


def _calibration_title(calibration: Calibration, demand: float | None) -> str:
    judge, alpha = calibration.judge, calibration.overall.alpha.value
    words = f"{judge.name}{'' if judge.model is None else f' ({judge.model})'}: alpha {format_score(alpha)}"
    if demand is None:
        return f"{words}; the suite demands none"
    return f"{words}, {demand:g} demanded: it {'may' if alpha is not None and alpha >= demand else 'may not'} decide"


def _calibration_table(calibration: Calibration) -> Table:
    rows = [_calibration_row("whole runs", calibration.overall)]
    rows += [_calibration_row(one.criterion or "", one) for one in calibration.criteria]
    if calibration.retest.value is not None:
        rows.append(
            ("with itself, pass by pass", str(calibration.retest.items), "", "", _format_measured(calibration.retest))
        )
    return Table(
        title="Agreement with people (95 % intervals)",
        columns=("", "labels", "same side of passing", "kappa", "alpha"),
        rows=tuple(rows),
    )


def _calibration_row(title: str, agreement: JudgeAgreement) -> tuple[str, ...]:
    rate = agreement.accuracy.value
    return (
        title,
        str(agreement.labels),
        format_percent(rate),
        _format_measured(agreement.kappa),
        _format_measured(agreement.alpha),
    )


def _format_measured(measured: AgreementMeasure) -> str:
    if measured.value is None:
        return UNKNOWN
    if measured.interval is None:
        return f"{measured.value:.3f}"
    return f"{measured.value:.3f} ({measured.interval.low:.3f} to {measured.interval.high:.3f})"


def _calibration_remarks(calibration: Calibration, demand: float | None) -> tuple[str, ...]:
    alpha = calibration.overall.alpha
    lines = [*calibration.warnings]
    if calibration.overall.labels:
        lines += [f"alpha of whole runs: {warning}." for warning in alpha.warnings]
    if (
        demand is not None
        and alpha.value is not None
        and alpha.value >= demand
        and not _interval_reaches(alpha, demand)
    ):
        lines.append(
            f"the interval of alpha does not exclude less than the {demand:g} demanded; more labels would tell."
        )
    return tuple(lines)


def _interval_reaches(alpha: AgreementMeasure, demand: float) -> bool:
    return alpha.interval is not None and alpha.interval.low >= demand


PAIRWISE_NOTES = (
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
