"""The repair of a log: what was acknowledged is never destroyed, whatever became of it."""

from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.model.codec import decode, encode
from outweigh.model.line_seal import seal, seal_behind
from outweigh.store.log_repair import LogRepair, refuse_damage, repair_log
from outweigh.testing.builders import a_run


def lines(number: int) -> list[bytes]:
    return [seal(encode(a_run(repeat=repeat))) for repeat in range(1, number + 1)]


def damaged_log(folder: Path, number: int) -> Path:
    """A log whose lines all have a wrong checksum, and whose JSON is intact."""
    path = folder / "runs-engine.jsonl"
    # The last digit of the checksum, before the quote, the brace and the line feed.
    path.write_bytes(
        b"".join(line[:-4] + (b"1" if line[-4:-3] == b"0" else b"0") + line[-3:] for line in lines(number))
    )
    return path


def test_damaged_lines_stay_where_they_are_however_many_there_are(tmp_path: Path) -> None:
    path = damaged_log(tmp_path, 48)
    before = path.read_bytes()

    repair = repair_log(path, decode)

    assert path.read_bytes() == before
    assert [line.line for line in repair.damaged] == list(range(1, 49))
    assert repair.torn is None
    assert repair.copy is not None
    assert repair.copy.name.startswith("damaged-runs-engine-")
    assert repair.copy.read_bytes() == before


def test_the_copy_is_no_file_of_records_and_is_written_once(tmp_path: Path) -> None:
    path = damaged_log(tmp_path, 2)
    first = repair_log(path, decode).copy
    assert first is not None
    written = first.stat().st_mtime_ns, first.stat().st_ino

    again = repair_log(path, decode).copy

    assert again == first
    assert (first.stat().st_mtime_ns, first.stat().st_ino) == written
    assert first.suffix != ".jsonl"


def test_other_damage_is_copied_beside_the_first(tmp_path: Path) -> None:
    first = repair_log(damaged_log(tmp_path, 1), decode).copy
    second = repair_log(damaged_log(tmp_path, 3), decode).copy

    assert first is not None
    assert second is not None
    assert first != second
    assert first.exists()


def test_only_an_unterminated_last_line_is_cut_off(tmp_path: Path) -> None:
    path = damaged_log(tmp_path, 2)
    before = path.read_bytes()
    path.write_bytes(before + lines(3)[2][:-1])

    repair = repair_log(path, decode)

    assert path.read_bytes() == before
    assert repair.torn is not None
    assert repair.torn.line == 3
    assert [line.line for line in repair.damaged] == [1, 2]


def test_a_log_without_damage_is_left_alone_and_has_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "runs-engine.jsonl"
    content = b"".join([lines(3)[0], b"\n", seal_behind(encode(a_run(repeat=2))), lines(3)[2]])
    path.write_bytes(content)
    seen: list[bytes] = []

    repair = repair_log(path, seen.append)

    assert repair == LogRepair(torn=None, damaged=(), copy=None)
    assert path.read_bytes() == content
    assert len(seen) == 3
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_damage_is_refused_with_its_place_its_copy_and_the_way_out(tmp_path: Path) -> None:
    repair = repair_log(damaged_log(tmp_path, 48), decode)

    with pytest.raises(EvidenceError) as refused:
        refuse_damage([repair], go_on_without=False)

    said = str(refused.value)
    assert "runs-engine.jsonl:1: the line does not match its checksum" in said
    assert "and 45 more lines" in said
    assert str(repair.copy) in said
    assert "pass --go-on-without" in said
    assert "never promotes" in said


def test_who_says_so_goes_on_without_and_a_torn_end_alone_blocks_nobody(tmp_path: Path) -> None:
    refuse_damage([repair_log(damaged_log(tmp_path, 2), decode)], go_on_without=True)
    torn = tmp_path / "judgments-engine.jsonl"
    torn.write_bytes(lines(1)[0] + b"{")

    refuse_damage([repair_log(torn, decode)], go_on_without=False)
