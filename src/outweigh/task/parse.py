"""Suite and task files from bytes to values, with errors that name the key and the nearest right one."""

import re
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from outweigh.errors import UsageError, name_some
from outweigh.task.category_rubric import from_categories
from outweigh.task.inherit import inherit
from outweigh.task.plain_yaml import decode_yaml
from outweigh.task.rubric import Rubric
from outweigh.task.spec import Spec
from outweigh.task.suite import SuiteSpec
from outweigh.task.task import TaskSettings

S = TypeVar("S", bound=Spec)
_CATEGORY_STYLE = ("requirements", "categories")
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<field>[^`]*)`(?: - at `\$(?P<at>[^`]*)`)?")


def parse_suite(content: bytes, source: str, *, fewest_arms: int = 2) -> SuiteSpec:
    """Read a `suite.toml`; arms are checked against each other, files are not looked at yet."""
    suite = _convert(_toml(content, source), SuiteSpec, source)
    if suite.baseline not in suite.arms:
        raise UsageError(
            f"{source}: baseline names {suite.baseline!r}, which is not an arm.{_near(suite.baseline, suite)}"
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
            return from_categories(table)
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
        raise UsageError(f"{source}: arms.{name}.same_as: there is no arm {arm.same_as!r}.{_near(arm.same_as, suite)}")


def _near(name: str, suite: SuiteSpec) -> str:
    near = get_close_matches(name, suite.arms, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" There is {', '.join(map(repr, suite.arms))}."


def _toml(content: bytes, source: str) -> Any:
    try:
        return msgspec.toml.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as fault:
        raise UsageError(f"{source} is not valid TOML: {fault}.") from None


def _yaml(content: bytes, source: str) -> Any:
    try:
        found = decode_yaml(content)
    except ValueError as fault:
        raise UsageError(f"{source} is not valid YAML: {fault}.") from None
    if found.doubtful:
        raise UsageError(
            f"{source}: {name_some(found.doubtful)} has two values in one place; leave the one that is meant."
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
    # A key that another table has is no better a guess than the mistake itself.
    known = {field for spec in _specs(kind) for field in spec.__struct_fields__} - {found["field"]}
    near = get_close_matches(found["field"], known, n=1)
    return f" Did you mean `{near[0]}`?" if near else ""


def _specs(kind: type[Spec]) -> list[type[Spec]]:
    """All structures that may stand in such a file."""
    return [*Spec.__subclasses__(), kind]
