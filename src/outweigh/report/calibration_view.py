"""Does the judge agree with you?"""

from collections.abc import Sequence

from outweigh.record.calibration import Agreement, Calibration, Measured
from outweigh.report.document import Block, Heading, Report, Table, Tone, notes
from outweigh.report.judges_contract import calibrations_payload
from outweigh.report.wording import UNKNOWN, percent, score


def calibration_report(calibrations: Sequence[Calibration], demands: Sequence[float | None]) -> Report:
    """The page of `outweigh judge --calibrate`; `demands` are the alphas that the suite asks of each judge."""
    blocks: list[Block] = []
    met = []
    for calibration, demand in zip(calibrations, demands, strict=True):
        alpha = calibration.overall.alpha.value
        met.append(demand is None or (alpha is not None and alpha >= demand))
        blocks += [
            Heading(title=_title(calibration, demand), tone=Tone.PLAIN if met[-1] else Tone.BAD),
            _table(calibration),
            *notes("Warnings", _remarks(calibration, demand)),
        ]
    decided = "" if all(met) else f"; {met.count(False)} may not decide anything"
    judges = "1 judge" if len(met) == 1 else f"{len(met)} judges"
    return Report(
        headline=f"{judges} compared with people{decided}",
        tone=Tone.PLAIN if all(met) else Tone.BAD,
        blocks=tuple(blocks),
        payload=calibrations_payload(calibrations),
    )


def _title(calibration: Calibration, demand: float | None) -> str:
    voice, alpha = calibration.judge, calibration.overall.alpha.value
    words = f"{voice.name}{'' if voice.model is None else f' ({voice.model})'}: alpha {score(alpha)}"
    if demand is None:
        return f"{words}; the suite demands none"
    return f"{words}, {demand:g} demanded: it {'may' if alpha is not None and alpha >= demand else 'may not'} decide"


def _table(calibration: Calibration) -> Table:
    rows = [_row("whole runs", calibration.overall)]
    rows += [_row(one.criterion or "", one) for one in calibration.criteria]
    if calibration.retest.value is not None:
        rows.append(("with itself, pass by pass", str(calibration.retest.items), "", "", _measured(calibration.retest)))
    return Table(
        title="Agreement with people (95 % intervals)",
        columns=("", "labels", "same side of passing", "kappa", "alpha"),
        rows=tuple(rows),
    )


def _row(title: str, agreement: Agreement) -> tuple[str, ...]:
    rate = agreement.accuracy.value
    return title, str(agreement.labels), percent(rate), _measured(agreement.kappa), _measured(agreement.alpha)


def _measured(measured: Measured) -> str:
    if measured.value is None:
        return UNKNOWN
    if measured.interval is None:
        return f"{measured.value:.3f}"
    return f"{measured.value:.3f} ({measured.interval.low:.3f} to {measured.interval.high:.3f})"


def _remarks(calibration: Calibration, demand: float | None) -> tuple[str, ...]:
    alpha = calibration.overall.alpha
    lines = [*calibration.warnings]
    if calibration.overall.labels:
        lines += [f"alpha of whole runs: {warning}." for warning in alpha.warnings]
    if demand is not None and alpha.value is not None and alpha.value >= demand and not _beyond(alpha, demand):
        lines.append(
            f"the interval of alpha does not exclude less than the {demand:g} demanded; more labels would tell."
        )
    return tuple(lines)


def _beyond(alpha: Measured, demand: float) -> bool:
    return alpha.interval is not None and alpha.interval.low >= demand
