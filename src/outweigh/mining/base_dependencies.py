"""What the workspace of a base has to have: what the change needs, with entry points and compiled code of the base."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import copytree, ignore_patterns

from outweigh.mining.dependencies import DependencyOptions, DependencySet
from outweigh.mining.python_manifests import is_compiled
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.runners.runner import Runner


def stated_manifests(wanted: DependencySet) -> dict[str, str]:
    """The manifests of a commit without sources that are compiled: those say nothing about what tests need."""
    return {path: name for path, name in wanted.manifests.items() if not is_compiled(path)}


def for_base(before: DependencySet | None, after: DependencySet) -> DependencySet:
    """What a change needs, installed for its base: otherwise compiled code of the change would be found there."""
    if before is None:
        return replace(after, connect=())
    own, others = _compiled(before), _compiled(after)
    if own == others:
        return replace(after, connect=before.connect)
    key = sha256(f"{before.key} {after.key}".encode()).hexdigest()[: len(after.key)]
    otherwise = None if after.otherwise is None else for_base(before, after.otherwise)
    manifests = stated_manifests(after) | own
    return replace(after, key=key, manifests=manifests, connect=before.connect, otherwise=otherwise)


def _compiled(wanted: DependencySet) -> dict[str, str]:
    return {path: name for path, name in wanted.manifests.items() if is_compiled(path)}


def tree_with_manifests(
    history: HistoryRepository, commit: str, wanted: DependencySet, base_tree: Path, folder: Path
) -> Path:
    """The files of the base with the manifests of another commit; what is compiled stays the base's."""
    tree = folder / "tree"
    copytree(base_tree, tree, symlinks=True, ignore=ignore_patterns(".git"))
    for path in stated_manifests(wanted):
        content = history.content(commit, path)
        target = tree / path
        if content is not None and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return tree


def with_runner(options: DependencyOptions, runner: Runner | None) -> DependencyOptions:
    """The options for a base whose hidden tests are run by this runner, which it may not know yet."""
    return replace(options, needs_pytest=options.needs_pytest or (runner is not None and runner.name == "pytest"))
