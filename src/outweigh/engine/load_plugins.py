"""Reads the plugins that an arm names, from the disk or from a commit, without what tells how the agent is judged.

Left out are a plugin's evals and their results, and suites of outweigh: an agent could look up there what is expected.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from outweigh.engine.tree_digest import refuse_link_out
from outweigh.errors import UsageError
from outweigh.model.plugin_files import PLUGIN_MANIFEST, PluginFiles
from outweigh.model.suite import SUITE_FILE
from outweigh.model.task import TASK_FILE
from outweigh.ports.workspaces import RevisionFile, Revisions

_SKIPPED_NAMES = frozenset({".git", ".hg", ".svn", "__pycache__", ".DS_Store", "outweigh-runs"})
PluginTree = Mapping[str, RevisionFile]
"""The files of a plugin by their path in it."""


def read_plugin_folder(folder: Path, where: str) -> PluginTree:
    """A plugin on the disk; UsageError where there is none."""
    if not folder.is_dir():
        raise UsageError(f"{where}: there is no folder {folder}.")
    found = _without_evals({file.path: file for file in _files_below(folder, folder)})
    if not describe_plugin(found, folder.name).is_plugin:
        raise UsageError(
            f"{where}: {folder} is no plugin: it has neither a {PLUGIN_MANIFEST} nor skills, commands, agents, hooks "
            "or an .mcp.json."
        )
    return found


def read_plugin_at(revisions: Revisions, commit: str, inside: str) -> PluginTree:
    """A plugin as a commit has it, by its folder in the repository; nothing where the commit does not have it."""
    prefix = "" if inside == "." else f"{inside}/"
    found = revisions.files(commit, ".", lambda path: path.startswith(prefix) and not _is_skipped(path))
    tree = _without_evals(
        {
            path: RevisionFile(path=path, content=file.content, executable=file.executable)
            for file in found
            if (path := file.path.removeprefix(prefix))
        }
    )
    return tree if describe_plugin(tree, inside).is_plugin else {}


def describe_plugin(tree: PluginTree, folder: str) -> PluginFiles:
    """What the files of a plugin declare."""
    return PluginFiles({path: file.content for path, file in tree.items()}, folder)


def path_in_repository(folder: Path, suite: Path, where: str) -> str:
    """The path of a plugin's folder in the repository that holds it or, where it is not there now, the suite."""
    for start in (suite, folder):
        top = next((place for place in (start, *start.parents) if (place / ".git").exists()), None)
        if top is not None and folder.is_relative_to(top):
            return folder.relative_to(top).as_posix()
    raise UsageError(
        f"{where}: {folder} is in no repository, so it has no revisions. Name a plugin of the repository whose "
        "revisions are compared."
    )


def _files_below(root: Path, folder: Path) -> Iterator[RevisionFile]:
    for entry in sorted(folder.iterdir(), key=lambda path: os.fsencode(path.name)):
        if entry.name in _SKIPPED_NAMES:
            continue
        if entry.is_symlink():
            refuse_link_out(root, entry)
        if entry.is_dir() and not entry.is_symlink():
            yield from _files_below(root, entry)
        elif entry.is_file():
            executable = bool(entry.stat().st_mode & stat.S_IXUSR)
            place = entry.relative_to(root).as_posix()
            yield RevisionFile(path=place, content=entry.read_bytes(), executable=executable)
        elif not entry.is_dir():
            raise UsageError(f"{entry} is not a file, so it cannot be copied into a workspace; remove it.")


def _is_skipped(path: str) -> bool:
    return not _SKIPPED_NAMES.isdisjoint(PurePosixPath(path).parts)


def _without_evals(tree: PluginTree) -> PluginTree:
    marked = [PurePosixPath(path) for path in tree if PurePosixPath(path).name in (SUITE_FILE, TASK_FILE)]
    folders = {str(path.parent) for path in marked} - {"."}
    left_out = tuple(f"{folder}/" for folder in (describe_plugin(tree, "").eval_folder, *folders))
    return {path: file for path, file in tree.items() if path != SUITE_FILE and not path.startswith(left_out)}
