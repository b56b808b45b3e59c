"""`outweigh report --check`: does a report still rest on the records?"""

import argparse
from pathlib import Path

from outweigh.cli.arguments import gather_evidence
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError
from outweigh.report.stamp import Stamp, read_stamp
from outweigh.report.wording import visible


def check_report(target: Path, options: argparse.Namespace) -> ExitCode:
    """Say fresh or stale, and exit 0 or 1. Only the records of the report's own arms count."""
    stamp = read_stamp(_content(target))
    if stamp is None:
        raise UsageError(f"{target} is not a report of outweigh, or not one that can be checked (.html, .md, .json).")
    changed = _change(stamp, gather_evidence(options))
    name = visible(str(target))
    if changed is None:
        print(f"fresh: {name} rests on these records")
        return ExitCode.SATISFIED
    print(f"STALE: {visible(changed)} since {name} was written. Write it again, and do not rely on it until then.")
    return ExitCode.NOT_SATISFIED


def _change(stamp: Stamp, evidence: Evidence) -> str | None:
    arms = (stamp.baseline, *stamp.candidates)
    if gone := [arm for arm in arms if arm not in evidence.arms]:
        return f"the records of {', '.join(gone)} have gone"
    if evidence.sha256(*arms) != stamp.evidence_sha256:
        return f"the records of {', '.join(arms)} have changed"
    return None


def _content(target: Path) -> str:
    try:
        return target.read_text(errors="replace")
    except OSError as fault:
        raise UsageError(f"--check {target}: {fault.strerror}.") from fault
