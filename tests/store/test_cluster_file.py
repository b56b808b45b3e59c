"""Claims about the name that the hosts of a cluster know a store by."""

import shutil
from pathlib import Path

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.store.cluster_file import CLUSTER_FILE, begin_session


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def test_the_leads_of_a_store_are_counted_under_one_name(store: Path) -> None:
    first, second = begin_session(store), begin_session(store)

    assert first.experiment == second.experiment
    assert (first.sessions, second.sessions) == (1, 2)


def test_a_store_that_is_moved_keeps_its_name(store: Path, tmp_path: Path) -> None:
    before = begin_session(store)
    store.rename(tmp_path / "elsewhere")

    assert begin_session(tmp_path / "elsewhere").experiment == before.experiment
    assert begin_session(tmp_path / "elsewhere").sessions == 3


def test_a_copy_of_a_store_is_another_experiment_and_the_original_keeps_its_name(store: Path, tmp_path: Path) -> None:
    before = begin_session(store)
    shutil.copytree(store, tmp_path / "copy")

    copy = begin_session(tmp_path / "copy")

    assert copy.experiment != before.experiment
    assert begin_session(tmp_path / "copy").experiment == copy.experiment
    assert begin_session(store).experiment == before.experiment


def test_a_store_that_was_restored_in_its_place_keeps_its_name(store: Path, tmp_path: Path) -> None:
    before = begin_session(store)
    shutil.copytree(store, tmp_path / "backup")
    shutil.rmtree(store)
    (tmp_path / "occupied").mkdir()
    shutil.copytree(tmp_path / "backup", store)

    assert begin_session(store).experiment == before.experiment


def test_a_copy_on_another_machine_is_another_experiment_although_it_has_the_same_path(
    store: Path, tmp_path: Path
) -> None:
    before = begin_session(store, node="first")
    shutil.copytree(store, tmp_path / "copy")
    store.rename(tmp_path / "original")
    (tmp_path / "copy").rename(store)

    assert begin_session(store, node="second").experiment != before.experiment


def test_a_store_on_a_disk_that_another_machine_mounts_keeps_its_name(store: Path) -> None:
    before = begin_session(store, node="first")

    assert begin_session(store, node="second").experiment == before.experiment


def test_a_file_of_an_earlier_release_keeps_the_name(store: Path) -> None:
    before = begin_session(store)
    known = msgspec.json.decode((store / CLUSTER_FILE).read_bytes())
    del known["node"]
    (store / CLUSTER_FILE).write_bytes(msgspec.json.encode(known))

    assert begin_session(store).experiment == before.experiment


def test_a_damaged_file_is_refused_with_a_way_out(store: Path) -> None:
    begin_session(store)
    (store / CLUSTER_FILE).write_text("{")

    with pytest.raises(EvidenceError, match="damaged"):
        begin_session(store)
