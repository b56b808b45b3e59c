import io
import os
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from tests.prerequisites import require

from outweigh.errors import UsageError
from outweigh.model.task import FolderSource, GitSource, TarballSource, Task, WorkspaceSource
from outweigh.ports.sandboxes import SandboxError
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request, run_shell
from outweigh.workspace.cache import WorkspaceCache, checked_members, wait_for_mtime_step
from outweigh.workspace.overlay_mount import overlay_mounted, overlay_mounts_below
from outweigh.workspace.patch import PATCH_COUNT_LIMIT, PATCH_FILE_LIMIT, workspace_patch


def a_task(workspace: WorkspaceSource | None, checksum: str = "c") -> Task:
    return Task(
        id="task",
        instruction="",
        checks=(),
        family=None,
        expected_steps=(),
        workspace=workspace,
        timeout_seconds=None,
        tests_folder=None,
        solution_folder=None,
        checksum=checksum,
    )


def _git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, env=environment, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('one')\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/main.py")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / ".gitignore").write_text("build/\n")
    return folder


@pytest.fixture(params=[pytest.param("overlay", marks=pytest.mark.needs_privileges), "copy"])
def workspaces(request: pytest.FixtureRequest, tmp_path: Path) -> WorkspaceCache:
    if request.param == "overlay":
        require("privileges", _overlay_missing(tmp_path))
    return WorkspaceCache(tmp_path / "cache", overlays=request.param == "overlay")


def _overlay_missing(folder: Path) -> str | None:
    (folder / "lower").mkdir()
    (folder / "probe").mkdir()
    with overlay_mounted(folder / "lower", folder / "probe") as works:
        return None if works else "overlay mounts need root, or a user namespace of one's own"


class TestLeftOut:
    """Paths that the suite leaves out, such as an instruction file that only one arm is to have."""

    def prepared(self, workspaces: WorkspaceCache, source: Path, *without: str) -> Path:
        return workspaces.prepare(msgspec.structs.replace(a_task(FolderSource(path=str(source))), without=without))

    def test_files_folders_and_links_are_gone_from_the_workspace_and_from_its_only_commit(
        self, workspaces: WorkspaceCache, source: Path
    ) -> None:
        pristine = self.prepared(workspaces, source, "run.sh", "src", "link")

        assert sorted(path.name for path in pristine.iterdir()) == [".git", ".gitignore", "binary"]
        assert _git(pristine, "ls-tree", "-r", "--name-only", "HEAD").split() == [".gitignore", "binary"]
        assert _git(pristine, "status", "--porcelain") == ""

    def test_what_is_not_there_and_what_is_below_a_file_is_passed_over(
        self, workspaces: WorkspaceCache, source: Path
    ) -> None:
        pristine = self.prepared(workspaces, source, "CLAUDE.md", "run.sh/below", "none/at/all")

        assert (pristine / "run.sh").is_file()

    def test_nothing_is_removed_through_a_link_that_leads_out(
        self, workspaces: WorkspaceCache, source: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "kept").write_text("kept")
        (source / "out").symlink_to(tmp_path)

        pristine = self.prepared(workspaces, source, "out/kept")

        assert (tmp_path / "kept").read_text() == "kept"
        assert (pristine / "out").is_symlink()


