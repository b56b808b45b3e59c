"""The tree that an agent left is made readable, or said to be beyond the bounds."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.prerequisites import require

from outweigh.workspace.survey import TreeBounds, survey_workspace
from outweigh.workspace.trash import remove_tree

SOMEBODY = 65534
"""A user without rights."""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A folder that any user may reach, unlike those of pytest."""
    with TemporaryDirectory(prefix="tree-") as folder:
        Path(folder).chmod(0o777)
        (Path(folder) / "tree").mkdir()
        yield Path(folder) / "tree"
        remove_tree(Path(folder) / "tree")


def close_everything(tree: Path) -> None:
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").write_text("content")
    for path in (tree / "a" / "b" / "file", tree / "a" / "b", tree / "a", tree):
        path.chmod(0)


def nest(tree: Path, depth: int) -> None:
    """Nest folders deeper than any path can be long."""
    here = os.open(tree, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def as_somebody(work: Callable[[], None]) -> int:
    """The exit code of a process without rights that does this."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


class TestPermissions:
    def test_what_the_agent_closed_is_opened_for_its_owner(self, tree: Path) -> None:
        close_everything(tree)

        assert survey_workspace(tree) is None

        modes = [stat.S_IMODE(path.lstat().st_mode) for path in (tree, tree / "a", tree / "a/b", tree / "a/b/file")]
        assert modes == [0o700, 0o700, 0o700, 0o400]

    @pytest.mark.needs_privileges
    def test_a_user_without_rights_opens_its_own_tree(self, tree: Path) -> None:
        require("privileges", None if os.geteuid() == 0 else "only root can become another user")
        os.chown(tree, SOMEBODY, SOMEBODY)

        def work() -> None:
            close_everything(tree)
            assert survey_workspace(tree) is None
            assert (tree / "a" / "b" / "file").read_text() == "content"

        assert as_somebody(work) == 0

    def test_what_was_open_keeps_its_mode(self, tree: Path) -> None:
        (tree / "script").touch()
        (tree / "script").chmod(0o4755)
        (tree / "read-only").touch()
        (tree / "read-only").chmod(0o444)

        survey_workspace(tree)

        assert stat.S_IMODE((tree / "script").stat().st_mode) == 0o4755
        assert stat.S_IMODE((tree / "read-only").stat().st_mode) == 0o444

    def test_nothing_outside_is_opened_through_a_link(self, tree: Path) -> None:
        outside = tree.parent / "outside"
        outside.mkdir(mode=0)
        (tree / "link").symlink_to(outside)
        (tree / "dangling").symlink_to("nowhere")
        (tree / "loop").symlink_to("loop")

        assert survey_workspace(tree) is None

        assert stat.S_IMODE(outside.stat().st_mode) == 0

    def test_pipes_and_odd_names_are_passed_over(self, tree: Path) -> None:
        os.mkfifo(tree / "pipe")
        odd = tree / os.fsdecode(b"\xff\n")
        odd.mkdir()
        os.mkfifo(odd / "-rf")

        assert survey_workspace(tree) is None


class TestBounds:
    BOUNDS = TreeBounds(depth=5, path_bytes=40, entries=30)

    @pytest.mark.parametrize(("depth", "excess"), [(4, None), (5, "it nests folders more than 5 deep")])
    def test_depth(self, tree: Path, depth: int, excess: str | None) -> None:
        nest(tree, depth)

        assert survey_workspace(tree, self.BOUNDS) == excess

    @pytest.mark.parametrize(("length", "excess"), [(19, None), (20, "it has a path of more than 40 bytes")])
    def test_length_of_a_path_counts_its_folders_and_bytes(self, tree: Path, length: int, excess: str | None) -> None:
        folder = tree / ("é" * 10)
        folder.mkdir()
        (folder / ("x" * length)).touch()

        assert survey_workspace(tree, self.BOUNDS) == excess

    @pytest.mark.parametrize(("files", "excess"), [(29, None), (30, "it has more than 30 files and folders")])
    def test_number_of_entries(self, tree: Path, files: int, excess: str | None) -> None:
        (tree / "folder").mkdir()
        for number in range(files):
            (tree / "folder" / str(number)).touch()

        assert survey_workspace(tree, self.BOUNDS) == excess

    def test_the_default_bounds_stop_at_what_programs_with_path_names_cannot_handle(self, tree: Path) -> None:
        nest(tree, 2500)

        assert survey_workspace(tree) == "it nests folders more than 200 deep"

    def test_no_folder_stays_open(self, tree: Path) -> None:
        nest(tree, 10)
        before = open_files()

        survey_workspace(tree)
        survey_workspace(tree, self.BOUNDS)

        assert open_files() == before


class TestRemoval:
    def test_a_tree_of_any_depth_is_removed(self, tree: Path) -> None:
        nest(tree, 2500)

        remove_tree(tree)

        assert not tree.exists()

    @pytest.mark.needs_privileges
    def test_a_closed_tree_of_any_depth_is_removed_without_rights(self, tree: Path) -> None:
        require("privileges", None if os.geteuid() == 0 else "only root can become another user")
        os.chown(tree, SOMEBODY, SOMEBODY)

        def work() -> None:
            nest(tree, 1500)
            close_everything(tree)
            remove_tree(tree)
            assert not os.path.lexists(tree)

        assert as_somebody(work) == 0
