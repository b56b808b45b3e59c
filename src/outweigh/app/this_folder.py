"""What a command is about where nobody names it: the suite and the stores of the current folder.

The last store is the one whose records were written last, by their files. A store elsewhere that `run -o` or
`import -o` wrote is remembered in a small file beside the stores.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.suite import SUITE_FILE
from outweigh.store.dataset_manifest import is_dataset
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_file import read_experiment
from outweigh.store.find_stores import find_marked_stores, find_stores, has_records, is_store, written_at

RUNS_FOLDER = Path("outweigh-runs")
"""Where stores are when nobody names a folder; each is named after its suite."""

SEARCH_DEPTH = 2
"""Levels of folders below the current one that are searched for stores, as in `run -o build/demo`."""

SHOWN_STORES = 10
SHOWN_SUITES = 5
_REMEMBERED_FILE = "last-store"
_PATH_LENGTH_LIMIT = 4096

MakeCommand = Callable[[Path], str]
"""The command that the user typed, about one path."""


def find_suite(make_command: MakeCommand) -> Path:
    """The suite of the current folder; where there is none, the error names the suites of the folders in it."""
    if has_suite():
        return Path(SUITE_FILE)
    below = suites_below()
    if not below:
        raise UsageError(
            f"there is no {SUITE_FILE} in this folder; `outweigh init` writes one, and -c names one elsewhere."
        )
    commands = [f"  {make_command(folder)}" for folder in below[:SHOWN_SUITES]]
    raise UsageError("\n".join([f"there is no {SUITE_FILE} in this folder. There is one below it:", *commands]))


def has_suite() -> bool:
    """Whether the current folder has a suite."""
    return Path(SUITE_FILE).is_file()


def suites_below() -> list[Path]:
    """The folders in the current one that have a suite."""
    return sorted(file.parent for file in Path().glob(f"*/{SUITE_FILE}") if file.is_file())


def find_folder_stores() -> list[Path]:
    """All stores of the current folder, newest first; an error where there is none."""
    stores = stores_of_folder()
    if not stores:
        raise UsageError(
            "there is no store in this folder. `outweigh run` runs a suite and makes one, `outweigh demo` shows one; "
            "name one elsewhere, or a table of results, as RUNS."
        )
    return stores


def find_last_store(make_command: MakeCommand) -> Path:
    """The store of the current folder that was written last."""
    last, *others = find_folder_stores()
    if not has_records(last):
        raise EvidenceError(_explain_empty(last, others, make_command))
    return last


def _explain_empty(last: Path, others: list[Path], make_command: MakeCommand) -> str:
    said = f"{last} was begun last in this folder and has no results yet; `outweigh run` continues it."
    with_records = [store for store in others if has_records(store)]
    if not with_records:
        return said
    return "\n".join([f"{said} Other stores, newest first:", *_store_commands(with_records, make_command)])


def stores_of_folder() -> list[Path]:
    """The stores of the current folder that compare arms, newest first; stores of one arm belong to drift checks."""
    found = [*find_marked_stores(Path(), SEARCH_DEPTH), *_stores_in_runs_folder(), *_remembered_store()]
    return [store for store in newest_first(found) if _compares_arms(store)]


def newest_first(stores: Iterable[Path]) -> list[Path]:
    """Each store once, by when it was last written, then by its path."""
    distinct = {os.path.realpath(store): store for store in stores}
    return sorted(distinct.values(), key=lambda store: (-written_at(store), str(store)))


def _stores_in_runs_folder() -> list[Path]:
    try:
        folders = [entry for entry in RUNS_FOLDER.iterdir() if entry.is_dir()]
    except OSError:
        return []
    return [store for folder in folders for store in find_stores(folder)]


def _compares_arms(store: Path) -> bool:
    try:
        experiment = read_experiment(store)
    except EvidenceError:  # whoever reads the store says what is wrong with it
        return True
    return experiment is None or len(experiment.arms) > 1


def remember_store(store: Path) -> None:
    """Note where a store is that a search of the current folder would not find.

    Only in a folder that has a suite or stores already. A note that cannot be written is not missed: RUNS can be named.
    """
    whole, here = store.resolve(), Path.cwd()
    is_found = whole.is_relative_to(here) and len(whole.relative_to(here).parts) <= SEARCH_DEPTH
    if is_found or not (has_suite() or RUNS_FOLDER.is_dir()):
        return
    try:
        RUNS_FOLDER.mkdir(exist_ok=True)
        write_atomic(RUNS_FOLDER / _REMEMBERED_FILE, [os.fsencode(whole), b"\n"])
    except (OSError, UsageError):
        return


def _remembered_store() -> list[Path]:
    """The store that was remembered, where it is still there."""
    try:
        with (RUNS_FOLDER / _REMEMBERED_FILE).open("rb") as stream:
            store = Path(os.fsdecode(stream.read(_PATH_LENGTH_LIMIT).rstrip(b"\n")))
        return [store] if store.is_absolute() and is_store(store) else []
    except (OSError, ValueError):
        return []


def find_named_store(path: Path, make_command: MakeCommand) -> Path:
    """The store that a named folder stands for: itself, or the only store below it."""
    if is_store(path) or is_dataset(path):
        return path
    stores = newest_first(find_stores(path))
    if len(stores) > 1:
        lines = [f"{path} holds {len(stores)} stores. Name one; newest first:", *_store_commands(stores, make_command)]
        raise UsageError("\n".join(lines))
    return stores[0] if stores else path


def _store_commands(stores: list[Path], make_command: MakeCommand) -> list[str]:
    lines = [f"  {make_command(store)}" for store in stores[:SHOWN_STORES]]
    more = len(stores) - SHOWN_STORES
    return [*lines, f"  and {more} more"] if more > 0 else lines
