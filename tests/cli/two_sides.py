"""A repository with a suite and an agent's configuration, whose branches can be run against each other."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.engine.engine_fixtures import write_suite
from tests.repositories import Repository

READS_WORDS = "grep -q 42 CLAUDE.md 2>/dev/null && echo 42 >answer.txt; true"
"""An agent that solves its task when its instructions say how."""


def agent(line: str = READS_WORDS, **more: Any) -> dict[str, Any]:
    return {"agent": "shell", "options": {"command": line}, **more}


class Project:
    """`main` holds a suite and `CLAUDE.md`; every change is a branch of its own."""

    def __init__(self, folder: Path, arm: Mapping[str, Any] | None = None, **settings: Any) -> None:
        self.repository = Repository(folder / "project")
        self.suite = self.repository.folder / "evals"
        self.store = folder / "store"
        words: dict[str, Any] = {"tasks": 2, "repeats": 1, **settings}
        write_suite(self.suite, {"agent": arm or agent(), "unused": {"agent": "noop"}}, **words)
        for task in self.suite.glob("task-*/task.toml"):  # of one family all tasks would say as much as one
            task.write_text(task.read_text().replace(', "family" = "answers"', ""))
        self.repository.commit({"CLAUDE.md": "Think before you write.\n", "README.md": "A project.\n"})

    def branch(self, name: str, files: Mapping[str, str | None]) -> str:
        """A branch from main with these files; returns its commit."""
        self.repository.git("checkout", "--quiet", "-b", name, "main")
        return self.repository.commit(files)

    def sides(self, head: str, *more: str, base: str = "main") -> list[str]:
        """The words after `outweigh run`."""
        return ["-c", str(self.suite), "--base", base, "--head", head, "-o", str(self.store), "-y", *more]


def in_folder(folder: Path) -> dict[str, str]:
    """An environment without anything of the caller's."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
