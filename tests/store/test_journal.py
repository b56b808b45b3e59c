"""A journal: durable lines, one writer after the other, and what a crash or damage leaves of it."""

import sys
from pathlib import Path
from subprocess import Popen

import pytest

from outweigh.errors import UsageError
from outweigh.store.journal import open_journal, read_journal

COUNTER = """
import sys
from pathlib import Path
from outweigh.store.journal import open_journal
for _ in range(20):
    with open_journal(Path(sys.argv[1])) as journal:
        journal.append(str(len(journal.lines)).encode())
"""


def written(path: Path, *contents: bytes) -> Path:
    with open_journal(path) as journal:
        for content in contents:
            journal.append(content)
    return path


def test_what_was_appended_is_read_again_and_a_missing_journal_is_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "new folder" / "log", b"one", b"two")

    assert read_journal(path) == ([b"one", b"two"], 0)
    assert read_journal(tmp_path / "none") == ([], 0)


def test_processes_that_decide_by_what_they_read_never_decide_from_the_same_state(tmp_path: Path) -> None:
    path = tmp_path / "log"
    processes = [Popen([sys.executable, "-c", COUNTER, str(path)]) for _ in range(3)]

    assert [process.wait() for process in processes] == [0, 0, 0]
    assert read_journal(path) == ([str(number).encode() for number in range(60)], 0)


@pytest.mark.parametrize("kept", [1, 10, -1])
def test_a_line_that_a_crash_cut_short_is_not_there_and_the_next_writer_cuts_it_off(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path / "log", b"one")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:kept])

    assert read_journal(path) == ([b"one"], 0)
    written(path, b"two")
    assert read_journal(path) == ([b"one", b"two"], 0)
    assert path.read_bytes().startswith(whole)


def test_a_damaged_line_among_others_is_counted_and_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "log", b"one", b"two", b"three")
    path.write_bytes(path.read_bytes().replace(b"two", b"six"))

    assert read_journal(path) == ([b"one", b"three"], 1)
    with open_journal(path) as journal:
        assert (journal.lines, journal.damaged) == ([b"one", b"three"], 1)


def test_a_journal_that_cannot_be_opened_is_said_so_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be opened"), open_journal(tmp_path):
        pass
    with pytest.raises(UsageError, match="cannot be opened"), open_journal(tmp_path / "file" / "log"):
        pass
    with pytest.raises(UsageError, match="cannot be read"):
        read_journal(tmp_path)
