"""`python -m benchmarks [GROUP …] [--full]`: measure, and print one table."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import (
    agents,
    appends,
    attacks,
    cheats,
    dask_runs,
    datasets,
    engine,
    forged_checks,
    gateway,
    imports,
    ingest,
    intervals,
    ladders,
    lead,
    looks,
    mining,
    neighbours,
    plugin_evals,
    record_costs,
    report_page,
    sandboxes,
    scale,
    startup,
    tables,
    viewer,
)
from benchmarks.measure import keep_bytecode
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.table import render

GROUPS: Mapping[str, Callable[[Setting], list[Ratio]]] = {
    "startup": startup.measure,
    "ingest": ingest.measure,
    "imports": imports.measure,
    "tables": tables.measure,
    "scale": scale.measure,
    "records": record_costs.measure,
    "datasets": datasets.measure,
    "intervals": intervals.measure,
    "appends": appends.measure,
    "engine": engine.measure,
    "dask": dask_runs.measure,
    "looks": looks.measure,
    "lead": lead.measure,
    "sandboxes": sandboxes.measure,
    "mining": mining.measure,
    "gateway": gateway.measure,
    "neighbours": neighbours.measure,
    "agents": agents.measure,
    "attacks": attacks.measure,
    "cheats": cheats.measure,
    "forged-checks": forged_checks.measure,
    "viewer": viewer.measure,
    "report": report_page.measure,
    "ladders": ladders.measure,
    "plugin-evals": plugin_evals.measure,
}
"""A new group is one more line here."""


def main() -> None:
    """Run the groups asked for. A missed target is printed, not an error: a ratio of times is no proof of a fault."""
    options = _options()
    ratios: list[Ratio] = []
    with TemporaryDirectory() as place:
        folder = Path(place)
        keep_bytecode(folder / "bytecode")
        for name in options.groups or GROUPS:
            print(f"measuring {name} …", file=sys.stderr)
            ratios += GROUPS[name](Setting(folder=folder, full=options.full))
    print(render(ratios))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast outweigh is, as ratios.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of {', '.join(GROUPS)} (default: all)")
    parser.add_argument(
        "--full", action="store_true", help="also a million records: another minute, 2 GB of memory and 1.3 GB of disk"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.groups if name not in GROUPS]:
        parser.error(f"there is no group {unknown[0]!r}; there is {', '.join(GROUPS)}")
    return options


if __name__ == "__main__":
    main()
