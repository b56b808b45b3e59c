"""Choose the arms to compare: those that the user names, else what the suite or the names of the arms say.

Which arm is the baseline is never taken from the order of arms: where nothing says it, the error shows the commands to
choose from.
"""

import re
from collections.abc import Sequence
from shlex import join
from typing import NamedTuple

from msgspec import Struct

from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, quote_names
from outweigh.report.formatting import option_words
from outweigh.store.store_set import StoreSet

SHOWN_ARMS = 20
_BASELINE_NAMES = frozenset({"baseline", "base", "control", "none", "reference", "without"})
_EARLIER_AND_LATER = frozenset({("before", "after"), ("old", "new")})
_WITHOUT = frozenset({"without", "no"})


class ArmChoice(Struct, frozen=True, kw_only=True):
    """Which arms to compare, and how a composite weighs its parts. What is not named comes from the suite.

    `command` is the command line, for errors that show how to name the arms; None where there is none.
    """

    baseline: str | None = None
    candidates: tuple[str, ...] = ()
    profile: str | None = None
    command: str | None = None


SUITE_ARMS = ArmChoice()
"""The arms and the profile of the suite that was run."""


class ChosenArms(NamedTuple):
    """The baseline and its candidates; `note` says how the baseline was found where neither user nor suite named it."""

    baseline: str
    candidates: tuple[str, ...]
    note: str | None = None


def choose_arms(stores: StoreSet, choice: ArmChoice, evidence: Evidence, *, several: bool) -> ChosenArms:
    """Baseline and candidates.

    With `several`, all other arms are candidates where none is named. An arm that the suite has and the records do not
    is among them: leaving it out would have to be asked for. Earlier versions of arms are candidates only by name.
    """
    experiment = stores.experiment
    arms = tuple(dict.fromkeys((*(experiment.arms if experiment else ()), *evidence.arms)))
    if len(set(choice.candidates)) < len(choice.candidates):
        raise UsageError("--candidate names an arm twice.")
    if len(arms) == 1 and not choice.candidates:
        raise UsageError(f"the records hold one arm, {arms[0]!r}, so there is nothing to compare it with.")
    baseline = experiment.baseline if choice.baseline is None and experiment is not None else choice.baseline
    note = None
    if baseline is None:
        for candidate in choice.candidates:
            evidence.arm(candidate)  # refuses a name that is none
        baseline = guess_baseline(arms, choice.candidates)
        if baseline is None:
            raise UsageError(_ask_for_baseline(choice, arms, several=several))
        note = f"{baseline!r} is the baseline, by its name" if not choice.candidates else None
    if choice.candidates:
        return ChosenArms(baseline, choice.candidates, note)
    earlier = () if experiment is None else experiment.earlier_candidates
    others = tuple(name for name in arms if name != baseline and name not in earlier)
    if baseline in arms and len(others) > 1 and not several:
        raise UsageError(_ask_for_candidate(choice, baseline, others))
    return ChosenArms(baseline, others, note)


def guess_baseline(arms: Sequence[str], candidates: Sequence[str]) -> str | None:
    """The only arm beside the candidates, else the only one whose name says that it is the baseline."""
    others = [arm for arm in arms if arm not in candidates]
    if candidates and len(others) == 1:
        return others[0]
    named = [arm for arm in others if _words(arm) in {(name,) for name in _BASELINE_NAMES}]
    if len(others) == len(arms) == 2:
        named += [one for one, other in (arms, arms[::-1]) if _is_earlier(_words(one), _words(other))]
    return named[0] if len(set(named)) == 1 else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z0-9]+", name.lower()))


def _is_earlier(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two names say that one is the other without something, or before something."""
    if len(one) == len(other) == 1:
        return (one[0], other[0]) in _EARLIER_AND_LATER
    return one[:1] != () and one[0] in _WITHOUT and other in (one[1:], ("with", *one[1:]))


def _ask_for_baseline(choice: ArmChoice, arms: Sequence[str], *, several: bool) -> str:
    said = f"nothing says which arm is the baseline; the records hold {quote_names(arms, SHOWN_ARMS)}."
    if choice.command is None:
        return f"{said} Name it as baseline=ARM."
    if len(arms) == 2:
        options = [{"baseline": one, "candidate": other} for one, other in (arms, arms[::-1])]
    elif several or choice.candidates:
        options = [{"baseline": arm} for arm in arms[:SHOWN_ARMS] if arm not in choice.candidates]
    else:
        options = [{"baseline": arms[0], "candidate": arms[1]}]
    last = "with the arms that you mean:" if len(options) == 1 else "one of:"
    lines = (_command(choice.command, each) for each in options)
    return "\n".join([f"{said} Run {last}", *lines])


def _ask_for_candidate(choice: ArmChoice, baseline: str, others: Sequence[str]) -> str:
    said = f"name the arm to compare {baseline!r} with, using --candidate: {quote_names(others, SHOWN_ARMS)}."
    if choice.command is None:
        return said
    return "\n".join([said, *(_command(choice.command, {"candidate": arm}) for arm in others[:SHOWN_ARMS])])


def _command(command: str, arms: dict[str, str]) -> str:
    return f"  {command} {join(word for role, arm in arms.items() for word in option_words(f'--{role}', arm))}"
