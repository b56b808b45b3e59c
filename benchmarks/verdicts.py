"""The command that several benchmarks measure."""

from pathlib import Path

from benchmarks.measure import OUTWEIGH, Command
from benchmarks.synthetic import BASELINE, CANDIDATE


def verdict_command(file: Path, policy: str) -> Command:
    """`outweigh verdict` over a file of synthetic records."""
    return (*OUTWEIGH, "verdict", str(file), "--policy", policy, "--baseline", BASELINE, "--candidate", CANDIDATE)
