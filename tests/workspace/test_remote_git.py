"""Branches of a remote, made without touching the user's repository."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.repositories import Repository

from outweigh.errors import UsageError
from outweigh.ports.forges import FileChange, ForgeError
from outweigh.workspace.remote_git import GitUpstream, UserGitSettings

FILES = {"CLAUDE.md": "Think.\n", "config/CLAUDE.md": "Deeper.\n", "tool": "#!/bin/sh\n"}


class Pair:
    """A repository and its remote, by a path from its top."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.here = Repository(folder / "here", *options)
        self.there = folder / "there.git"
        self.here.git("init", "--quiet", "--bare", "--initial-branch=main", *options, str(self.there))
        for name, value in {"user.name": "Ada", "user.email": "a@b.c", "remote.origin.url": "../there.git"}.items():
            self.here.git("config", name, value)
        self.commit = self.here.commit(FILES)
        self.here.git("push", "--quiet", "origin", "main")

    def ask(self, *arguments: str) -> str:
        return self.here.git("--git-dir", str(self.there), *arguments)

    @contextmanager
    def upstream(self) -> Iterator[GitUpstream]:
        (self.here.folder / "deep").mkdir(exist_ok=True)
        with GitUpstream.open(self.here.folder / "deep", "origin") as upstream:
            yield upstream


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def put(path: str, content: str | None, *, executable: bool = False) -> FileChange:
    return FileChange(path=path, content=None if content is None else content.encode(), executable=executable)


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_branch_has_exactly_the_changes_byte_for_byte(tmp_path: Path, kind: str) -> None:
    pair = Pair(tmp_path, f"--object-format={kind}")
    changes = [put("CLAUDE.md", None), put("run", "a\r\nb", executable=True), put("tool", "#!/bin/sh\n")]
    with pair.upstream() as upstream:
        tip = upstream.tip(upstream.default_branch()) or ""
        made = upstream.commit(tip, ".", changes, "A change\n\nWith a body.\n")
        upstream.push("promotion", made)

    listed = pair.ask("ls-tree", "-r", "--format=%(objectmode) %(path)", "promotion").split("\n")
    assert listed == ["100644 config/CLAUDE.md", "100755 run", "100644 tool"]
    assert pair.ask("cat-file", "blob", "promotion:run") == "a\r\nb"
    assert pair.ask("log", "-1", "--format=%P|%an|%B", "promotion") == f"{tip}|Ada|A change\n\nWith a body."


def test_a_folder_of_the_repository_can_be_meant(pair: Pair) -> None:
    with pair.upstream() as upstream:
        made = upstream.commit(pair_tip(upstream), "config", [put("CLAUDE.md", "New.\n")], "m\n")

        assert upstream.changed(made) == ["config/CLAUDE.md"]
        assert [file.content for file in upstream.files(made, "config", bool)] == [b"New.\n"]


def test_a_branch_that_is_there_is_never_overwritten(pair: Pair) -> None:
    with pair.upstream() as upstream:
        made = upstream.commit(pair_tip(upstream), ".", [put("CLAUDE.md", "New.\n")], "m\n")
        with pytest.raises(ForgeError, match="git push was refused"):
            upstream.push("main", made)

    assert pair.ask("rev-parse", "main") == pair.commit


def test_a_branch_that_somebody_moved_is_not_removed(pair: Pair) -> None:
    with pair.upstream() as upstream:
        made = upstream.commit(pair_tip(upstream), ".", [put("CLAUDE.md", "New.\n")], "m\n")
        upstream.push("promotion", made)
        pair.ask("update-ref", "refs/heads/promotion", pair.commit)
        with pytest.raises(ForgeError):
            upstream.remove("promotion", made)

        assert upstream.tip("promotion") == pair.commit
        upstream.remove("promotion", pair.commit)
        assert upstream.tip("promotion") is None


def test_a_shallow_clone_is_enough(pair: Pair, tmp_path: Path) -> None:
    pair.here.commit({"CLAUDE.md": "Later.\n"})
    pair.here.git("push", "--quiet", "origin", "main")
    clone = Repository(tmp_path / "parent" / "clone")
    clone.git("config", "user.name", "Ada")
    clone.git("config", "user.email", "a@b.c")
    clone.git("remote", "add", "origin", f"file://{pair.there}")
    clone.git("fetch", "--quiet", "--depth=1", "origin", "main")
    with GitUpstream.open(clone.folder, "origin") as upstream:
        upstream.push("promotion", upstream.commit(pair_tip(upstream), ".", [put("CLAUDE.md", "New.\n")], "m\n"))

    assert pair.ask("rev-list", "--count", "promotion") == "3"


@pytest.mark.parametrize("path", ["../out", ".git/hooks/pre-push", "a/../../b", "/etc/passwd", "a\\b", "a\nb", "a//b"])
def test_paths_that_lead_out_are_refused(pair: Pair, path: str) -> None:
    with pair.upstream() as upstream, pytest.raises(UsageError, match="not a path that can be written"):
        upstream.commit(pair_tip(upstream), ".", [put(path, "x")], "m\n")


def test_a_file_does_not_replace_a_folder(pair: Pair) -> None:
    with pair.upstream() as upstream, pytest.raises(UsageError, match="it is a folder in the base"):
        upstream.commit(pair_tip(upstream), ".", [put("config", "x")], "m\n")


@pytest.mark.parametrize("branch", ["-d", "a..b", "a b", "a~1", "", "x.lock"])
def test_names_that_no_branch_can_have_are_refused(pair: Pair, branch: str) -> None:
    with pair.upstream() as upstream, pytest.raises(UsageError, match="not the name of a branch"):
        upstream.tip(branch)


def test_settings_reach_git_by_the_environment_and_not_by_its_command_line(pair: Pair) -> None:
    pair.here.git("config", "http.https://forge.example/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    pair.here.git("config", "core.hooksPath", "/somewhere")

    given = UserGitSettings(pair.here.folder).network_environment()

    assert "AUTHORIZATION: basic c2VjcmV0" in given.values()
    assert "/somewhere" not in given.values()


def pair_tip(upstream: GitUpstream) -> str:
    return upstream.tip("main") or ""
