"""Patches that `git apply` takes, byte for byte."""

import stat
import subprocess
from pathlib import Path

import pytest

from outweigh.workspace.file_patch import Files, file_patch

BEFORE: Files = {
    "CLAUDE.md": (b"# One\r\n\nfirst\n# Two\nsecond without an end", False),
    "odd name \xc3\xa4.txt".encode("latin-1").decode(): (b"kept\n", False),
    ".claude/skills/old/run.sh": (b"#!/bin/sh\n", True),
    "picture.png": (bytes(range(256)), False),
}
AFTER: Files = {
    "CLAUDE.md": (b"# Two\nsecond without an end", False),
    "odd name \xc3\xa4.txt".encode("latin-1").decode(): (b"changed\r\n", False),
    "picture.png": (bytes(reversed(range(256))), False),
}


@pytest.mark.parametrize(("one", "other"), [(BEFORE, AFTER), (AFTER, BEFORE)])
def test_applying_the_patch_gives_the_other_state(one: Files, other: Files, tmp_path: Path) -> None:
    for path, (content, executable) in one.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o755 if executable else 0o644)
    (tmp_path / "a.patch").write_bytes(file_patch(one, other))

    subprocess.run(["git", "apply", "a.patch"], cwd=tmp_path, check=True)

    (tmp_path / "a.patch").unlink()
    found = {
        path.relative_to(tmp_path).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert found == dict(other)
