"""What an import says: what came, what did not, what is unknown, and the next command."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from outweigh.adapters.stores.import_manifest import Import
from outweigh.adapters.stores.import_tally import Tally
from outweigh.ports import FieldOrigin

SHOWN_LINES = 10
SHOWN_WARNINGS = 30
_FIGURES = ("checks", "duration_seconds", "usage", "cost", "step_count", "tool_call_count", "task_checksum")


def say_known(known: Import, path: Path, target: Path) -> None:
    """The same source was imported before."""
    print(f"{path}: imported into {target} before, unchanged since; nothing to add ({_count(known.runs, 'run')}).")


def say_what_came(imported: Import, tally: Tally, path: Path, target: Path) -> None:
    """The counts on stdout, what to be careful about on stderr."""
    came = [_count(imported.runs, "run")]
    if imported.runs:
        came.append(f"of {_count(len(tally.arms), 'arm')} on {_count(len(tally.tasks), 'task')}")
    if imported.judgments:
        came.append(f"and {_count(imported.judgments, 'judgment')}")
    print(f"{path}: {' '.join(came)} read as {imported.format}, into {target}.")
    for arm, runs in list(tally.arms.items())[:SHOWN_LINES]:
        print(f"  {arm}: {_count(runs, 'run')}")
    if imported.known_before:
        were = "was" if imported.known_before == 1 else "were"
        print(f"  {_count(imported.known_before, 'record')} {were} there already, the same: before, or in a copy.")
    for name, value in list(imported.facts.items())[:SHOWN_LINES]:
        print(f"  the source says {name}: {_said(value)}")
    if imported.aggregates:
        kept = _count(len(imported.aggregates), "aggregate")
        print(f"  {kept} kept in imports.json: what stands for many runs is none itself.")
    _say_unknown(imported)
    for warning in imported.warnings[:SHOWN_WARNINGS]:
        print(f"outweigh: {warning}", file=sys.stderr)
    if (more := len(imported.warnings) - SHOWN_WARNINGS) > 0:
        print(f"outweigh: imports.json has {_count(more, 'more warning')}.", file=sys.stderr)
    if imported.unreadable:
        print(
            f"outweigh: {_count(len(imported.unreadable), 'row')} could not be read; imports.json has the places and "
            "reasons, and nothing is promoted on what is left.",
            file=sys.stderr,
        )


def say_next(arms: Sequence[str], target: Path) -> None:
    """The command that goes on with all that is in the folder now, ready to be typed."""
    folder = quote(str(target))
    if len(arms) == 1:
        print(f"Next: import what {arms[0]!r} is to be compared with: outweigh import PATH -o {folder}")
    elif arms:
        verb, others = (
            ("verdict", "the reverse") if len(arms) == 2 else ("compare", f"any other two of {len(arms)} arms")
        )
        print(f"Next: outweigh {verb} {folder} --baseline {quote(arms[0])} --candidate {quote(arms[1])} (or {others})")


def _said(value: object) -> object:
    """A figure of the source, without the dust of binary fractions."""
    return float(f"{value:.6g}") if isinstance(value, float) and 1e-4 < abs(value) < 1e6 else value


def _say_unknown(imported: Import) -> None:
    unknown = [name for name in _FIGURES if imported.fields.get(name, FieldOrigin.UNKNOWN) == FieldOrigin.UNKNOWN]
    if imported.runs and unknown:
        print(f"  unknown in all of them: {', '.join(unknown)}.")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
