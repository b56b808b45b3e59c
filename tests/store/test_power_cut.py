"""What the store acknowledges survives a power cut, and a write that fails half-way leaves nothing behind."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.prerequisites import needs, require
from tests.store.lossy_disk import build_shim, compiler_missing, run_traced

from outweigh.store.run_store import FolderRunStore, read_preferences


@pytest.fixture(scope="module")
@needs("compiler")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("compiler", compiler_missing())
    return build_shim(tmp_path_factory.mktemp("shim"))


def kept_in(folder: Path) -> set[str]:
    """Everything that a store still holds, in the words in which the programs below acknowledge it."""
    with FolderRunStore.open(folder) as store:
        runs = {f"run {repeat}" for _, _, repeat in store.finished()}
        judgments = {f"judgment of {run}" for run in store.judgments()}
        begun = {f"beginning of {attempt.run_id}" for attempt in store.abandoned()}
    preferences = {f"preference on {answer.task_id}" for answer in read_preferences(folder)}
    artifacts = {f"artifact {path.name}" for path in folder.glob("artifacts/??/*")}
    return runs | judgments | begun | preferences | artifacts


STORE = """
from outweigh.store.run_store import FolderRunStore, PreferenceLog
from outweigh.testing.builders import a_judgment, a_preference, a_run
folder = ROOT / "new" / "store"
"""

KEEP_EVERYTHING = f"""{STORE}
for number in (1, 2):
    with FolderRunStore.open(folder) as store:
        run = a_run(repeat=number)
        store.begin(f"begun-{{number}}", run.trial, 1)
        acknowledge(f"beginning of begun-{{number}}")
        acknowledge("artifact " + store.keep(f"transcript {{number}}".encode()))
        store.append(run)
        acknowledge(f"run {{number}}")
        store.append(a_run(repeat=number + 10))
        acknowledge(f"run {{number + 10}}")
        store.append_judgment(a_judgment(run))
        acknowledge(f"judgment of {{run.run_id}}")
        preferences = PreferenceLog(folder)
        preferences.append(a_preference(run, a_run(arm="candidate", repeat=number), task_id=f"task-{{number}}"))
        acknowledge(f"preference on task-{{number}}")
        preferences.close()
"""


def test_nothing_that_was_acknowledged_is_lost_when_everything_unsynced_is(shim: Path, tmp_path: Path) -> None:
    cuts = 0
    for acknowledged, left in run_traced(shim, KEEP_EVERYTHING, tmp_path).power_cuts(tmp_path):
        lost = set(acknowledged) - kept_in(left / "new" / "store")
        assert not lost, f"lost after {acknowledged[-1]!r}"
        cuts += 1
    assert cuts == 12


APPEND_LINES = """
from outweigh.store.append_log import AppendLog
log = AppendLog(ROOT / "lines.log")
for number in range(1, 5):
    try:
        log.append(b"line %d\\n" % number)
    except OSError as fault:
        print(f"line {number}: {fault.strerror}; the file holds {log.durable_bytes}", end=" ")
    else:
        acknowledge(f"line {number}")
    print((ROOT / "lines.log").read_text().split("\\n")[:-1], (ROOT / "lines.log").read_text().endswith("\\n"))
log.close()
"""


def lines_after_each_append(shim: Path, folder: Path, fault: str) -> tuple[list[str], Sequence[str]]:
    traced = run_traced(shim, APPEND_LINES, folder, fault)
    *_, (_, last) = traced.power_cuts(folder)
    return traced.printed.splitlines(), (last / "lines.log").read_text(encoding="utf-8").splitlines()


def test_half_a_line_that_met_a_full_disk_is_cut_off_at_once(shim: Path, tmp_path: Path) -> None:
    printed, on_disk = lines_after_each_append(shim, tmp_path, "lines.log:torn:2:2")

    assert printed == [
        "['line 1'] True",
        "line 2: No space left on device; the file holds 7 ['line 1'] True",
        "['line 1', 'line 3'] True",
        "['line 1', 'line 3', 'line 4'] True",
    ]
    assert on_disk == ["line 1", "line 3", "line 4"]


def test_a_line_whose_sync_failed_is_refused_and_cut_off(shim: Path, tmp_path: Path) -> None:
    printed, on_disk = lines_after_each_append(shim, tmp_path, "lines.log:sync:2:2")

    assert printed[1] == "line 2: Input/output error; the file holds 7 ['line 1'] True"
    assert on_disk == ["line 1", "line 3", "line 4"]


def test_half_a_line_that_could_not_be_cut_off_is_cut_off_before_the_next_one(shim: Path, tmp_path: Path) -> None:
    printed, on_disk = lines_after_each_append(shim, tmp_path, "lines.log:torn:2:2 lines.log:cut:1:1")

    assert printed[1] == "line 2: No space left on device; the file holds 7 ['line 1'] False"
    assert printed[2] == "['line 1', 'line 3'] True"
    assert on_disk == ["line 1", "line 3", "line 4"]


def test_a_line_is_refused_while_half_a_line_before_it_cannot_be_cut_off(shim: Path, tmp_path: Path) -> None:
    printed, on_disk = lines_after_each_append(shim, tmp_path, "lines.log:torn:2:2 lines.log:cut:1:2")

    assert printed[2].startswith("line 3: Input/output error; the file holds 7")
    assert on_disk == ["line 1", "line 4"]


def test_a_log_whose_folder_cannot_be_synced_acknowledges_nothing(shim: Path, tmp_path: Path) -> None:
    printed, on_disk = lines_after_each_append(shim, tmp_path, "root:sync:1:1")

    assert printed[0].startswith("line 1: Input/output error; the file holds 0")
    assert on_disk == ["line 2", "line 3", "line 4"]


OPEN_FILES = """
from outweigh.store.append_log import AppendLog
(ROOT / "other").write_bytes(b"opens the log of requests")
before = len(os.listdir("/proc/self/fd"))
log = AppendLog(ROOT / "lines.log")
try:
    log.append(b"line\\n")
except OSError:
    acknowledge("nothing")
    print(len(os.listdir("/proc/self/fd")) - before)
"""


def test_a_log_that_could_not_be_opened_holds_no_file_open(shim: Path, tmp_path: Path) -> None:
    assert run_traced(shim, OPEN_FILES, tmp_path, "root:sync:1:1").printed == "0\n"


REPLACE_A_FILE = """
from outweigh.store.durable_files import write_atomic
for content in (b"first", b"second"):
    write_atomic(ROOT / "file", [content])
    acknowledge(content.decode())
"""


def test_a_file_that_was_replaced_holds_its_new_content_after_a_power_cut(shim: Path, tmp_path: Path) -> None:
    cuts = run_traced(shim, REPLACE_A_FILE, tmp_path).power_cuts(tmp_path)

    assert [(acknowledged[-1], (left / "file").read_text()) for acknowledged, left in cuts] == [
        ("first", "first"),
        ("second", "second"),
    ]


REPLACE_WITHOUT_A_SYNC = """
from outweigh.errors import UsageError
from outweigh.store.durable_files import write_atomic
try:
    write_atomic(ROOT / "file", [b"content"])
except UsageError as refusal:
    print(str(refusal).replace(str(ROOT), "ROOT"))
"""


def test_a_file_whose_folder_cannot_be_synced_is_not_said_to_be_written(shim: Path, tmp_path: Path) -> None:
    traced = run_traced(shim, REPLACE_WITHOUT_A_SYNC, tmp_path, "root:sync:2:2")

    assert traced.printed == "ROOT/file cannot be written: Input/output error.\n"
