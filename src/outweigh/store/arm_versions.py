"""Versions of arms in one store: a changed arm is a new arm beside the old one, `with-skill@2` beside `with-skill`."""

from collections.abc import Mapping

import msgspec

from outweigh.model.base import Moment, Ordinal

VERSION_SIGN = "@"


class ArmVersion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An arm of a store that was not in its first run: which arm of the suite it is, in which version, since when.

    With `fresh_baseline` the baseline was run again beside it; otherwise the baseline's earlier runs are compared with
    it, as far as they are not too old.
    """

    arm: str
    number: Ordinal
    begun_at: Moment
    fresh_baseline: bool = False


def suite_arm(name: str, versions: Mapping[str, ArmVersion]) -> str:
    """The arm of the suite that an arm of the store is a version of."""
    return versions[name].arm if name in versions else name


def versions_of(arm: str, known: Mapping[str, str], versions: Mapping[str, ArmVersion]) -> list[str]:
    """The arms of a store that are versions of an arm of the suite, the first one first."""
    return [name for name in known if suite_arm(name, versions) == arm]


def name_versions(
    now: Mapping[str, str], known: Mapping[str, str], versions: Mapping[str, ArmVersion]
) -> dict[str, str]:
    """What the store calls every arm of the suite: the version with the same fingerprint, or a new name.

    `now` and `known` are the fingerprints of the suite's and of the store's arms.
    """
    return {arm: _find_or_name(arm, fingerprint, now, known, versions) for arm, fingerprint in now.items()}


def _find_or_name(
    arm: str,
    fingerprint: str,
    now: Mapping[str, str],
    known: Mapping[str, str],
    versions: Mapping[str, ArmVersion],
) -> str:
    own = versions_of(arm, known, versions)
    for name in own:
        if known[name] == fingerprint:
            return name
    if not own and arm not in known:
        return arm
    number = len(own) + 1
    while (name := f"{arm}{VERSION_SIGN}{number}") in known or name in now:
        number += 1
    return name
