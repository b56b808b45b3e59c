from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.model.codec import refuse_invalid
from outweigh.store.choice_file import CHOICES_FILE, append_choice, choices_by_arm, read_choices
from outweigh.store.records import RecordReader
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_choice, a_run


def test_choices_come_back_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    choices = (a_choice("tier-2"), a_choice("tier-3", "variant"))
    for choice in choices:
        append_choice(tmp_path, choice)
    assert read_choices(tmp_path) == choices


def test_a_store_without_the_file_has_no_choice(tmp_path: Path) -> None:
    assert read_choices(tmp_path) == ()
    assert read_choices(tmp_path / "missing") == ()


def test_a_torn_last_line_was_never_a_choice_and_is_cut_off_when_the_store_is_opened(tmp_path: Path) -> None:
    append_choice(tmp_path, a_choice("tier-2"))
    append_choice(tmp_path, a_choice("tier-3"))
    whole = (tmp_path / CHOICES_FILE).read_bytes()
    (tmp_path / CHOICES_FILE).write_bytes(whole[:-20])
    assert read_choices(tmp_path) == (a_choice("tier-2"),)
    with FolderRunStore.open(tmp_path):
        append_choice(tmp_path, a_choice("tier-3"))
    assert (tmp_path / CHOICES_FILE).read_bytes() == whole


@pytest.mark.parametrize("place", [10, 200, -30])
def test_a_changed_line_is_refused(tmp_path: Path, place: int) -> None:
    append_choice(tmp_path, a_choice("tier-2"))
    content = bytearray((tmp_path / CHOICES_FILE).read_bytes())
    content[place] ^= 1
    (tmp_path / CHOICES_FILE).write_bytes(content)
    with pytest.raises(EvidenceError, match=rf"{CHOICES_FILE}:1: .*backup"):
        read_choices(tmp_path)


def test_a_line_without_its_checksum_is_refused(tmp_path: Path) -> None:
    append_choice(tmp_path, a_choice("tier-2"))
    content = (tmp_path / CHOICES_FILE).read_bytes()
    (tmp_path / CHOICES_FILE).write_bytes(content[: content.index(b',"crc32"')] + b"}\n")
    with pytest.raises(EvidenceError, match="checksum"):
        read_choices(tmp_path)


def test_a_line_that_is_no_choice_is_refused(tmp_path: Path) -> None:
    with FolderRunStore.open(tmp_path) as store:
        store.append(a_run())
    (tmp_path / "runs-engine.jsonl").rename(tmp_path / CHOICES_FILE)
    with pytest.raises(EvidenceError, match="is not a choice"):
        read_choices(tmp_path)


def test_a_folder_that_cannot_be_written_is_told_with_the_arm(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="choice for 'tier-2' could not be kept"):
        append_choice(tmp_path / "missing", a_choice("tier-2"))


def test_an_arm_that_nothing_could_be_chosen_for_may_be_chosen_later() -> None:
    nothing, later = a_choice("tier-2", None), a_choice("tier-2", "variant")
    assert choices_by_arm([nothing]) == {"tier-2": nothing}
    assert choices_by_arm([nothing, nothing, later]) == {"tier-2": later}


def test_a_choice_is_never_changed() -> None:
    with pytest.raises(EvidenceError, match="two choices for 'tier-2'"):
        choices_by_arm([a_choice("tier-2", "variant"), a_choice("tier-2", "baseline")])


def test_readers_of_runs_read_a_store_with_choices(tmp_path: Path) -> None:
    with FolderRunStore.open(tmp_path) as store:
        store.append(a_run())
        append_choice(tmp_path, a_choice())
    found = [located.record for located in RecordReader(str(tmp_path)).records(refuse_invalid)]
    assert found == [a_choice(), a_run()]
