"""Suite and rubric files from bytes to values, with errors that name the place, the key and what is allowed.

Arms that extend other arms inherit what they leave out.
"""

from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from outweigh.errors import UsageError, quote_value
from outweigh.model.arm import ArmSpec
from outweigh.model.profile import BUILT_IN_PROFILES, profile_fault
from outweigh.model.rubric import CategoryRubric, Rubric, rubric_from_categories
from outweigh.model.source_document import SourceDocument
from outweigh.model.suite import SuiteSpec

_ADDED_LISTS = ("parts", "skills", "plugins", "secrets", "flags", "git_paths")
_ADDED_TABLES = ("mcp_servers", "environment", "options")


class ArmExtensionError(UsageError):
    """An arm extends something that it cannot."""

    def __init__(self, arm: str, message: str) -> None:
        super().__init__(f"arms.{arm}.extends: {message}")
        self.arm = arm


def inherit(name: str, arms: Mapping[str, ArmSpec]) -> ArmSpec:
    """The arm merged with everything that it extends; raise UsageError on a cycle."""
    return _fold(name, arms, ())


def _fold(name: str, arms: Mapping[str, ArmSpec], path: tuple[str, ...]) -> ArmSpec:
    if name in path:
        circle = " → ".join((*path[path.index(name) :], name))
        raise ArmExtensionError(path[-1], f"{circle} is a circle; an arm cannot extend itself.")
    arm = arms.get(name)
    if arm is None:
        near = get_close_matches(name, arms, n=1)
        hint = f" Did you mean {quote_value(near[0])}?" if near else ""
        raise ArmExtensionError(path[-1], f"there is no arm {quote_value(name)}.{hint}")
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
        elif field not in ("extends", "tier", "inherit", "same_as") and mine is None:
            changes[field] = theirs
    kept = [part for part in (*parent.parts, *child.parts) if part not in child.without]
    return msgspec.structs.replace(
        child, extends=None, **{**changes, "parts": list(dict.fromkeys(kept)), "without": []}
    )


_CATEGORY_STYLE = ("requirements", "categories")


def parse_suite(content: bytes, source: str, *, fewest_arms: int = 2) -> SuiteSpec:
    """Read a `suite.toml` and check its arms against each other; files are not read yet."""
    return parse_suite_document(SourceDocument(content, source), fewest_arms=fewest_arms)


def parse_suite_document(document: SourceDocument, *, fewest_arms: int = 2) -> SuiteSpec:
    """The same for a document that is needed later on, to locate errors in it.

    Designs add arms to a suite. Where there are some, its arms are not checked here; `check_arms` does it afterwards.
    """
    suite = document.convert(SuiteSpec)
    if suite.baseline not in suite.arms and not suite.designs:
        raise document.error(("baseline",), f"baseline is {_not_an_arm(suite.baseline, suite)}")
    if len(suite.arms) < fewest_arms and not suite.designs:
        raise document.error(
            ("arms",),
            f"a comparison needs at least two arms; there is only {quote_value(suite.baseline)}. Add one, or compare "
            "two revisions of it with --base and --head.",
        )
    if not suite.designs:
        check_arms(suite, document)
    _check_judges(suite, document)
    _check_profiles(suite, document)
    _check_quarantine(suite, document)
    return suite


def check_arms(suite: SuiteSpec, document: SourceDocument) -> None:
    """Refuse arms that extend or name what the suite does not have."""
    for name in suite.arms:
        _check_arm(name, suite, document)


def parse_rubric(content: bytes, source: str) -> Rubric:
    """Read a rubric file, TOML or YAML by its name, in our own style or that of requirements and categories."""
    document = SourceDocument(content, source)
    table = document.value
    if isinstance(table, dict) and any(key in table for key in _CATEGORY_STYLE):
        foreign = document.convert(CategoryRubric, str_keys=True)
        if not foreign.requirements and not foreign.categories:
            raise document.error((), "a rubric needs at least one requirement or category.")
        try:
            return rubric_from_categories(table)
        except ValueError as fault:
            raise UsageError(f"{source}: {fault}.") from None
    return document.convert(Rubric)


