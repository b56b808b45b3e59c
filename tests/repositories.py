"""Real git repositories in temporary folders."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class Repository:
    """A repository with a working copy, and no settings but its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *arguments: str, stdin: bytes = b"", time: int | None = None) -> str:
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.folder.parent)}
        if time is not None:
            environment |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{time} +0000")
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write files, and remove those without a content."""
        for path, content in files.items():
            file = self.folder / path
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    def commit(self, files: Mapping[str, str | None] | None = None) -> str:
        """Write, remove and commit; returns the commit."""
        self.write(files or {})
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message=a change")
        return self.git("rev-parse", "HEAD")

    def commit_tree(self, entries: bytes) -> str:
        """A commit of a tree that no working copy could have; lines as `git mktree` takes them."""
        tree = self.git("mktree", "--missing", stdin=entries)
        return self.git("commit-tree", tree, "-m", "strange")
