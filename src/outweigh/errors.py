"""Errors that a person can meet, named by who must act."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice


class OutweighError(Exception):
    """Says what is wrong, where, and how to fix it, in one paragraph."""

    exit_code = 70


class UsageError(OutweighError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class MissingExtraError(UsageError):
    """A package of an optional extra is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs packages that are not installed: {install_command(extra)}.")


class EvidenceError(OutweighError):
    """The records cannot carry a conclusion; the person who made them must act."""

    exit_code = 3


def install_command(extra: str) -> str:
    """What to type to get the packages of an optional extra, by the way in which outweigh is installed.

    It names the packages themselves: outweigh is not on PyPI, so `outweigh[extra]` would not be found there.
    """
    import sys  # noqa: PLC0415 - only needed for a complaint
    from importlib.util import find_spec  # noqa: PLC0415

    packages = " ".join(f"'{package}'" for package in _packages_of(extra))
    return f"{_installer(sys.prefix, has_pip=find_spec('pip') is not None)} {packages}"


def _installer(prefix: str, *, has_pip: bool) -> str:
    """How packages get into the environment at this prefix, by the folders that tools keep theirs in."""
    if "/pipx/venvs/" in prefix:
        return "pipx inject outweigh"
    if "/uv/tools/" in prefix:
        return 'uv pip install --python "$(uv tool dir)/outweigh"'
    return "pip install" if has_pip else "uv pip install"


def _packages_of(extra: str) -> list[str]:
    """The requirements of an extra, and those of the extras that it contains, as the installed metadata lists them."""
    import re  # noqa: PLC0415 - only needed for a complaint
    from importlib.metadata import requires  # noqa: PLC0415

    found: list[str] = []
    for line in requires("outweigh") or ():
        requirement, _, condition = line.partition(";")
        if f'extra == "{extra}"' in condition.replace("'", '"'):
            inner = re.fullmatch(r"outweigh\[(.+)\]", requirement.strip())
            names = inner[1].split(",") if inner else ()
            found += [each for name in names for each in _packages_of(name)] if inner else [requirement.strip()]
    return list(dict.fromkeys(found))


@contextmanager
def requires_extra(purpose: str, extra: str) -> Iterator[None]:
    """Around imports of an extra's packages: where one is missing, the error names the extra, not the module."""
    try:
        yield
    except ModuleNotFoundError as fault:
        if (fault.name or "").partition(".")[0] == "outweigh":
            raise
        raise MissingExtraError(purpose, extra) from fault


def quote_names(names: Collection[str], shown: int = 3) -> str:
    """The first few of possibly many names, as messages quote them."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name) for name in islice(names, shown)) + more


_SHOWN_CHARACTERS = 60


def quote_value(value: object) -> str:
    """A value as a TOML file shows it, cut where it is long; lists and tables by their kind alone."""
    import json  # noqa: PLC0415 - only needed for a complaint

    match value:
        case str():
            cut = value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
            shown = json.dumps(cut, ensure_ascii=False)
        case bool():
            shown = "true" if value else "false"
        case None:
            shown = "nothing"
        case int() | float():
            shown = str(value)[:_SHOWN_CHARACTERS]
        case list():
            shown = "a list" if value else "an empty list"
        case dict():
            shown = "a table"
        case _:
            shown = f"{value}"[:_SHOWN_CHARACTERS]
    return shown
