"""How two arms differ in ways that no file carries."""

import msgspec

from outweigh.task.arm import ArmIdentity

_CARRIED = ("overlay", "skills")
"""Files, and the names that follow from them."""


def beyond_files(before: ArmIdentity, after: ArmIdentity) -> tuple[str, ...]:
    """The keys of a suite in which the arms differ, but for the files that they lay."""
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return tuple(key for key in old if key not in _CARRIED and old[key] != new[key])
