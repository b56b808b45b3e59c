"""What is known of every arm of a store: what was counted of its runs, beside what the sources state about it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from outweigh.report.arms_table import ArmFigures
from outweigh.score.arm_tally import ArmTally
from outweigh.store.records import read_imports
from outweigh.store.store import Store


def figures_of(store: Store, arms: Mapping[str, ArmTally]) -> tuple[ArmFigures, ...]:
    """The arms of a store that were counted, with the figures of the sources that were imported into it."""
    stated = _stated_figures(store)
    return tuple(
        ArmFigures(name=name, tally=tally, stated=stated.get(name, {}), simulated=tally.is_simulated)
        for name, tally in arms.items()
    )


def _stated_figures(store: Store) -> Mapping[str, Mapping[str, Any]]:
    """What the sources state by arm. A source whose runs were all there already says nothing new.

    Of an arm that is no longer what it was recorded as, the source states nothing.
    """
    found: dict[str | None, dict[str, Any]] = defaultdict(dict)
    for imported in () if store.folder is None else read_imports(store.folder):
        for recorded, figures in imported.arm_facts.items() if imported.runs else ():
            name = recorded if store.corrections is None else store.corrections.new_name(recorded)
            for kind, value in figures.items():
                before = found[name].get(kind)
                found[name][kind] = value if before is None else [*_listed(before), *_listed(value)]
    return {name: figures for name, figures in found.items() if name is not None}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
