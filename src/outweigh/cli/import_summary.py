"""What an import says: what came, what did not, what is unknown, and the next command."""

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from outweigh.adapters.stores.import_manifest import Import
from outweigh.adapters.stores.import_tally import Tally
from outweigh.cli.plain_words import say
from outweigh.ports.importers import FieldOrigin

SHOWN_LINES = 10
SHOWN_WARNINGS = 30
_FIGURES = ("checks", "duration_seconds", "usage", "cost", "step_count", "tool_call_count", "task_checksum")


def say_known(known: Import, path: Path, target: Path) -> None:
    """The same source was imported before."""
    say(f"{path}: imported into {target} before, unchanged since; nothing to add ({count_of(known.runs, 'run')}).")


def say_what_came(imported: Import, tally: Tally, path: Path, target: Path) -> None:
    """The counts on stdout, what to be careful about on stderr."""
    came = [count_of(imported.runs, "run")]
    if imported.runs:
        came.append(f"of {count_of(len(tally.arms), 'arm')} on {count_of(len(tally.tasks), 'task')}")
    if imported.judgments:
        came.append(f"and {count_of(imported.judgments, 'judgment')}")
    say(f"{path}: {' '.join(came)} read as {imported.format}, into {target}.")
    for arm, runs in list(tally.arms.items())[:SHOWN_LINES]:
        say(f"  {arm}: {count_of(runs, 'run')}")
    if imported.known_before:
        were = "was" if imported.known_before == 1 else "were"
        say(f"  {count_of(imported.known_before, 'record')} {were} there already, the same: before, or in a copy.")
    for name, value in list(imported.facts.items())[:SHOWN_LINES]:
        say(f"  the source says {name}: {_said(value)}")
    if imported.aggregates:
        kept = count_of(len(imported.aggregates), "aggregate")
        say(f"  {kept} kept in imports.json: what stands for many runs is none itself.")
    _say_unknown(imported)
    for warning in imported.warnings[:SHOWN_WARNINGS]:
        say(f"outweigh: {warning}", to=sys.stderr)
    if (more := len(imported.warnings) - SHOWN_WARNINGS) > 0:
        say(f"outweigh: imports.json has {count_of(more, 'more warning')}.", to=sys.stderr)
    if imported.aggregates and not (imported.runs or imported.known_before):
        say(
            f"outweigh: there is no run in {path}, so there is nothing to compare; import the runs behind its figures.",
            to=sys.stderr,
        )
    if imported.unreadable:
        say(
            f"outweigh: {count_of(len(imported.unreadable), 'row')} could not be read; imports.json has the places and "
            "reasons, and nothing is promoted on what is left.",
            to=sys.stderr,
        )


def say_next(arms: Sequence[str], target: Path) -> None:
    """The command that goes on with all that is in the folder now, ready to be typed."""
    folder = quote(str(target))
    if len(arms) == 1:
        say(f"Next: import what {arms[0]!r} is to be compared with: outweigh import PATH -o {folder}")
    elif arms:
        verb, others = (
            ("verdict", "the reverse") if len(arms) == 2 else ("compare", f"any other two of {len(arms)} arms")
        )
        say(f"Next: outweigh {verb} {folder} --baseline {quote(arms[0])} --candidate {quote(arms[1])} (or {others})")


def _said(value: object) -> object:
    """A figure of the source, without the dust of binary fractions."""
    return float(f"{value:.6g}") if isinstance(value, float) and 1e-4 < abs(value) < 1e6 else value


def _say_unknown(imported: Import) -> None:
    unknown = [name for name in _FIGURES if imported.fields.get(name, FieldOrigin.UNKNOWN) == FieldOrigin.UNKNOWN]
    if imported.runs and unknown:
        say(f"  unknown in all of them: {', '.join(unknown)}.")


def count_of(number: int, noun: str) -> str:
    """A number of things, with their noun in the right form."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
