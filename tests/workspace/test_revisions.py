"""What a repository's history holds is read from its objects, and nothing in the repository is obeyed on the way."""

import os
from pathlib import Path

import pytest
from tests.repositories import Repository

from outweigh.errors import UsageError
from outweigh.workspace.revisions import REVISION_FILE_LIMIT, GitRevisions


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def contents(repository: Repository, ref: str, folder: str = ".") -> dict[str, bytes]:
    revisions = GitRevisions(repository.folder)
    return {file.path: file.content for file in revisions.files(revisions.commit(ref), folder, lambda _: True)}


def test_files_are_those_of_the_commit_and_not_of_the_working_copy(repository: Repository) -> None:
    first = repository.commit({"CLAUDE.md": "one", "docs/a.md": "a"})
    repository.commit({"CLAUDE.md": "two", "docs/a.md": None})
    repository.write({"CLAUDE.md": "three"})

    assert contents(repository, first) == {"CLAUDE.md": b"one", "docs/a.md": b"a"}
    assert contents(repository, "main") == {"CLAUDE.md": b"two"}
    assert contents(repository, "main~1", "docs") == {"a.md": b"a"}
    assert contents(repository, "main", "docs") == {}


def test_a_program_stays_one(repository: Repository) -> None:
    repository.write({".claude/hooks/check": "#!/bin/sh\n"})
    (repository.folder / ".claude/hooks/check").chmod(0o755)
    commit = repository.commit({"CLAUDE.md": "words"})

    found = GitRevisions(repository.folder).files(commit, ".", lambda _: True)

    assert [(file.path, file.executable) for file in found] == [(".claude/hooks/check", True), ("CLAUDE.md", False)]


def test_a_worktree_and_a_subfolder_lead_to_the_same_history(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"deep/folder/x": "x"})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "other"))

    for place in (repository.folder / "deep" / "folder", tmp_path / "other"):
        assert [file.path for file in GitRevisions(place).files(commit, ".", lambda _: True)] == ["deep/folder/x"]


def test_a_repository_with_long_hashes_is_read_too(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    repository.commit({"AGENTS.md": "words"})

    assert contents(repository, "main") == {"AGENTS.md": b"words"}


@pytest.mark.parametrize("ref", ["--all", "-x", "--output=/tmp/x", "", " ", "a\nb", "main\x00", "\x1b[31m"])
def test_a_ref_is_never_an_option_and_never_more_than_a_word(repository: Repository, ref: str) -> None:
    repository.commit({"x": "x"})

    with pytest.raises(UsageError, match="not the name of a branch"):
        GitRevisions(repository.folder).commit(ref)


@pytest.mark.parametrize("ref", ["gone", "main..main", "main:x", "; rm -rf /", "$(id)", "refs/heads/*", "0" * 40])
def test_a_ref_without_a_commit_is_reported_with_what_to_do(repository: Repository, ref: str) -> None:
    repository.commit({"x": "x"})

    with pytest.raises(UsageError, match=r"there is no commit .* Fetch it first"):
        GitRevisions(repository.folder).commit(ref)


def test_a_branch_with_a_hostile_name_is_only_a_name(repository: Repository) -> None:
    commit = repository.commit({"x": "x"})
    name = "--upload-pack=touch"
    repository.git("update-ref", f"refs/heads/{name}", commit)

    assert GitRevisions(repository.folder).commit(f"refs/heads/{name}") == commit


def test_a_folder_without_a_repository_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no commit 'main'"):
        GitRevisions(tmp_path).commit("main")


class TestEntriesThatAreNoPlainFiles:
    def test_a_link_to_a_file_beside_it_is_that_file(self, repository: Repository) -> None:
        repository.write({"AGENTS.md": "words"})
        (repository.folder / "CLAUDE.md").symlink_to("AGENTS.md")
        repository.commit()

        assert contents(repository, "main")["CLAUDE.md"] == b"words"

    @pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "gone", "CLAUDE.md", "folder"])
    def test_a_link_that_leads_anywhere_else_is_refused(self, repository: Repository, target: str) -> None:
        (repository.folder.parent / "secret").write_text("secret")
        repository.write({"folder/x": "x"})
        (repository.folder / "CLAUDE.md").symlink_to(target)
        repository.commit()

        with pytest.raises(UsageError, match=r"'CLAUDE\.md' is a link to .* copy it instead"):
            contents(repository, "main")

    def test_a_link_out_of_the_folder_is_refused_even_within_the_repository(self, repository: Repository) -> None:
        repository.write({"private": "secret", "agents/x": "x"})
        (repository.folder / "agents" / "CLAUDE.md").symlink_to("../private")
        repository.commit()

        with pytest.raises(UsageError, match=r"'CLAUDE\.md' is a link to '\.\./private'"):
            contents(repository, "main", "agents")

    def test_a_submodule_is_refused(self, repository: Repository) -> None:
        commit = repository.commit_tree(b"160000 commit " + b"1" * 40 + b"\t.claude\n")

        with pytest.raises(UsageError, match=r"'\.claude' is a submodule"):
            contents(repository, commit)

    @pytest.mark.parametrize("name", [".git", ".GIT", ".."])
    def test_a_name_that_leads_out_of_a_workspace_is_refused(self, repository: Repository, name: str) -> None:
        blob = repository.git("hash-object", "-w", "--stdin", stdin=b"evil").encode()
        inner = repository.git("mktree", stdin=b"100644 blob " + blob + b"\thooks\n").encode()
        commit = repository.commit_tree(b"040000 tree " + inner + b"\t" + name.encode() + b"\n")

        with pytest.raises(UsageError, match="not a path that can be written"):
            contents(repository, commit)

    def test_a_file_that_is_too_large_is_refused(self, repository: Repository) -> None:
        repository.commit({"CLAUDE.md": "x" * (REVISION_FILE_LIMIT + 1)})

        with pytest.raises(UsageError, match=r"'CLAUDE\.md' has 8,388,609 bytes"):
            contents(repository, "main")


