"""What the scan for cheats found: the page of `outweigh store scan`, the blocks on other pages, and their JSON."""

from collections.abc import Iterator, Mapping

import msgspec

from outweigh.compare.scan_summary import ArmScan, describe_difference
from outweigh.report.document import Block, BulletList, Details, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import escape_controls
from outweigh.report.json_output import Payload

MOST_RUN_FINDINGS = 200
READING = "a finding states what a transcript or a diff shows. It decides nothing: read the run before you judge it."


def scan_report(name: str, arms: Mapping[str, ArmScan]) -> Report:
    """The page of `outweigh store scan`: counts by arm, and every finding with its place."""
    scanned = sum(arm.scanned for arm in arms.values())
    suspicious = sum(arm.suspicious for arm in arms.values())
    return Report(
        headline=f"{suspicious} of {scanned} scanned runs of {name} have suspicious findings",
        tone=Tone.UNSURE if suspicious else Tone.PLAIN,
        blocks=(
            *scan_blocks(arms),
            *finding_tables(arms),
            *optional_bullets("Notes", tuple(_notes(arms))),
        ),
        payload={
            "schema": "outweigh.findings/1",
            **scan_payload(arms),
            "runs": [{"arm": name, **msgspec.to_builtins(scan)} for name, arm in arms.items() for scan in arm.findings],
        },
    )


def scan_payload(arms: Mapping[str, ArmScan]) -> Payload:
    """`scan` of `verdict --format json`: counts by arm, and how the arms differ."""
    return {"arms": {name: _arm_payload(arm) for name, arm in arms.items()}, "difference": _difference(arms)}


def _arm_payload(arm: ArmScan) -> Payload:
    return {
        "runs": arm.runs,
        "scanned": arm.scanned,
        "flagged": arm.flagged,
        "suspicious": arm.suspicious,
        "unfinished": arm.unfinished,
        "findings": [
            {**rule._asdict(), "severity": rule.severity.value, "runs": runs} for rule, runs in arm.rules.items()
        ],
    }


def _difference(arms: Mapping[str, ArmScan]) -> str | None:
    return describe_difference(arms) if len(arms) == 2 else None


def scan_blocks(arms: Mapping[str, ArmScan]) -> list[Block]:
    """The findings by rule and arm, and how the arms differ; nothing where nothing was found."""
    rules = sorted(
        {rule for arm in arms.values() for rule in arm.rules},
        key=lambda rule: (("high", "medium", "low").index(rule.severity.value), rule.rule),
    )
    if not rules:
        return []
    counted = ("runs with a suspicious finding", *(f"{arm.suspicious} of {arm.scanned}" for arm in arms.values()))
    rows = [
        (f"{rule.title} ({rule.severity.value})", *(str(arm.rules.get(rule, 0)) for arm in arms.values()))
        for rule in rules
    ]
    difference = _difference(arms)
    return [
        Table(title="Signs of cheating, by runs", columns=("", *arms), rows=(counted, *rows)),
        *([] if difference is None else [BulletList(title="Findings differ", items=(difference,), tone=Tone.UNSURE)]),
    ]


def finding_details(arms: Mapping[str, ArmScan]) -> list[Block]:
    """Every finding with its place, folded; nothing where there is none."""
    found = finding_tables(arms)
    title = "Where the signs of cheating are"
    fallback = "`outweigh store scan RUNS` lists every finding with its place."
    return [Details(title=title, fallback=fallback, blocks=(*found,), long=True)] if found else []


def finding_tables(arms: Mapping[str, ArmScan]) -> list[Block]:
    """Every finding with its place; nothing where there is none."""
    rows = [
        (
            scan.run_id,
            finding.severity.value,
            finding.title,
            escape_controls(finding.place) + (f", {finding.times} times" if finding.times > 1 else ""),
            escape_controls(finding.excerpt),
        )
        for arm in arms.values()
        for scan in arm.findings
        for finding in scan.findings
    ]
    if not rows:
        return []
    some = f", the first {MOST_RUN_FINDINGS} of {len(rows)}" if len(rows) > MOST_RUN_FINDINGS else ""
    columns = ("run", "severity", "finding", "first place", "text")
    return [Table(title=f"Findings{some}", columns=columns, rows=tuple(rows[:MOST_RUN_FINDINGS]))]


def _notes(arms: Mapping[str, ArmScan]) -> Iterator[str]:
    if any(arm.flagged for arm in arms.values()):
        yield READING
    for name, arm in arms.items():
        if missing := arm.runs - arm.scanned:
            yield f"{missing} of {arm.runs} runs of {name} kept neither transcript nor diff, or they cannot be read."
        if arm.unfinished:
            yield f"{arm.unfinished} runs of {name} have more material than is scanned; look at them yourself."
