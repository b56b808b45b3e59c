"""The page and the JSON of `outweigh baseline list`: pinned baselines, their age, their agents, and their last drift
check.
"""

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.compare.arm_drift import ALARM_AT
from outweigh.report.document import Block, BulletList, Report, Table, Tone
from outweigh.report.json_output import Payload


class PinRow(Struct, frozen=True, kw_only=True):
    """One pin. Ages are in days; `drifted` is None where it was never checked.

    `evidence` is that of drift over all checks, None where the last one was made by an earlier release.
    """

    name: str
    suite: str
    arm: str
    runs: int
    tasks: int
    agents: tuple[str, ...]
    age_days: float
    checked_days: float | None
    checks: int
    evidence: float | None
    drifted: bool | None
    findings: tuple[str, ...]


def pins_report(rows: tuple[PinRow, ...], folder: str) -> Report:
    """The page of `outweigh baseline list`."""
    table = Table(
        title="Pinned baselines",
        columns=("", "suite", "arm", "runs", "tasks", "agents", "age", "last check"),
        rows=tuple(
            (
                row.name,
                row.suite,
                row.arm,
                str(row.runs),
                str(row.tasks),
                ", ".join(row.agents) or "unknown",
                f"{row.age_days:.1f} days",
                _last_check(row),
            )
            for row in rows
        ),
    )
    blocks: list[Block] = [table] if rows else []
    blocks += [
        BulletList(title=f"Drift of {row.name}", items=row.findings, tone=Tone.BAD) for row in rows if row.findings
    ]
    return Report(
        headline=f"{len(rows)} pinned baselines in {folder}",
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload={"schema": "outweigh.pins/1", "pins": [_pin_payload(row) for row in rows]},
    )


def _pin_payload(row: PinRow) -> Payload:
    return asdict(row)


def _last_check(row: PinRow) -> str:
    if row.drifted is None or row.checked_days is None:
        return "never"
    evidence = "" if row.evidence is None else f", evidence {row.evidence:.2g} of {ALARM_AT:g}"
    return f"{'drifted' if row.drifted else 'no drift shown'}, {row.checked_days:.1f} days ago{evidence}"
