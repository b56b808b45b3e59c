r"""Which arm of some records is on which tier: as the caller says, as the suite says, or as the records say.

The caller gives the order of all arms, or an expression that finds the number of the tier in the name of an arm, such
as `T(\d+)`. Records say it where they were imported from a harness that knows tiers.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder_layout import TierPlan
from outweigh.errors import UsageError, quote_names
from outweigh.model.run_record import NamedTier
from outweigh.store.experiment_file import ExperimentFile

_SHOWN_ARMS = 10
_HIGHEST_TIER = 10_000
_EXAMPLE = r"--tiers 'T(\d+)'"


class PlannedTiers(NamedTuple):
    """The plan of a ladder, and what its reader must know about it."""

    plan: TierPlan
    notes: tuple[str, ...] = ()


def plan_tiers(
    evidence: Evidence,
    experiment: ExperimentFile | None,
    *,
    order: tuple[str, ...] | None = None,
    pattern: str | None = None,
) -> PlannedTiers:
    """The tier of every arm: by `order`, else by `pattern`, else by the suite, else by the records, else by name."""
    if order is not None and pattern is not None:
        raise UsageError("--order and --tiers both say which arm is on which tier; leave one of them out.")
    if order is not None:
        return PlannedTiers(TierPlan(order=order))
    if pattern is not None:
        found = read_tiers_of_names(pattern, evidence.arms)
        left_out = _left_out(f"arms that do not match --tiers '{pattern}' are left out", evidence.arms, found)
        return PlannedTiers(_plan(found, experiment), left_out)
    if experiment is not None and experiment.tiers:
        said = "arms to which the suite gives no tier are left out"
        return PlannedTiers(suite_tiers(experiment), _left_out(said, experiment.arms, experiment.tiers))
    stated, notes = _tiers_of_records(evidence.named_tiers)
    if stated:
        left_out = _left_out("arms whose records name no tier are left out", evidence.arms, stated)
        return PlannedTiers(_plan(stated, experiment), left_out)
    return PlannedTiers(TierPlan() if experiment is None else suite_tiers(experiment), notes)


def suite_tiers(experiment: ExperimentFile) -> TierPlan:
    """The tiers as the suite has them; where it has none, all arms are ranked by name after the baseline."""
    tiers = experiment.tiers_of_built_arms or None
    return TierPlan(tiers=tiers, names=_suite_names(experiment), baseline=experiment.baseline)


def read_tiers_of_names(pattern: str, arms: Iterable[str]) -> dict[str, NamedTier]:
    """The tier that an expression finds in the name of each arm that it matches; its first group is the number."""
    names = list(arms)
    expression = _compile(pattern)
    found = {arm: tier for arm in names if (tier := _tier_of_name(expression, arm)) is not None}
    if not found:
        raise UsageError(
            f"--tiers '{pattern}' matches no arm; the records hold {quote_names(names, _SHOWN_ARMS)}. Write an "
            f"expression with a group around the number, such as {_EXAMPLE}."
        )
    return found


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        expression = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as fault:
        raise UsageError(
            f"--tiers '{pattern}' is not a regular expression: {fault}. Write one with a group around the number, "
            f"such as {_EXAMPLE}."
        ) from None
    if not expression.groups:
        raise UsageError(
            f"--tiers '{pattern}' has no group, so it does not say where the number is; put it in parentheses, as in "
            f"{_EXAMPLE}."
        )
    return expression


def _tier_of_name(expression: re.Pattern[str], arm: str) -> NamedTier | None:
    matches = list(expression.finditer(arm))
    if not matches:
        return None
    groups = dict.fromkeys(match[1] for match in matches)
    for text in groups:
        if text is None or re.fullmatch(r"[0-9]{1,5}", text) is None or int(text) > _HIGHEST_TIER:
            raise UsageError(
                f"--tiers finds {text or ''!r} in arm {arm!r}, which is not the number of a tier (0 to "
                f"{_HIGHEST_TIER:,}); put the group around the number, as in {_EXAMPLE}."
            )
    numbers = sorted({int(text) for text in groups if text is not None})
    if len(numbers) > 1:
        raise UsageError(
            f"--tiers finds two numbers in arm {arm!r}, {numbers[0]} and {numbers[1]}; write an expression that "
            r"matches only one of them, such as '/T(\d+)/'."
        )
    return numbers[0], matches[0][0]


def _tiers_of_records(named: Mapping[str, frozenset[NamedTier]]) -> tuple[dict[str, NamedTier], tuple[str, ...]]:
    """The tier that each arm's records name; none, and the reason, where the records of an arm name two."""
    found: dict[str, NamedTier] = {}
    for arm, tiers in named.items():
        numbers = sorted({number for number, _ in tiers})
        if len(numbers) > 1:
            said = (
                f"the records of arm {arm!r} put it on tier {numbers[0]} and on tier {numbers[1]}, so the tiers that "
                f"records name are not used; say which arm is on which with {_EXAMPLE} or with --order."
            )
            return {}, (said,)
        names = {name for _, name in tiers}
        found[arm] = numbers[0], names.pop() if len(names) == 1 else None
    return found, ()


def _plan(found: Mapping[str, NamedTier], experiment: ExperimentFile | None) -> TierPlan:
    """Tiers are called as the suite calls them, else by the text that all their arms have in common."""
    texts: dict[int, set[str | None]] = {}
    for number, text in found.values():
        texts.setdefault(number, set()).add(text)
    names = {number: str(next(iter(said))) for number, said in texts.items() if len(said) == 1 and None not in said}
    return TierPlan(
        tiers={arm: number for arm, (number, _) in found.items()},
        names={**names, **({} if experiment is None else _suite_names(experiment))},
        baseline=None if experiment is None else experiment.baseline,
    )


def _suite_names(experiment: ExperimentFile) -> dict[int, str]:
    return {int(number): tier.name for number, tier in experiment.tier_settings.items() if tier.name is not None}


def _left_out(said: str, arms: Iterable[str], found: Mapping[str, object]) -> tuple[str, ...]:
    others = [name for name in arms if name not in found]
    return (f"{said}: {quote_names(others, _SHOWN_ARMS)}.",) if others else ()
