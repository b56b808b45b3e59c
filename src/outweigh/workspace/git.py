"""Runs git isolated from user and system settings, hooks and prompts.

Also lists the files of a tree as git knows them.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import TimeoutExpired

from outweigh.process import run_process

BASE_BRANCH = "main"
_SECONDS = 600.0
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.quotePath": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "init.defaultBranch": BASE_BRANCH,
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "user.name": "base",
    "user.email": "base@localhost",
    "commit.gpgSign": "false",
}
# Every workspace of a task has the same commit, on every machine and day.
_COMMIT_TIME = "2000-01-01T00:00:00+0000"
# Attributes that take precedence over the tree's own, so that content is taken byte for byte.
RAW_ATTRIBUTES = "* -text !eol -ident !filter !working-tree-encoding !diff !merge\n"


class GitError(Exception):
    """git failed; the message is its error output."""


def git(
    *arguments: str, folder: Path, stdin: bytes = b"", environment: Mapping[str, str] | None = None, accept: int = 0
) -> bytes:
    """Run git in a folder and return its output; exit codes above `accept` raise GitError."""
    settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    try:
        done = run_process(
            ["git", *settings, *arguments],
            folder=folder,
            environment={**_clean_environment(), **(environment or {})},
            stdin=stdin,
            timeout_seconds=_SECONDS,
        )
    except (OSError, TimeoutExpired) as fault:
        raise GitError(str(fault)) from fault
    if not 0 <= done.returncode <= accept:
        raise GitError(done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}")
    return done.stdout


def repository_environment(git_folder: Path, work_tree: Path) -> dict[str, str]:
    """The environment that ties git to one repository and one tree, whatever the tree contains."""
    return {"GIT_DIR": str(git_folder), "GIT_WORK_TREE": str(work_tree)}


def _clean_environment() -> dict[str, str]:
    """An environment with access to the user's keys but not to their settings."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SSH_AUTH_SOCK") if name in os.environ}
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_AUTHOR_DATE": _COMMIT_TIME,
        "GIT_COMMITTER_DATE": _COMMIT_TIME,
    }


def tree_files(root: Path) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every regular file and link with its status; unreadable folders are skipped."""
    waiting = [(os.fsencode(root), b"")]
    while waiting:  # not recursive: an agent can nest folders deeper than the call stack
        folder, name = waiting.pop()
        for entry in _entries(folder):
            if entry.name == b".git":
                continue
            path = name + entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                waiting.append((entry.path, path + b"/"))
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # unreadable, gone, or a path that is too long
        return []
