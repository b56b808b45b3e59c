"""Which reader a suite from elsewhere is for: the only one that recognises it."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from outweigh.errors import UsageError, name_some
from outweigh.plugins import load, names
from outweigh.ports.suites import SuiteReader

SKILL_FORMAT = "skill-creator"
"""Where a skill has evals of several programs, these are meant."""

MOST_FOLDERS = 500


def choose_skill_reader(path: Path) -> SuiteReader:
    """The reader of a skill's evals, whoever they were written for; where there are none, the one that says so best."""
    usual: SuiteReader = load("suite reader", SKILL_FORMAT)
    if usual.recognises(path):
        return usual
    fitting = [reader for reader in _readers() if reader.recognises(path)]
    return fitting[0] if len(fitting) == 1 else usual


def choose_suite_reader(path: Path) -> SuiteReader:
    """The reader; what nobody recognises is refused with the list of formats."""
    if not _is_there(path):
        raise UsageError(f"there is no {path}; name the file or folder of the suite.")
    readers = _readers()
    fitting = [reader for reader in readers if reader.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        found = ", ".join(reader.name for reader in fitting)
        raise UsageError(
            f"{path} could be of more than one format ({found}). Name the file itself, or a smaller folder."
        )
    if within := _suites_within(path, readers):
        raise UsageError(f"{path} is no suite itself, but there is one in it: name {name_some(within)}.")
    known = "; ".join(f"{reader.name}: {reader.looks_for}" for reader in readers)
    raise UsageError(f"{path} is no suite of a format that is known here. Known are {known}.")


def _readers() -> list[SuiteReader]:
    return [load("suite reader", name) for name in names("suite reader")]


def _suites_within(path: Path, readers: Sequence[SuiteReader]) -> list[str]:
    """Each as a whole: what lies in a suite is a part of it."""
    found: list[Path] = []
    for place in _folders_within(path):
        if place.parent not in found and any(reader.recognises(place) for reader in readers):
            found.append(place)
    return list(map(str, found))


def _folders_within(path: Path) -> list[Path]:
    """Where people keep suites in a project: a folder or two down. Of a large project, the first that are found."""
    try:
        folders = (place for pattern in ("*", "*/*") for place in sorted(path.glob(pattern)) if place.is_dir())
        seen = (place for place in folders if not any(part.startswith(".") for part in place.relative_to(path).parts))
        return list(islice(seen, MOST_FOLDERS))
    except OSError:
        return []


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
