"""A JSON text that parses and is wrong all the same: something is missing, doubled, moved or of another kind."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

_MARK = "@outweigh-raw@"
_QUOTED = f'"{_MARK}"'

WRONG_FIGURES = ("null", "-1", "-0.5", "NaN", "Infinity", "1e400", '"x"', "[]", "{}", "true", "9" * 30, "1e16")
"""In the place of a number, and none that anybody could have counted; the last is more than a record holds."""

WRONG_VALUES = (
    *WRONG_FIGURES,
    '""',
    "0",
    "false",
    '"\\ud800"',
    '"\\u0000"',
    '"../../etc/passwd"',
    json.dumps("x" * 3000),
    json.dumps("\u202e\u0301" * 20),
    "[" * 300 + "]" * 300,
    '{"a":' * 300 + "1" + "}" * 300,
    "[null,null]",
    '[{"id":1},{"id":1}]',
)


class Slot(NamedTuple):
    """A place in a tree: what holds the value, and under which key."""

    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        """What stands there."""
        return self.holder[self.key]


def broken_json(content: bytes, chance: Random) -> bytes | None:
    """The text with one thing wrong; None where it is no JSON with anything in it."""
    tree = _tree(content)
    slot = None if tree is None else _somewhere(tree, chance)
    if slot is None:
        return None
    match chance.randrange(7):
        case 0:
            del slot.holder[slot.key]
        case 1 | 2:
            return _with_raw(tree, slot, chance.choice(WRONG_VALUES))
        case 3 if isinstance(slot.holder, dict):
            return _with_key_twice(tree, slot, chance.choice(WRONG_VALUES))
        case 4:
            other = _somewhere(tree, chance)
            if other is not None:
                slot.holder[slot.key] = json.loads(json.dumps(other.value))
        case 5:
            slot.holder[slot.key] = [slot.value, slot.value]
        case _ if isinstance(slot.holder, list):
            slot.holder.insert(slot.key, json.loads(json.dumps(slot.value)))
        case _:
            slot.holder[f"{slot.key} "] = slot.holder.pop(slot.key)
    return _written(tree)


def without_a_figure(content: bytes, chance: Random) -> bytes | None:
    """The text in which a single number is gone, or is none any more; None where it has no number."""
    return _without(content, chance, _is_number, WRONG_FIGURES)


def without_a_value(content: bytes, chance: Random) -> bytes | None:
    """The text in which anything that an object says is gone, or null; None where it says nothing."""
    return _without(content, chance, lambda value: not isinstance(value, dict | list), ("null",))


def _without(
    content: bytes, chance: Random, is_meant: Callable[[object], bool], instead: Sequence[str]
) -> bytes | None:
    tree = _tree(content)
    slots = [] if tree is None else [slot for slot in _slots(tree) if is_meant(slot.value)]
    if not slots:
        return None
    slot = chance.choice(slots)
    if isinstance(slot.holder, dict) and chance.random() < 0.5:
        del slot.holder[slot.key]
        return _written(tree)
    return _with_raw(tree, slot, chance.choice(instead))


def _tree(content: bytes) -> Any:
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) and found else None


def _written(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _with_raw(tree: Any, slot: Slot, raw: str) -> bytes:
    slot.holder[slot.key] = _MARK
    return _written(tree).replace(_QUOTED.encode(), raw.encode())


def _with_key_twice(tree: Any, slot: Slot, raw: str) -> bytes:
    key, value = json.dumps(slot.key, ensure_ascii=False), json.dumps(slot.value, ensure_ascii=False)
    return _with_raw(tree, slot, f"{value},{key}:{raw}")


def _somewhere(tree: Any, chance: Random) -> Slot | None:
    """A slot on a random way down; most are deep, where the figures are."""
    slot, node = None, tree
    while isinstance(node, dict | list) and node and (slot is None or chance.random() < 0.85):
        key = chance.choice(list(node)) if isinstance(node, dict) else chance.randrange(len(node))
        slot, node = Slot(node, key), node[key]
    return slot


def _slots(node: Any) -> Iterator[Slot]:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield Slot(node, key)
        if isinstance(node[key], dict | list):
            yield from _slots(node[key])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
