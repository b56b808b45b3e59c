"""The findings of the scan for cheats, counted by arm, and the difference between two arms in words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from outweigh.model.scan_result import CheatFinding, RunKey, RunScan, Severity

DIFFERENCE_LEVEL = 0.05
"""Arms are said to differ where an exact test finds chance less likely than this."""


class FoundRule(NamedTuple):
    """A rule that found something."""

    rule: str
    title: str
    severity: Severity


class ArmScan(Struct, frozen=True, kw_only=True):
    """An arm's runs: how many there are, how many were scanned, and in how many something was found.

    `suspicious` runs have a finding of severity medium or high. `unfinished` runs had more material than is scanned.
    `rules` counts runs by what was found in them; `findings` are the scans that found anything.
    """

    runs: int
    scanned: int
    flagged: int
    suspicious: int
    unfinished: int
    rules: Mapping[FoundRule, int]
    findings: tuple[RunScan, ...]


def summarise_scans(runs: Iterable[RunKey], scans: Mapping[RunKey, RunScan]) -> ArmScan:
    """Count the findings of these runs."""
    keys = list(runs)
    scanned = [scans[key] for key in keys if key in scans]
    rules = Counter(
        FoundRule(finding.rule, finding.title, finding.severity) for scan in scanned for finding in scan.findings
    )
    return ArmScan(
        runs=len(keys),
        scanned=len(scanned),
        flagged=sum(bool(scan.findings) for scan in scanned),
        suspicious=sum(scan.is_suspicious for scan in scanned),
        unfinished=sum(not scan.complete for scan in scanned),
        rules=dict(sorted(rules.items(), key=lambda item: (-_RANK[item[0].severity], -item[1], item[0].rule))),
        findings=tuple(scan for scan in scanned if scan.findings),
    )


_RANK = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2}


def describe_difference(arms: Mapping[str, ArmScan]) -> str | None:
    """How the first two arms differ in suspicious runs, in plain words; None where they do not, or nobody knows."""
    from outweigh.stats.hypothesis_tests import fisher_exact_p  # noqa: PLC0415 - numpy, only where arms are compared

    (baseline, before), (candidate, after) = list(arms.items())[:2]
    if not (before.scanned and after.scanned):
        return None
    if fisher_exact_p(before.suspicious, before.scanned, after.suspicious, after.scanned) >= DIFFERENCE_LEVEL:
        return None
    more = after.suspicious / after.scanned > before.suspicious / before.scanned
    first, second = (candidate, baseline) if more else (baseline, candidate)
    return (
        f"suspicious findings are more frequent in runs of {first} ({_share(arms[first])}) than in those of {second} "
        f"({_share(arms[second])}): look at these runs before you trust the difference between the arms."
    )


def describe_findings(arms: Mapping[str, ArmScan]) -> str | None:
    """What was found in each arm, in one sentence; None where nothing was."""
    if not any(arm.flagged for arm in arms.values()):
        return None
    parts = [
        f"{name} {arm.suspicious} of {arm.scanned} runs suspicious, {arm.flagged} with any finding{_commonest(arm)}"
        for name, arm in arms.items()
    ]
    return "; ".join(parts)


def describe_finding(finding: CheatFinding) -> str:
    """One finding of one run in a line."""
    times = f", {finding.times} times" if finding.times > 1 else ""
    return f"{finding.title} ({finding.severity.value}), {finding.place}{times}: {finding.excerpt}"


def _commonest(arm: ArmScan) -> str:
    if not arm.rules:
        return ""
    rule, runs = next(iter(arm.rules.items()))
    return f" ({rule.title}: {runs})"


def _share(arm: ArmScan) -> str:
    return f"{arm.suspicious} of {arm.scanned}"