@pytest.fixture
def laid(workspaces: WorkspaceCache, source: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    pristine = workspaces.prepare(a_task(FolderSource(path=str(source))))
    with workspaces.lay_out(pristine, tmp_path / "runs" / "workspace") as workspace:
        yield workspace, pristine


class TestPreparing:
    def test_what_only_builds_the_environment_stays_out(self, tmp_path: Path, source: Path) -> None:
        (source / "Dockerfile").write_text("FROM scratch")
        without = a_task(FolderSource(path=str(source), without=["Dockerfile"]))

        pristine = WorkspaceCache(tmp_path / "cache").prepare(without)

        assert not (pristine / "Dockerfile").exists()
        assert (pristine / "src" / "main.py").exists()

    def test_a_folder_is_copied_with_links_and_modes(self, tmp_path: Path, source: Path) -> None:
        pristine = WorkspaceCache(tmp_path / "cache").prepare(a_task(FolderSource(path=str(source))))

        assert (pristine / "link").readlink() == Path("src/main.py")
        assert (pristine / "run.sh").stat().st_mode & stat.S_IXUSR
        assert _git(pristine, "status", "--porcelain") == ""

    def test_it_is_one_commit_that_is_the_same_everywhere(self, tmp_path: Path, source: Path) -> None:
        task = a_task(FolderSource(path=str(source)))
        commits = {_git(WorkspaceCache(tmp_path / name).prepare(task), "rev-parse", "HEAD") for name in ("a", "b")}

        assert len(commits) == 1
        assert _git(WorkspaceCache(tmp_path / "a").prepare(task), "rev-list", "--count", "--all") == "1"

    def test_it_is_made_once(self, tmp_path: Path, source: Path) -> None:
        workspaces = WorkspaceCache(tmp_path / "cache")
        task = a_task(FolderSource(path=str(source)))
        first = workspaces.prepare(task)
        (source / "late").write_text("")

        assert workspaces.prepare(task) == first
        assert not (first / "late").exists()
        assert workspaces.prepare(a_task(task.workspace, checksum="other")) != first
        assert not list((tmp_path / "cache").glob("building-*"))

    def test_whatever_is_written_later_has_a_later_time(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        for number in range(50):
            (tree / f"{number}").touch()

            wait_for_mtime_step(tree)

            (tmp_path / "later").touch()
            assert (tmp_path / "later").stat().st_ctime_ns > (tree / f"{number}").stat().st_ctime_ns
        assert sorted(path.name for path in tmp_path.iterdir()) == ["later", "tree"]

    def test_a_repository_is_taken_at_its_commit_without_past_or_future(self, tmp_path: Path, source: Path) -> None:
        _git(source, "init")
        commits = []
        for content in ("past", "wanted", "solution"):
            (source / "file").write_text(content)
            _git(source, "add", "-A")
            _git(source, "commit", "-m", content)
            commits.append(_git(source, "rev-parse", "HEAD"))
        workspaces = WorkspaceCache(tmp_path / "cache")
        whole = workspaces.prepare(a_task(GitSource(repository=str(source), commit=commits[1])))
        short = workspaces.prepare(a_task(GitSource(repository=str(source), commit=commits[1][:10]), checksum="s"))

        assert [(tree / "file").read_text() for tree in (whole, short)] == ["wanted", "wanted"]
        assert _git(whole, "log", "--all", "--format=%s") == "Base"
        assert _git(whole, "rev-parse", "HEAD") == _git(short, "rev-parse", "HEAD")

    def test_an_archive_is_unpacked(self, tmp_path: Path, source: Path) -> None:
        with tarfile.open(tmp_path / "base.tar.gz", "w:gz") as archive:
            archive.add(source, ".")
        task = a_task(TarballSource(path=str(tmp_path / "base.tar.gz")))
        pristine = WorkspaceCache(tmp_path / "cache").prepare(task)

        assert (pristine / "src" / "main.py").read_text() == "print('one')\n"

    def test_no_source_is_an_empty_workspace(self, tmp_path: Path) -> None:
        pristine = WorkspaceCache(tmp_path / "cache").prepare(a_task(None))

        assert [path.name for path in pristine.iterdir()] == [".git"]

    @pytest.mark.parametrize("name", ["../escape", "/tmp/outweigh-escape"])
    def test_an_archive_that_reaches_out_is_refused(self, tmp_path: Path, name: str) -> None:
        with tarfile.open(tmp_path / "evil.tar", "w") as archive:
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, name
            archive.addfile(link)
            member = tarfile.TarInfo("link/file")
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))

        with pytest.raises(UsageError, match=r"evil\.tar"):
            WorkspaceCache(tmp_path / "cache").prepare(a_task(TarballSource(path=str(tmp_path / "evil.tar"))))
        assert list((tmp_path / "cache").iterdir()) == []

    @pytest.mark.parametrize("name", ["../x", "link/x", "pipe", "away", "hard"])
    def test_a_python_without_the_safe_filter_refuses_the_same(self, tmp_path: Path, name: str) -> None:
        kinds = {"pipe": tarfile.FIFOTYPE, "away": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE}
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kinds.get(name, tarfile.REGTYPE), "../../x" if name in ("away", "hard") else ""
        with tarfile.open(tmp_path / "evil.tar", "w") as archive:
            archive.addfile(member)
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "link").symlink_to(tmp_path)

        with tarfile.open(tmp_path / "evil.tar") as archive, pytest.raises(tarfile.TarError, match=name):
            list(checked_members(archive, tmp_path / "target"))

    def test_a_python_without_the_safe_filter_keeps_good_members(self, tmp_path: Path, source: Path) -> None:
        with tarfile.open(tmp_path / "base.tar", "w") as archive:
            archive.add(source, "./")
        with tarfile.open(tmp_path / "base.tar") as archive:
            archive.extractall(tmp_path / "target", members=checked_members(archive, tmp_path / "target"))

        assert (tmp_path / "target" / "link").read_text() == "print('one')\n"

    @pytest.mark.parametrize(
        "source",
        [
            FolderSource(path="/no/such/folder"),
            TarballSource(path="/no/such.tar"),
            GitSource(repository="/no/such/repository", commit="abc"),
            GitSource(repository="--upload-pack=touch /tmp/outweigh-injected", commit="main"),
            GitSource(repository="ext::sh -c touch% /tmp/outweigh-injected", commit="main"),
        ],
        ids=lambda source: type(source).__name__,
    )
    def test_a_source_that_cannot_be_fetched_is_named(self, tmp_path: Path, source: WorkspaceSource) -> None:
        with pytest.raises(UsageError, match="task 'task'"):
            WorkspaceCache(tmp_path / "cache").prepare(a_task(source))
        assert not Path("/tmp/outweigh-injected").exists()


