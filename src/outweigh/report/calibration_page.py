"""The page of `judge --calibrate`: a judge compared with people, and whether it may decide."""

from collections.abc import Iterator, Sequence

import msgspec

from outweigh.model.judgment import AgreementMeasure, Calibration, JudgeAgreement
from outweigh.report.document import Block, Heading, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import UNKNOWN, format_percent, format_score
from outweigh.report.json_output import Payload
from outweigh.score.judge_scores import LabelAgreement


def calibration_report(calibrations: Sequence[Calibration], demands: Sequence[float | None]) -> Report:
    """The page of `outweigh judge --calibrate`; `demands` are the alphas that the suite asks of each judge."""
    blocks: list[Block] = []
    refused = 0
    for calibration, demand in zip(calibrations, demands, strict=True):
        shortfall = None if demand is None else LabelAgreement.of(calibration).shortfall(demand)
        refused += shortfall is not None
        blocks += [
            Heading(title=_title(calibration, demand), tone=Tone.PLAIN if shortfall is None else Tone.BAD),
            _passing_table(calibration),
            _alpha_table(calibration),
            *optional_bullets("Warnings", tuple(_remarks(calibration, demand, shortfall))),
        ]
    decided = f"; {refused} may not decide anything" if refused else ""
    judges = "1 judge" if len(calibrations) == 1 else f"{len(calibrations)} judges"
    return Report(
        headline=f"{judges} compared with people{decided}",
        tone=Tone.BAD if refused else Tone.PLAIN,
        blocks=tuple(blocks),
        payload=calibrations_payload(calibrations),
    )


def calibrations_payload(calibrations: Sequence[Calibration]) -> Payload:
    """`judge --calibrate LABELS --format json`: one calibration as it is stored, or a list of them."""
    if len(calibrations) == 1:
        payload: Payload = msgspec.to_builtins(calibrations[0])
        return payload
    return {"schema": "outweigh.calibrations/1", "calibrations": [msgspec.to_builtins(one) for one in calibrations]}


def _title(calibration: Calibration, demand: float | None) -> str:
    judge, agreement = calibration.judge, LabelAgreement.of(calibration)
    name = f"{judge.name}{'' if judge.model is None else f' ({judge.model})'}"
    words = f"{name}: alpha within tasks {format_score(agreement.alpha)}"
    if demand is None:
        return f"{words}; the suite requires none"
    return f"{words}, {demand:g} required: it {'may' if agreement.shortfall(demand) is None else 'may not'} decide"


def _passing_table(calibration: Calibration) -> Table:
    return Table(
        title="Passed or not, judge and people (95 % intervals over tasks)",
        columns=("", "labels", "tasks", "same side of passing", "kappa"),
        rows=tuple(_passing_row(one) for one in (calibration.overall, *calibration.criteria)),
    )


def _passing_row(agreement: JudgeAgreement) -> tuple[str, ...]:
    rate, interval = agreement.accuracy.value, agreement.accuracy.interval
    span = "" if interval is None else f" ({format_percent(interval.low)} to {format_percent(interval.high)})"
    tasks = agreement.accuracy.tasks
    return (
        _name(agreement),
        str(agreement.labels),
        UNKNOWN if tasks is None else str(tasks),
        f"{format_percent(rate)}{span}",
        _format_measured(agreement.kappa),
    )


def _alpha_table(calibration: Calibration) -> Table:
    rows = [_alpha_row(one) for one in (calibration.overall, *calibration.criteria)]
    if calibration.retest.value is not None:
        rows.append(("with itself, pass by pass", _format_measured(calibration.retest), "", "", "", ""))
    return Table(
        title="Krippendorff's alpha, and how much higher the judge scores (95 % intervals over tasks)",
        columns=("", "all runs", "between tasks", "within tasks", "tasks used", "bias"),
        rows=tuple(rows),
    )


def _alpha_row(agreement: JudgeAgreement) -> tuple[str, ...]:
    within, between, bias = agreement.within, agreement.between, agreement.bias
    return (
        _name(agreement),
        _format_measured(agreement.alpha),
        format_score(None if between is None else between.value),
        _format_measured(within),
        UNKNOWN if within is None or within.tasks is None else str(within.tasks),
        _format_measured(bias, sign="+"),
    )


def _name(agreement: JudgeAgreement) -> str:
    return "whole runs" if agreement.criterion is None else agreement.criterion


def _format_measured(measured: AgreementMeasure | None, sign: str = "") -> str:
    if measured is None or measured.value is None:
        return UNKNOWN
    value, interval = f"{measured.value:{sign}.3f}", measured.interval
    return value if interval is None else f"{value} ({interval.low:{sign}.3f} to {interval.high:{sign}.3f})"


def _remarks(calibration: Calibration, demand: float | None, shortfall: str | None) -> Iterator[str]:
    if shortfall is not None:
        yield f"it may not decide: {shortfall}."
    yield from calibration.warnings
    overall = calibration.overall
    if not overall.labels:
        return
    within = overall.within
    figures = (("alpha of whole runs", overall.alpha), ("alpha within tasks", within))
    for name, measured in figures:
        yield from (f"{name}: {warning}." for warning in (() if measured is None else measured.warnings))
    if demand is not None and shortfall is None and not _interval_reaches(within, demand):
        yield f"the interval of alpha within tasks reaches below the required {demand:g}; label more tasks to be sure."


def _interval_reaches(alpha: AgreementMeasure | None, demand: float) -> bool:
    return alpha is not None and alpha.interval is not None and alpha.interval.low >= demand
