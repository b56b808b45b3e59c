"""Failures that nobody signed: who did not answer did not say its version, and is no other judge for that."""

from collections.abc import Mapping

from outweigh.record.voice import Voice


def homes(has_answered: Mapping[Voice, bool]) -> dict[Voice, Voice]:
    """For every voice that never gave a usable answer, the only voice whose silence it can be, if there is just one."""
    found = {}
    for silent in (voice for voice, answered in has_answered.items() if not answered):
        kin = [voice for voice, answered in has_answered.items() if answered and may_be(silent, voice)]
        if len(kin) == 1:
            found[silent] = kin[0]
    return found


def may_be(silent: Voice, other: Voice) -> bool:
    """Whether two voices differ in nothing but what the silent one did not say."""
    same = silent.name == other.name and silent.prompt_sha256 == other.prompt_sha256
    return same and silent.model in (None, other.model) and silent.version in (None, other.version)
