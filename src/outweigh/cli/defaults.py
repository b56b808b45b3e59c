"""What the user left out: the suite and the store of the current folder. Standard error says which was taken.

The search is loaded where it is needed, because reading a file that is named needs none of it.
"""

from collections.abc import Sequence
from pathlib import Path
from shlex import join

from outweigh.cli.console import notify
from outweigh.store.store_address import check_address, is_address

STANDARD_INPUT = "-"


def choose_suite_file(named: str | None, command: Sequence[str]) -> str:
    """The suite that is named, else the one of this folder."""
    if named is not None:
        return named
    from outweigh.app.this_folder import find_suite  # noqa: PLC0415 - see above

    suite = str(find_suite(lambda folder: join([*command, "-c", str(folder)])))
    notify(f"suite: {suite} of this folder")
    return suite


def choose_stores(named: Sequence[str], command: Sequence[str]) -> list[str]:
    """The stores that are named, else the last one of this folder."""
    if named:
        return [_choose_named(name, command) for name in named]
    return [choose_store(None, command)]


def choose_store(named: str | None, command: Sequence[str]) -> str:
    """The same for commands about one store."""
    if named is not None:
        return _choose_named(named, command)
    from outweigh.app.this_folder import find_last_store  # noqa: PLC0415 - see above

    store = str(find_last_store(lambda path: join([*command, str(path)])))
    notify(f"reading {store}, the last store of this folder")
    return store


def _choose_named(name: str, command: Sequence[str]) -> str:
    """A folder that holds one store stands for it, and so does an address."""
    if is_address(name):
        return _choose_at_address(name)
    path = Path(name)
    if name == STANDARD_INPUT or not _is_folder(path):
        return name
    from outweigh.app.this_folder import find_named_store  # noqa: PLC0415 - see above

    store = find_named_store(path, lambda each: join([str(each) if word == name else word for word in command]))
    if store == path:
        return name
    notify(f"reading {store}, the only store in {name}")
    return str(store)


def _choose_at_address(name: str) -> str:
    from outweigh.store.fetched_stores import find_only_store  # noqa: PLC0415 - see above

    address = check_address(name)
    store = find_only_store(address)
    if store != address:
        notify(f"reading {store}, the only store in {address}")
    return store


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # the system refuses the path: whoever reads it says why
        return False
