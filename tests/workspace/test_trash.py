"""Trees are moved away at once and removed in the background."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import pytest

from outweigh.workspace.trash import Trash

PATIENCE_SECONDS = 30.0


@pytest.fixture
def trash(tmp_path: Path) -> Iterator[Trash]:
    with Trash(tmp_path / "waste") as trash:
        yield trash


def a_tree(root: Path) -> Path:
    (root / "closed").mkdir(parents=True)
    (root / "closed" / "file").touch()
    (root / "link").symlink_to("/")
    (root / "closed").chmod(0)
    return root


def test_the_name_of_a_removed_tree_is_free_at_once(trash: Trash, tmp_path: Path) -> None:
    for _ in range(20):
        trash.remove(a_tree(tmp_path / "tree"))

        assert not (tmp_path / "tree").exists()


def test_everything_is_removed_when_the_context_ends(tmp_path: Path) -> None:
    with Trash(tmp_path / "waste") as trash:
        for number in range(50):
            trash.remove(a_tree(tmp_path / f"tree-{number}"))

    assert list(tmp_path.iterdir()) == []


def test_it_is_emptied_while_it_is_in_use(trash: Trash, tmp_path: Path) -> None:
    trash.remove(a_tree(tmp_path / "tree"))

    deadline = monotonic() + PATIENCE_SECONDS
    while list((tmp_path / "waste").iterdir()):
        assert monotonic() < deadline, "nobody empties it"
        sleep(0.01)


def test_removing_a_tree_that_does_not_exist_is_fine(trash: Trash, tmp_path: Path) -> None:
    trash.remove(tmp_path / "none")


def test_a_tree_on_another_file_system_is_removed_at_once(trash: Trash, tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other disk")
    with TemporaryDirectory(dir=elsewhere) as folder:
        tree = a_tree(Path(folder, "tree"))
        trash.remove(tree)

        assert not tree.exists()
