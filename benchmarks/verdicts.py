"""The command that several benchmarks measure."""

from pathlib import Path

from benchmarks.measure import OUTWEIGH, Command
from benchmarks.synthetic import BASELINE, CANDIDATE

DEFAULT_POLICY = "evidence"
"""What `outweigh verdict` decides by unless it is told otherwise."""


def verdict_command(file: Path, policy: str = DEFAULT_POLICY) -> Command:
    """`outweigh verdict` over a file of synthetic records, of which one in a hundred was lost to infrastructure."""
    return (*OUTWEIGH, "verdict", str(file), "--policy", policy, "--baseline", BASELINE, "--candidate", CANDIDATE)
