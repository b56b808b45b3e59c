"""Which reader a suite from elsewhere is for: the only one that recognises it."""

from pathlib import Path

from outweigh.errors import UsageError
from outweigh.plugins import load, names
from outweigh.ports import SuiteReader

SKILL_FORMAT = "skill-creator"
"""Where a skill has evals of several programs, these are meant."""


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
    known = "; ".join(f"{reader.name}: {reader.looks_for}" for reader in readers)
    raise UsageError(f"{path} is no suite of a format that is known here. Known are {known}.")


def _readers() -> list[SuiteReader]:
    return [load("suite reader", name) for name in names("suite reader")]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
