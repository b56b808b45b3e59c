"""Which reader a suite from elsewhere is for: the only one that recognises it."""

from pathlib import Path

from outweigh.errors import UsageError
from outweigh.plugins import load, names
from outweigh.ports import SuiteReader


def choose_suite_reader(path: Path) -> SuiteReader:
    """The reader; what nobody recognises is refused with the list of formats."""
    if not _is_there(path):
        raise UsageError(f"there is no {path}; name the file or folder of the suite.")
    readers: list[SuiteReader] = [load("suite reader", name) for name in names("suite reader")]
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


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