class TestLayingOut:
    def test_each_layout_is_private_and_removed(self, workspaces: WorkspaceCache, source: Path, tmp_path: Path) -> None:
        pristine = workspaces.prepare(a_task(FolderSource(path=str(source))))
        runs = tmp_path / "runs"
        with workspaces.lay_out(pristine, runs / "a") as one, workspaces.lay_out(pristine, runs / "b") as two:
            (one / "src" / "main.py").write_text("changed")
            (one / "src").rename(one / "moved")

            assert (two / "src" / "main.py").read_text() == "print('one')\n"
            assert (one / "moved" / "main.py").read_text() == "changed"

        assert list(runs.iterdir()) == []
        assert (pristine / "src" / "main.py").read_text() == "print('one')\n"

    def test_a_tree_that_is_hard_to_remove_is_removed(self, workspaces: WorkspaceCache, tmp_path: Path) -> None:
        with workspaces.lay_out(workspaces.prepare(a_task(None)), tmp_path / "runs" / "w") as workspace:
            nest = "import os\nfor _ in range(1200):\n os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
            subprocess.run([sys.executable, "-c", nest], cwd=workspace, check=True)

        assert list((tmp_path / "runs").iterdir()) == []

    def test_a_place_that_is_taken_is_refused(self, workspaces: WorkspaceCache, tmp_path: Path) -> None:
        (tmp_path / "taken").mkdir()

        with (
            pytest.raises(SandboxError, match="taken"),
            workspaces.lay_out(workspaces.prepare(a_task(None)), tmp_path / "taken"),
        ):
            pass

    def test_what_a_killed_engine_left_is_swept(self, workspaces: WorkspaceCache, tmp_path: Path) -> None:
        pristine = workspaces.prepare(a_task(None))
        abandoned = workspaces.lay_out(pristine, tmp_path / "runs" / "a b" / "workspace")
        abandoned.__enter__()

        swept = workspaces.sweep(tmp_path / "runs")

        assert swept == [str(tmp_path / "runs" / "a b")]
        assert overlay_mounts_below(tmp_path) == []
        assert list((tmp_path / "runs").iterdir()) == []
        abandoned.__exit__(None, None, None)

    def test_a_path_with_characters_of_mount_options_is_laid_out_like_any_other(self, tmp_path: Path) -> None:
        workspaces = WorkspaceCache(tmp_path / "a,b:c")
        with workspaces.lay_out(workspaces.prepare(a_task(None)), tmp_path / "runs" / "w") as workspace:
            assert (workspace / ".git").is_dir()

    @pytest.mark.needs_bubblewrap
    def test_git_and_writing_work_for_the_agent_in_bubblewrap(self, laid: tuple[Path, Path], tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        request = replace(a_sandbox_request(tmp_path / "sandbox"), workspace=laid[0])
        with BubblewrapSandboxProvider().open(request) as sandbox:
            done = run_shell(
                sandbox, "echo more >>src/main.py; mv src lib; git status --porcelain && git log --format=%s"
            )

        assert done.stdout.decode().split("\n")[-2] == "Base"
        assert b"lib/main.py" in workspace_patch(*laid)


class TestPatch:
    def test_nothing_done_is_an_empty_patch(self, laid: tuple[Path, Path]) -> None:
        assert workspace_patch(*laid) == b""

    def test_it_turns_the_pristine_tree_into_the_workspace(self, laid: tuple[Path, Path], tmp_path: Path) -> None:
        workspace, pristine = laid
        (workspace / "src" / "main.py").write_text("print('two')\n")
        (workspace / "run.sh").chmod(0o644)
        (workspace / "binary").write_bytes(b"\0" * 1000)
        (workspace / "link").unlink()
        (workspace / "new é\n").mkdir()
        (workspace / "new é\n" / "file").write_bytes(b"\xff\xfe\r\n")
        subprocess.run(["cp", "-a", f"{pristine}/.", str(tmp_path / "again")], check=True)

        subprocess.run(
            ["git", "apply", "--binary", "-"],
            cwd=tmp_path / "again",
            input=workspace_patch(*laid),
            env={"PATH": os.environ["PATH"]},
            check=True,
        )

        compared = subprocess.run(
            ["diff", "-r", "--no-dereference", "-x", ".git", str(workspace), str(tmp_path / "again")], check=False
        )
        assert compared.returncode == 0
        assert not (tmp_path / "again" / "run.sh").stat().st_mode & stat.S_IXUSR

    @pytest.mark.parametrize("written", [0, 1_000_000_000, None])
    def test_a_change_that_keeps_size_and_time_is_seen(
        self, workspaces: WorkspaceCache, source: Path, tmp_path: Path, written: int | None
    ) -> None:
        if written is not None:
            os.utime(source / "src" / "main.py", (written, written))
        pristine = workspaces.prepare(a_task(FolderSource(path=str(source))))

        with workspaces.lay_out(pristine, tmp_path / "workspace") as workspace:
            file = workspace / "src" / "main.py"
            before = file.stat()
            file.write_text("print('ONE')\n")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

            assert b"ONE" in workspace_patch(workspace, pristine)

    def test_overlay_files_are_in_the_patch_only_when_the_agent_changed_them(self, laid: tuple[Path, Path]) -> None:
        (laid[0] / "CLAUDE.md").write_text("be kind\n")
        (laid[0] / "AGENTS.md").write_text("be kind\n")
        (laid[0] / "AGENTS.md").unlink()
        (laid[0] / "AGENTS.md").symlink_to("CLAUDE.md")
        before = {name: sha256(b"be kind\n").hexdigest() for name in ("CLAUDE.md", "AGENTS.md")}

        found = workspace_patch(*laid, before)

        assert b"CLAUDE.md b" not in found
        assert b"b/AGENTS.md" in found
        (laid[0] / "CLAUDE.md").write_text("be unkind\n")
        assert b"+be unkind" in workspace_patch(*laid, before)

    def test_commits_of_the_agent_hide_nothing(self, laid: tuple[Path, Path]) -> None:
        (laid[0] / "new").write_text("content\n")
        _git(laid[0], "add", "-A")
        _git(laid[0], "commit", "-m", "mine")

        assert b"+content" in workspace_patch(*laid)

    @pytest.mark.parametrize("damage", ["rm -rf .git", "rm -rf .git && echo gitdir: / >.git", "echo x >.git/HEAD"])
    def test_a_damaged_repository_does_not_matter(self, laid: tuple[Path, Path], damage: str) -> None:
        subprocess.run(["sh", "-c", f"{damage}; echo content >new"], cwd=laid[0], check=True)

        assert b"+content" in workspace_patch(*laid)

    def test_programs_named_in_settings_of_the_agent_are_never_run(
        self, laid: tuple[Path, Path], tmp_path: Path
    ) -> None:
        trap = f"touch {tmp_path}/sprung; cat"
        for name in ("core.fsmonitor", "filter.x.clean", "diff.x.command", "diff.x.textconv", "diff.external"):
            _git(laid[0], "config", name, trap)
        (laid[0] / ".gitattributes").write_text("* filter=x diff=x working-tree-encoding=UTF-16 text eol=crlf\n")
        (laid[0] / "new").write_text("content\n")
        nested = laid[0] / "nested"
        nested.mkdir()
        _git(nested, "init")
        _git(nested, "config", "core.fsmonitor", trap)
        (nested / "hidden").write_text("found\n")

        patch = workspace_patch(*laid)

        assert not (tmp_path / "sprung").exists()
        assert b"+content" in patch
        assert b"+found" in patch

    def test_a_name_that_git_refuses_does_not_hide_the_other_changes(self, laid: tuple[Path, Path]) -> None:
        (laid[0] / "new").write_text("content\n")
        for name in (".GIT", "git~1", ".git ", ".git::$INDEX_ALLOCATION", "a\\.git", ".g\u200cit"):
            (laid[0] / name).mkdir()
            (laid[0] / name / "file").write_text(f"below {name}\n")

        patch = workspace_patch(*laid)

        assert b"+content" in patch
        assert b"# left out because git refuses its name: '.GIT/file'\n" in patch
        assert patch.count(b"+below ") == 5

    def test_new_files_beyond_a_number_are_left_out_by_name(self, laid: tuple[Path, Path]) -> None:
        (laid[0] / "zz").mkdir()
        for number in range(PATCH_COUNT_LIMIT):
            (laid[0] / "zz" / f"{number:05}").touch()
        (laid[0] / "new").write_text("content\n")

        patch = workspace_patch(*laid)

        assert b"+content" in patch
        last = f"zz/{PATCH_COUNT_LIMIT - 1:05}"
        assert f"# left out after {PATCH_COUNT_LIMIT:,} other files: {last!r}\n".encode() in patch

    def test_only_rules_of_the_task_ignore_new_files(self, laid: tuple[Path, Path]) -> None:
        workspace = laid[0]
        for folder in ("build", "__pycache__", "mine"):
            (workspace / folder).mkdir()
            (workspace / folder / "file").write_text(f"in {folder}\n")
        (workspace / ".gitignore").write_text("*\n")

        patch = workspace_patch(*laid)

        assert b"in mine" in patch
        assert b"in build" not in patch
        assert b"in __pycache__" not in patch

    def test_folders_links_and_files_may_trade_places(self, laid: tuple[Path, Path], tmp_path: Path) -> None:
        workspace = laid[0]
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "main.py").write_text("outside\n")
        (workspace / "src" / "main.py").unlink()
        (workspace / "src").rmdir()
        (workspace / "src").symlink_to(tmp_path / "elsewhere")
        (workspace / "run.sh").unlink()
        (workspace / "run.sh").mkdir()
        (workspace / "run.sh" / "inner").write_text("inside\n")

        patch = workspace_patch(*laid)

        assert b"deleted file" in patch
        assert b"+inside" in patch
        assert b"outside" not in patch

    def test_what_is_too_large_or_no_file_is_left_out(self, laid: tuple[Path, Path]) -> None:
        with (laid[0] / "huge").open("wb") as huge:
            huge.truncate(200 * PATCH_FILE_LIMIT)
        with (laid[0] / "binary").open("ab") as grown:
            grown.truncate(2 * PATCH_FILE_LIMIT)
        os.mkfifo(laid[0] / "pipe")
        (laid[0] / "small").write_text("small\n")

        patch = workspace_patch(*laid)

        assert b"# left out for its size: 'huge'" in patch
        assert b"# left out for its size: 'binary'" in patch
        assert b"+small" in patch
        assert len(patch) < 2000
