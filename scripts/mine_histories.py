"""Mines whole histories of real projects, and compares what is proven and kept with the least that is expected.

    python -m scripts.mine_histories build/histories [NAME …]

The three public histories are bundles in `../shared/data/git_histories`; `outweigh` is this repository's own. It takes
hours, needs the registries, and can be interrupted and started again.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from outweigh.app.mine_suite import MinedSuite, MineRequest, mine_suite
from outweigh.cli.init_from_git import describe_mining

ROOT = Path(__file__).resolve().parents[1]
BUNDLES = ROOT.parent / "shared" / "data" / "git_histories"
ALL = 10_000


class Least(NamedTuple):
    """How many candidates must be proven, and how many of them kept."""

    proven: int
    kept: int


EXPECTED = {
    "stamina": Least(24, 16),
    "prettytable": Least(45, 25),
    "commander.js": Least(80, 45),
    "outweigh": Least(120, 100),
}


def main(arguments: Sequence[str]) -> int:
    """Mine the named histories, or all of them; 1 where one has less than is expected."""
    target, *names = arguments
    poor = [name for name in names or EXPECTED if not _mine(name, Path(target))]
    print(f"Less than expected: {', '.join(poor) or 'none'}")
    return 1 if poor else 0


def _mine(name: str, target: Path) -> bool:
    mined = mine_suite(MineRequest(repository=_repository(name, target), folder=target / name, tasks=ALL))
    print(f"\n{name}: expected at least {EXPECTED[name].proven} proven and {EXPECTED[name].kept} kept")
    for line in describe_mining(mined):
        print(line)
    return _is_enough(mined, EXPECTED[name])


def _is_enough(mined: MinedSuite, least: Least) -> bool:
    return mined.proven >= least.proven and mined.kept >= least.kept


def _repository(name: str, target: Path) -> Path:
    """A clone of the bundle, or this repository."""
    if name == "outweigh":
        return ROOT
    clone = target / "clones" / name
    if not clone.exists():
        clone.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", str(BUNDLES / f"{name}.bundle"), str(clone)], check=True)
    return clone


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
