"""Suite, task and rubric files from bytes to values, with errors that name the key and the nearest right one.

Arms that extend other arms inherit what they leave out.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import ArmSpec
from outweigh.model.base import Spec
from outweigh.model.plain_yaml import decode_yaml
from outweigh.model.rubric import Rubric, rubric_from_categories
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings

_ADDED_LISTS = ("skills", "secrets", "flags", "git_paths")
_ADDED_TABLES = ("mcp_servers", "environment", "options")


def inherit(name: str, arms: Mapping[str, ArmSpec]) -> ArmSpec:
    """The arm merged with everything that it extends; raise UsageError on a cycle."""
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


S = TypeVar("S", bound=Spec)
_CATEGORY_STYLE = ("requirements", "categories")
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<field>[^`]*)`(?: - at `\$(?P<at>[^`]*)`)?")


def parse_suite(content: bytes, source: str, *, fewest_arms: int = 2) -> SuiteSpec:
    """Read a `suite.toml` and check its arms against each other; files are not read yet."""
    suite = _convert(_toml(content, source), SuiteSpec, source)
    if suite.baseline not in suite.arms:
        raise UsageError(
            f"{source}: baseline names {suite.baseline!r}, which is not an arm.{_suggest_arm(suite.baseline, suite)}"
        )
    if len(suite.arms) < fewest_arms:
        raise UsageError(
            f"{source}: a comparison needs at least two arms; there is only {suite.baseline!r}. Add one, or compare "
            "two revisions of it with --base and --head."
        )
    for name in suite.arms:
        _check_arm(name, suite, source)
    _check_judges(suite, source)
    return suite


def parse_task_settings(table: object, source: str) -> TaskSettings:
    """Read outweigh's own table of a task file."""
    return _convert(table, TaskSettings, source)


def parse_rubric(content: bytes, source: str) -> Rubric:
    """Read a rubric file, TOML or YAML by its name, in our own style or that of requirements and categories."""
    table = _yaml(content, source) if source.endswith((".yaml", ".yml")) else _toml(content, source)
    if isinstance(table, dict) and any(key in table for key in _CATEGORY_STYLE):
        try:
            return rubric_from_categories(table)
        except ValueError as fault:
            raise UsageError(f"{source}: {fault}.") from None
    return _convert(table, Rubric, source)


def _check_judges(suite: SuiteSpec, source: str) -> None:
    names = [judge.name for judge in suite.judges]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{source}: two [[judges]] are called {name!r}; judgments are told apart by the name.")


def _check_arm(name: str, suite: SuiteSpec, source: str) -> None:
    try:
        arm = inherit(name, suite.arms)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
    if arm.agent is None:
        raise UsageError(f"{source}: arms.{name} has no agent; name one, or extend an arm that has.")
    if arm.same_as is not None and arm.same_as not in suite.arms:
        raise UsageError(
            f"{source}: arms.{name}.same_as: there is no arm {arm.same_as!r}.{_suggest_arm(arm.same_as, suite)}"
        )


def _suggest_arm(name: str, suite: SuiteSpec) -> str:
    near = get_close_matches(name, suite.arms, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" There is {', '.join(map(repr, suite.arms))}."


def _toml(content: bytes, source: str) -> Any:
    try:
        return msgspec.toml.decode(content)
    except RecursionError:
        raise UsageError(f"{source} cannot be read: it is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as fault:
        raise UsageError(f"{source} is not valid TOML: {fault}.") from None


def _yaml(content: bytes, source: str) -> Any:
    try:
        found = decode_yaml(content)
    except ValueError as fault:
        raise UsageError(f"{source} is not valid YAML: {fault}.") from None
    if found.doubtful:
        raise UsageError(
            f"{source}: {quote_names(found.doubtful)} has two values in one place; leave the one that is meant."
        )
    return found.value


def _convert(raw: object, kind: type[S], source: str) -> S:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as fault:
        raise UsageError(f"{source}: {fault}.{_nearest_key(str(fault), kind)}") from None


def _nearest_key(message: str, kind: type[Spec]) -> str:
    found = _UNKNOWN_FIELD.search(message)
    if found is None:
        return ""
    # The unknown key itself may be valid in another table; it is no suggestion.
    known = {field for spec in _all_specs(kind) for field in spec.__struct_fields__} - {found["field"]}
    near = get_close_matches(found["field"], known, n=1)
    return f" Did you mean `{near[0]}`?" if near else ""


def _all_specs(kind: type[Spec]) -> list[type[Spec]]:
    """All structures that may occur in such a file."""
    return [*Spec.__subclasses__(), kind]
