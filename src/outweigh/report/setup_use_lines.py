"""Whether a change was used, in words and as a table by task."""

from collections.abc import Sequence

from outweigh.compare.setup_use import ItemUse, Runs
from outweigh.report.document import Block, Table
from outweigh.report.formatting import shorten_name
from outweigh.report.json_output import Payload

NOT_KNOWN = "not known"


def describe_use(item: ItemUse) -> str:
    """`house-style: loaded in 58 of 60 runs, invoked in 12`; what no transcript tells is not known."""
    runs = sum(item.runs.values())
    loaded, invoked = _count("loaded", item.loaded, item.loaded_known, runs), _invoked(item, runs)
    return f"{shorten_name(item.name)}: {loaded}, {invoked}"


def _count(verb: str, seen: Runs, known: Runs, runs: int) -> str:
    number, tell = sum(seen.values()), sum(known.values())
    if not tell:
        return f"{verb}: {NOT_KNOWN}"
    apart = "" if tell == runs else f" ({NOT_KNOWN} for {runs - tell})"
    return f"{verb} in {number} of {tell} runs{apart}"


def _invoked(item: ItemUse, runs: int) -> str:
    """The number of runs is said again only where it is another."""
    if item.used_known and sum(item.used_known.values()) == sum(item.loaded_known.values()) == runs:
        return f"invoked in {sum(item.used.values())}"
    return _count("invoked", item.used, item.used_known, runs)


def use_blocks(items: Sequence[ItemUse]) -> list[Block]:
    """One table for every skill and server that the candidate changes, by task."""
    return [_use_table(item) for item in items]


def _use_table(item: ItemUse) -> Table:
    rows = tuple(
        (
            task,
            str(runs),
            _of(item.loaded.get(task, 0), item.loaded_known.get(task, 0)),
            _of(item.used.get(task, 0), item.used_known.get(task, 0)),
        )
        for task, runs in sorted(item.runs.items())
    )
    title = f"Was the {item.kind} {item.name} used?"
    return Table(title=title, columns=("", "runs", "loaded in", "invoked in"), rows=rows)


def _of(number: int, known: int) -> str:
    return f"{number} of {known}" if known else NOT_KNOWN


def use_payload(items: Sequence[ItemUse]) -> list[Payload]:
    """`use` of the JSON of a verdict: null where no run can tell."""
    return [
        {
            "kind": item.kind,
            "name": item.name,
            "runs": sum(item.runs.values()),
            "loaded": sum(item.loaded.values()) if item.loaded_known else None,
            "loaded_known": sum(item.loaded_known.values()),
            "invoked": sum(item.used.values()) if item.used_known else None,
            "invoked_known": sum(item.used_known.values()),
            "hardly_used": item.hardly_used,
        }
        for item in items
    ]
