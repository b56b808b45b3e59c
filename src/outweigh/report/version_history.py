"""Earlier versions of an arm beside the one that the suite has now, on the pages of a verdict and in their JSON."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison
from outweigh.report.document import KeyPoints, Report, Table, add_blocks
from outweigh.report.formatting import format_percent
from outweigh.report.json_output import Payload
from outweigh.report.next_step import VerdictCommand
from outweigh.verdict.decision import Verdict


class VersionHistory(Struct, frozen=True, kw_only=True):
    """What is decided about now, and earlier versions with their verdicts, the first one first.

    `tried` is the number of candidates that were ever run in the store; all of them count.
    """

    current: tuple[tuple[Comparison, Verdict], ...]
    earlier: tuple[tuple[Comparison, Verdict], ...]
    tried: int


def add_version_history(report: Report, history: VersionHistory | None) -> Report:
    """The whole page with a table of all versions after what decides; the same page where there is only one."""
    if history is None:
        return report
    payload = {**report.payload, "versions": history_payload(history)}
    return replace(add_blocks(report, "Versions", (_table(history),)), payload=payload)


def add_version_line(report: Report, history: VersionHistory | None, command: VerdictCommand) -> Report:
    """The one screen with one line about earlier versions, and how to see all side by side, before its last line."""
    if history is None:
        return report
    line = ("Versions", _sentence(history))
    shown = {line[0]: _side_by_side(history, command)}
    *others, last = report.blocks
    if not isinstance(last, KeyPoints):
        return replace(report, blocks=(*report.blocks, KeyPoints(rows=(line,), commands=shown)))
    rows = (*last.rows[:-1], line, *last.rows[-1:])
    return replace(report, blocks=(*others, replace(last, rows=rows, commands={**last.commands, **shown})))


def _side_by_side(history: VersionHistory, command: VerdictCommand) -> str:
    """The command that decides about all versions, each against the baseline."""
    versions = (comparison.candidate.name for comparison, _ in (*history.earlier, *history.current))
    return command.again(*(word for name in versions for word in ("--candidate", name)))


def history_payload(history: VersionHistory) -> Payload:
    """Under `versions` in the JSON of `verdict` and `report`."""
    return {
        "current": [comparison.candidate.name for comparison, _ in history.current],
        "tried": history.tried,
        "earlier": [
            {
                "candidate": comparison.candidate.name,
                "decision": verdict.decision.value,
                "runs": comparison.candidate.runs,
                "pass_rate": comparison.candidate.pass_rate.value,
            }
            for comparison, verdict in history.earlier
        ],
    }


def _table(history: VersionHistory) -> Table:
    baseline = history.current[0][0].baseline
    rows: list[tuple[str, ...]] = [
        (baseline.name, "baseline", str(baseline.runs), format_percent(baseline.pass_rate.value))
    ]
    rows += [_row(comparison, verdict, "") for comparison, verdict in history.earlier]
    rows += [_row(comparison, verdict, ", now") for comparison, verdict in history.current]
    return Table(
        title=f"Versions (each of the {history.tried} that were tried counts as a candidate)",
        columns=("", "verdict", "runs", "passed"),
        rows=tuple(rows),
    )


def _row(comparison: Comparison, verdict: Verdict, suffix: str) -> tuple[str, ...]:
    arm = comparison.candidate
    return arm.name, f"{verdict.decision.words}{suffix}", str(arm.runs), format_percent(arm.pass_rate.value)


def _sentence(history: VersionHistory) -> str:
    now = _names(history.current)
    before = ", ".join(
        f"{comparison.candidate.name} ({verdict.decision.words}, "
        f"{format_percent(comparison.candidate.pass_rate.value)} passed)"
        for comparison, verdict in history.earlier
    )
    return (
        f"this is {now}. Other versions: {before}. Each of the {history.tried} that were tried counts as a candidate."
    )


def _names(results: Sequence[tuple[Comparison, Verdict]]) -> str:
    return " and ".join(comparison.candidate.name for comparison, _ in results)
