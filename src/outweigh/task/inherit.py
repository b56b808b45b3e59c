"""Arms that extend other arms: what is left out is inherited, tables and lists are added to."""

from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from outweigh.errors import UsageError
from outweigh.task.arm import ArmSpec

_ADDED_LISTS = ("skills", "secrets", "flags", "git_paths")
_ADDED_TABLES = ("mcp_servers", "environment", "options")


def inherit(name: str, arms: Mapping[str, ArmSpec]) -> ArmSpec:
    """The arm with everything it extends folded in; a circle is refused with its names."""
    return _fold(name, arms, ())


def _fold(name: str, arms: Mapping[str, ArmSpec], path: tuple[str, ...]) -> ArmSpec:
    if name in path:
        circle = " → ".join((*path[path.index(name) :], name))
        raise UsageError(f"arms.{path[-1]}.extends: {circle} is a circle; an arm cannot extend itself.")
    arm = arms.get(name)
    if arm is None:
        near = get_close_matches(name, arms, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"arms.{path[-1]}.extends: there is no arm {name!r}.{hint}")
    if arm.extends is None:
        return arm
    return _merge(_fold(arm.extends, arms, (*path, name)), arm)


def _merge(parent: ArmSpec, child: ArmSpec) -> ArmSpec:
    changes: dict[str, object] = {}
    for field in child.__struct_fields__:
        mine, theirs = getattr(child, field), getattr(parent, field)
        if field in _ADDED_LISTS:
            changes[field] = [*theirs, *(item for item in mine if item not in theirs)]
        elif field in _ADDED_TABLES:
            changes[field] = {**theirs, **mine}
        elif field not in ("extends", "tier", "same_as") and mine is None:
            changes[field] = theirs
    return msgspec.structs.replace(child, extends=None, **changes)