def test_files_that_are_not_wanted_are_not_read(repository: Repository) -> None:
    repository.write({"CLAUDE.md": "words"})
    (repository.folder / "elsewhere").symlink_to("/etc/passwd")
    commit = repository.commit()

    found = GitRevisions(repository.folder).files(commit, ".", lambda path: path == "CLAUDE.md")

    assert [file.path for file in found] == ["CLAUDE.md"]


def test_neither_filters_nor_hooks_nor_attributes_are_obeyed(repository: Repository, tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    repository.commit({"a.txt": "plain $Id$\n"})
    attributes = "* filter=evil ident eol=crlf text working-tree-encoding=UTF-16\n"
    (repository.folder / ".git" / "info" / "attributes").write_text(attributes)
    repository.commit_tree(b"")
    for name in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "core.fsmonitor", "core.pager"):
        repository.git("config", name, f"touch {trap}")
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        script = repository.folder / ".git" / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {trap}\n")
        script.chmod(0o755)
    target = tmp_path / "target"
    target.mkdir()
    revisions = GitRevisions(repository.folder)

    found = contents(repository, "main")
    revisions.check_out(revisions.commit("main"), target)

    assert found == {"a.txt": b"plain $Id$\n"}
    assert (target / "a.txt").read_bytes() == b"plain $Id$\n"
    assert not trap.exists()


def test_a_replaced_object_is_not_taken_for_the_real_one(repository: Repository) -> None:
    first = repository.commit({"x": "real"})
    second = repository.commit({"x": "forged"})
    repository.git("replace", first, second)

    assert contents(repository, first) == {"x": b"real"}


def test_a_missing_object_is_said_and_never_fetched(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"CLAUDE.md": "words"})
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = Repository(tmp_path / "partial")
    partial.git("fetch", "--quiet", "--filter=blob:none", f"file://{repository.folder}", "main:refs/heads/got")

    with pytest.raises(UsageError, match=r"does not have the object|cannot be read"):
        contents(partial, "got")


def test_a_whole_commit_is_laid_out_and_still_leads_to_its_repository(repository: Repository, tmp_path: Path) -> None:
    repository.write({"suite/suite.toml": "x", "tool": "#!/bin/sh\n"})
    (repository.folder / "tool").chmod(0o755)
    commit = repository.commit()
    target = tmp_path / "target"
    target.mkdir()

    GitRevisions(repository.folder).check_out(commit, target)

    assert (target / "suite" / "suite.toml").read_text() == "x"
    assert os.access(target / "tool", os.X_OK)
    assert GitRevisions(target).commit("main") == commit


def test_changed_paths_are_those_that_differ_in_any_way(repository: Repository) -> None:
    first = repository.commit({"same": "s", "edited": "1", "gone": "g", "tool": "t"})
    (repository.folder / "tool").chmod(0o755)
    second = repository.commit({"edited": "2", "gone": None, "new": "n"})

    assert GitRevisions(repository.folder).changed(first, second) == ["edited", "gone", "new", "tool"]
