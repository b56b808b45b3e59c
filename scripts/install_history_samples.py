"""Installs what the tests of a few commits of public histories need, so that tests of mining reach no registry.

    python -m scripts.install_history_samples FOLDER

The histories are beside the project, in ../shared/data/git_histories; without them there is nothing to install. What is
there already is left alone. A commit whose packages cannot be had must not stop a build: tests that need it say so.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from outweigh.mining.dependencies import DependencyError, DependencyOptions, InstalledDependencies
from outweigh.mining.dependency_cache import DependencyCache
from outweigh.mining.install_dependencies import InstallSetting, machine_setting
from outweigh.mining.plan_dependencies import plan_for_commit
from outweigh.mining.repository import HistoryRepository, open_history
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

HISTORIES = Path(__file__).resolve().parents[2] / "shared" / "data" / "git_histories"
SAMPLES: Mapping[str, Mapping[str, str]] = {
    "stamina": {
        "87ccfa48": "python -m pytest -q",
        "e0a3d728": "python -m pytest -q",
    },
    "prettytable": {
        # Tests that the next release of pytest, later in the same month, broke.
        "7d67b072": "python -m pytest -q",
        # Code that imports `pkg_resources`, which environments of its time had.
        "021c6cb2": "python -m pytest -q",
    },
    "commander.js": {"84d9201e": "node_modules/.bin/jest tests/command.name.test.js"},
}
"""The command that runs tests of a commit, by history and commit. They span the time and the tools of each history."""


@contextmanager
def opened_history(name: str, folder: Path) -> Iterator[HistoryRepository]:
    """A history, unpacked once into a folder."""
    clone = folder / f"{name}.git"
    if not clone.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as part:
            _git("clone", "--quiet", "--bare", str(HISTORIES / f"{name}.bundle"), f"{part}/clone")
            Path(part, "clone").rename(clone)
    with open_history(clone) as history:
        yield history


def installed_sample(
    history: HistoryRepository, short: str, folder: Path, setting: InstallSetting, tree: Path
) -> InstalledDependencies | None:
    """The dependencies of a commit, whose files are written into a new folder `tree`."""
    commit = history.read("rev-parse", short).decode().strip()
    tree.mkdir()
    archive = history.read("archive", "--format=tar", commit)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive, check=True)
    day = datetime.fromisoformat(history.read("log", "-1", "--format=%cI", commit).decode().strip())
    wanted = plan_for_commit(history, commit, day, DependencyOptions())
    return None if wanted is None else DependencyCache(folder, setting).get(wanted, tree)


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def main(folder: Path) -> None:
    """Install what all samples need."""
    if (missing := BubblewrapSandboxProvider().missing()) is not None:
        print(f"nothing is installed for histories: {missing}")
        return
    setting = machine_setting(BubblewrapSandboxProvider())
    for name, samples in SAMPLES.items():
        if not (HISTORIES / f"{name}.bundle").is_file():
            continue
        with opened_history(name, folder) as history:
            for short in samples:
                with tempfile.TemporaryDirectory() as scratch:
                    try:
                        installed_sample(history, short, folder / name, setting, Path(scratch, "tree"))
                    except DependencyError as fault:
                        print(f"{name} {short}: {fault}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