def _check_judges(suite: SuiteSpec, document: SourceDocument) -> None:
    names = [judge.name for judge in suite.judges]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise document.error(
                ("judges", index, "name"),
                f"two [[judges]] are called {quote_value(name)}; judgments are told apart by the name.",
            )


def _check_profiles(suite: SuiteSpec, document: SourceDocument) -> None:
    for name, profile in suite.profiles.items():
        if (fault := profile_fault(name, profile)) is not None:
            raise document.error(("profiles", name), fault)
    known = (*BUILT_IN_PROFILES, *suite.profiles)
    if suite.profile not in known:
        raise document.error(("profile",), f"profile is {quote_value(suite.profile)}; it must be {' or '.join(known)}.")


def _check_quarantine(suite: SuiteSpec, document: SourceDocument) -> None:
    names = [each.task for each in suite.quarantine]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise document.error(
                ("quarantine", index, "task"), f"{quote_value(name)} is in [[quarantine]] twice; keep one of them."
            )


def _check_arm(name: str, suite: SuiteSpec, document: SourceDocument) -> None:
    try:
        arm = inherit(name, suite.arms)
    except ArmExtensionError as error:
        raise document.error(("arms", error.arm, "extends"), str(error)) from None
    if arm.agent is None and arm.inherit is None:
        raise document.error(("arms", name), f"arms.{name} has no agent; name one, or extend an arm that has one.")
    if arm.provider is not None and arm.provider not in suite.providers:
        raise _unknown_provider(name, arm.provider, suite, document)
    extended = suite.arms[name].extends
    known = [] if extended is None else inherit(extended, suite.arms).parts
    if foreign := [part for part in suite.arms[name].without if part not in known]:
        raise document.error(
            ("arms", name, "without"),
            f"arms.{name}.without names {quote_value(foreign[0])}, which is no part of the arm that it extends; leave "
            "it out.",
        )
    for part in suite.arms[name].parts:
        if part not in suite.parts:
            raise document.error(("arms", name, "parts"), f"arms.{name}.parts names {_not_a_part(part, suite)}")
    if arm.same_as is not None and arm.same_as not in suite.arms:
        raise document.error(("arms", name, "same_as"), f"arms.{name}.same_as is {_not_an_arm(arm.same_as, suite)}")


def _unknown_provider(arm: str, named: str, suite: SuiteSpec, document: SourceDocument) -> UsageError:
    """The error is located at the arm that names it, which may be one that this arm extends."""
    stating = arm
    while suite.arms[stating].provider is None and (extended := suite.arms[stating].extends) is not None:
        stating = extended
    near = get_close_matches(named, suite.providers, n=1)
    known = ", ".join(map(quote_value, suite.providers))
    hint = f"the providers are {known}." if known else f"add a table [providers.{named}] with its dialect, url and key."
    return document.error(
        ("arms", stating, "provider"),
        f"arms.{stating}.provider is {quote_value(named)}, which is not under [providers]; "
        + (f"did you mean {quote_value(near[0])}?" if near else hint),
    )


def _not_a_part(name: str, suite: SuiteSpec) -> str:
    near = get_close_matches(name, suite.parts, n=1)
    known = ", ".join(map(quote_value, suite.parts))
    hint = f"the parts are {known}." if known else f"add a table [parts.{name}]."
    return f"{quote_value(name)}, which is not under [parts]; " + (
        f"did you mean {quote_value(near[0])}?" if near else hint
    )


def _not_an_arm(name: str, suite: SuiteSpec) -> str:
    near = get_close_matches(name, suite.arms, n=1)
    arms = ", ".join(map(quote_value, suite.arms))
    hint = f"did you mean {quote_value(near[0])}?" if near else f"the arms are {arms}."
    return f"{quote_value(name)}, which is not an arm; {hint}"
