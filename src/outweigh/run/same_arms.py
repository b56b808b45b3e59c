"""Two arms that are the same are either a mistake or a control, and a control says so."""

from collections.abc import Mapping
from itertools import combinations

from outweigh.errors import UsageError
from outweigh.task.arm import Arm, ArmSpec


def refuse_unexplained_twins(arms: Mapping[str, Arm], specs: Mapping[str, ArmSpec], source: str) -> None:
    """Arms with one fingerprint must be linked by `same_as`; arms that are so linked must have one fingerprint."""
    for name, spec in specs.items():
        if spec.same_as is not None:
            _refuse_false_claim(name, spec.same_as, arms, source)
    for one, other in combinations(arms, 2):
        twins = arms[one].fingerprint == arms[other].fingerprint
        if twins and _stands_for(one, specs) != _stands_for(other, specs):
            raise UsageError(
                f"{source}: arms {one!r} and {other!r} are the same in everything but their names, so comparing them "
                f"says nothing. If that is meant as a control, write same_as = {one!r} in arms.{other}."
            )


def _refuse_false_claim(name: str, model: str, arms: Mapping[str, Arm], source: str) -> None:
    if name == model:
        raise UsageError(f"{source}: arms.{name}.same_as names the arm itself; name another arm, or leave it out.")
    if arms[name].fingerprint != arms[model].fingerprint:
        differing = [field for field in Arm.__struct_fields__ if _differ(arms[name], arms[model], field)]
        raise UsageError(
            f"{source}: arms.{name} says it is the same as {model!r}, but they differ in {', '.join(differing)}. "
            "Make them equal, or leave same_as out."
        )


def _differ(one: Arm, other: Arm, field: str) -> bool:
    return field not in ("name", "tier") and bool(getattr(one, field) != getattr(other, field))


def _stands_for(name: str, specs: Mapping[str, ArmSpec]) -> str:
    """The arm at the end of the chain of claims; arms that name each other in a circle share one."""
    seen = [name]
    while (following := specs[seen[-1]].same_as) is not None:
        if following in seen:
            return min(seen[seen.index(following) :])
        seen.append(following)
    return seen[-1]
