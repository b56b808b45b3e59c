"""Claims about the temporary folder of an engine."""

from pathlib import Path

import pytest

from outweigh.app.build_engine import SCRATCH_NOTE, scratch_folder, sweep_scratch


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def test_it_is_private_not_in_the_store_and_gone_at_the_end(store: Path) -> None:
    with scratch_folder(store) as folder:
        (folder / "file").touch()

        assert folder.stat().st_mode & 0o777 == 0o700
        assert store not in folder.parents
        assert (store / SCRATCH_NOTE).read_text() == f"{folder}\n"

    assert not folder.exists()
    assert list(store.iterdir()) == []


def test_every_engine_has_one_of_its_own(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    with scratch_folder(store) as one, scratch_folder(other) as two:
        assert one != two


def test_what_a_killed_engine_left_is_found_by_the_next(store: Path, tmp_path: Path) -> None:
    left = tmp_path / "outweigh-0123456789abcdef"
    (left / "trials" / "1").mkdir(parents=True)
    (store / SCRATCH_NOTE).write_text(f"{left}\n")

    assert sweep_scratch(store) == str(left)
    assert not left.exists()
    assert sweep_scratch(store) is None


@pytest.mark.parametrize("name", ["precious", "outweigh-notes", "outweigh-0123456789abcdef/.."])
def test_a_note_that_leads_elsewhere_removes_nothing(store: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "outweigh-0123456789abcdef").mkdir()
    (tmp_path / name).mkdir(exist_ok=True)
    (store / SCRATCH_NOTE).write_text(f"{tmp_path / name}\n")

    assert sweep_scratch(store) is None
    assert (tmp_path / name).exists()
    assert not (store / SCRATCH_NOTE).exists()


def test_a_link_in_its_place_is_not_followed(store: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "outweigh-0123456789abcdef").symlink_to(precious)
    (store / SCRATCH_NOTE).write_text(f"{tmp_path}/outweigh-0123456789abcdef\n")

    assert sweep_scratch(store) is None
    assert precious.exists()


def test_garbage_in_the_note_is_no_obstacle(store: Path) -> None:
    (store / SCRATCH_NOTE).write_bytes(b"\xff\x00")

    assert sweep_scratch(store) is None
    with scratch_folder(store) as folder:
        assert folder.exists()
