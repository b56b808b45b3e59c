"""Where in its conversation a request stands, from the history that it carries."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OWN_ID = re.compile(r"_ow(\d+)x(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a history: said by the model, with the ids of the calls it made, or by anybody else."""

    by_model: bool
    call_ids: tuple[str, ...] = ()


HEARD = Entry(by_model=False)


def turn_id(stem: str, step: int, index: int) -> str:
    """An id that says which turn it comes from; each protocol puts its own prefix before it."""
    return f"{stem}_ow{step}x{index}"


def step_after(history: Iterable[Entry]) -> int:
    """How many turns the model has had.

    Neighbouring entries of the model are one turn: protocols differ in how they cut an answer up. A call that this
    server made knows its turn, which stays right where an agent has dropped or reordered the past.
    """
    step, within_turn = 0, False
    for entry in history:
        made = [int(found[1]) + 1 for call in entry.call_ids if (found := _OWN_ID.search(call))]
        if made:
            step = max(made)
        elif entry.by_model and not within_turn:
            step += 1
        within_turn = entry.by_model
    return step
