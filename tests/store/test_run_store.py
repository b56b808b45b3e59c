import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event

import pytest
from tests.prerequisites import require

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import RECORD_LINE_LIMIT, encode, refuse_invalid
from outweigh.model.failure import Status
from outweigh.model.line_seal import seal, seal_behind
from outweigh.model.run_record import RunRecord, Trial
from outweigh.ports.stores import RunStore
from outweigh.store.append_log import AppendLog
from outweigh.store.records import RecordReader
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run

CLEAN = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def runs_file(folder: Path) -> Path:
    return folder / "runs-engine.jsonl"


def attempts_file(folder: Path) -> Path:
    return folder / "attempts-engine.log"


def filled(folder: Path, *runs: RunRecord) -> Path:
    with FolderRunStore.open(folder) as store:
        for run in runs:
            store.append(run)
    return runs_file(folder)


def repeats_in(store: FolderRunStore) -> list[int]:
    return sorted(repeat for _, _, repeat in store.finished())


def in_threads(number: int, store: RunStore, runs: Sequence[RunRecord]) -> list[BaseException | None]:
    with ThreadPoolExecutor(number) as threads:
        return [done.exception() for done in [threads.submit(store.append, run) for run in runs]]


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file may grow beyond this; Python ignores the signal, so that writes fail as on a full disk."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: hundreds of openings flush hundreds of times."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


class TestAppending:
    def test_a_record_is_found_again_by_its_trial_with_attempts_in_order(self, tmp_path: Path) -> None:
        second = a_run(run_id="r2", attempt=2)
        first = a_run(run_id="r1", attempt=1, status=Status.INFRA_ERROR)
        other = a_run(arm="candidate")
        filled(tmp_path / "new" / "folder", second, first, other)

        with FolderRunStore.open(tmp_path / "new" / "folder") as store:
            found = store.finished()

        assert found == {("task-1", "baseline", 1): [first, second], ("task-1", "candidate", 1): [other]}
        assert store.repairs == []

    def test_a_record_is_on_disk_sealed_when_append_returns(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.append(a_run())

            assert runs_file(tmp_path).read_bytes() == seal(encode(a_run()))

    def test_a_new_opening_appends_and_changes_nothing(self, tmp_path: Path) -> None:
        before = filled(tmp_path, a_run()).read_bytes()

        after = filled(tmp_path, a_run(repeat=2)).read_bytes()

        assert after == before + seal(encode(a_run(repeat=2)))

    def test_every_writer_has_its_own_file_and_all_are_read(self, tmp_path: Path) -> None:
        for number, writer in enumerate(("a", "b"), start=1):
            with FolderRunStore.open(tmp_path, writer=writer) as store:
                store.append(a_run(repeat=number))

        with FolderRunStore.open(tmp_path, writer="c") as store:
            assert repeats_in(store) == [1, 2]
        assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["runs-a.jsonl", "runs-b.jsonl"]

    @pytest.mark.parametrize("writer", ["", "../up", "a b", ".hidden"])
    def test_a_writer_that_cannot_be_a_file_name_is_refused(self, tmp_path: Path, writer: str) -> None:
        with pytest.raises(UsageError, match="cannot name a writer"):
            FolderRunStore.open(tmp_path, writer=writer)

    def test_the_folder_can_be_read_as_evidence_while_the_engine_works(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("r", a_run().trial, 1)
            store.append(a_run())

            assert [located.record for located in RecordReader(str(tmp_path)).records(refuse_invalid)] == [a_run()]

    def test_a_second_record_of_one_attempt_is_refused_now_and_after_opening_again(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.append(a_run())
            with pytest.raises(ValueError, match="has a record already"):
                store.append(a_run())

        with FolderRunStore.open(tmp_path) as store, pytest.raises(ValueError, match="has a record already"):
            store.append(a_run())

    @pytest.mark.parametrize(
        "run",
        [
            a_run(status_detail="x" * RECORD_LINE_LIMIT),
            a_run(family="\ud800"),
            a_run(duration_seconds=-1.0),
            a_run(extra={"handle": object()}),
        ],
        ids=["too long", "no text", "impossible", "no JSON"],
    )
    def test_a_record_that_could_not_be_read_again_is_refused_and_harms_nobody(
        self, tmp_path: Path, run: RunRecord
    ) -> None:
        with FolderRunStore.open(tmp_path) as store:
            with pytest.raises(EvidenceError, match="'task-1/baseline/1' could not be read again"):
                store.append(run)
            store.append(a_run(repeat=2))

            assert repeats_in(store) == [2]

    def test_nothing_is_taken_after_closing(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.append(a_run())

        with pytest.raises(EvidenceError, match="the log is closed"):
            store.append(a_run(repeat=2))


class TestGroups:
    def test_records_of_many_threads_are_all_there_and_whole(self, tmp_path: Path) -> None:
        runs = [a_run(repeat=number) for number in range(400)]
        with FolderRunStore.open(tmp_path) as store:
            faults = in_threads(16, store, runs)

            assert faults == [None] * 400
            assert repeats_in(store) == list(range(400))
            assert store.repairs == []

    def test_a_thread_that_appends_alone_waits_for_no_company(self, tmp_path: Path) -> None:
        alone = AppendLog(tmp_path / "alone")
        for _ in range(50):
            alone.append(b"line\n")

        assert alone.flushes == 50

    def test_threads_that_append_at_once_share_a_flush(self, tmp_path: Path) -> None:
        together, appended = AppendLog(tmp_path / "together"), 0
        line = b"x" * 2**18  # takes a moment to write, also where flushing takes none
        with ThreadPoolExecutor(16) as threads:
            for _ in range(20):
                list(threads.map(together.append, [line] * 64))
                appended += 64
                if together.flushes < appended:  # whether they meet is up to the system; that they can is up to us
                    break

        assert together.flushes < appended
        assert (tmp_path / "together").read_bytes() == line * appended

    def test_reading_while_others_write_never_meets_half_a_line(self, tmp_path: Path) -> None:
        stop = Event()
        with FolderRunStore.open(tmp_path) as store, ThreadPoolExecutor(4) as threads:

            def write(arm: str) -> int:
                repeat = 0
                while not stop.is_set():
                    store.append(a_run(arm=arm, repeat=repeat, status_detail="x" * 20_000))
                    repeat += 1
                return repeat

            written = [threads.submit(write, f"arm-{number}") for number in range(4)]
            counts = [0]
            while counts[-1] < 40:
                counts.append(len(store.finished()))
            stop.set()
            total = sum(done.result() for done in written)

            assert counts == sorted(counts)
            assert store.repairs == []
            assert len(store.finished()) == total


class TestOpening:
    def test_a_last_record_torn_at_any_byte_is_cut_off_and_reported(self, fast_folder: Path) -> None:
        path = filled(fast_folder, a_run(), a_run(repeat=2))
        content = path.read_bytes()
        whole = content.index(b"\n") + 1

        for length in range(whole + 1, len(content)):
            path.write_bytes(content[:length])
            with FolderRunStore.open(fast_folder) as store:
                assert [(item.source, item.line) for item in store.repairs] == [(str(path), 2)], length
                assert repeats_in(store) == [1]
            assert path.read_bytes() == content[:whole], length

    def test_a_last_record_damaged_at_any_byte_stays_as_it_is_and_is_copied(self, fast_folder: Path) -> None:
        path = filled(fast_folder, a_run(), a_run(repeat=2))
        content = path.read_bytes()
        whole = content.index(b"\n") + 1

        for place in range(whole, len(content) - 1):
            damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            path.write_bytes(damaged)
            with FolderRunStore.open(fast_folder) as store:
                assert [item.line for item in store.repairs][:1] == [2], place
                assert repeats_in(store) == [1]
                with pytest.raises(EvidenceError, match="pass --go-on-without"):
                    store.refuse_damage(go_on_without=False)
            assert path.read_bytes() == damaged, place
            (copy,) = fast_folder.glob("damaged-*")
            assert copy.read_bytes() == damaged[whole:], place
            copy.unlink()

    def test_of_a_group_torn_in_several_places_only_the_last_line_is_cut_off(self, tmp_path: Path) -> None:
        path = filled(tmp_path, a_run(), a_run(repeat=2), a_run(repeat=3))
        lines = path.read_bytes().splitlines(keepends=True)
        torn = b"\0" * 500 + lines[1][500:]
        path.write_bytes(lines[0] + torn + lines[2][:100])

        with FolderRunStore.open(tmp_path) as store:
            assert [item.line for item in store.repairs] == [2, 3]
        assert path.read_bytes() == lines[0] + torn

    def test_the_torn_record_can_be_written_again(self, tmp_path: Path) -> None:
        path = filled(tmp_path, a_run(), a_run(repeat=2))
        content = path.read_bytes()
        path.write_bytes(content[:-1])

        filled(tmp_path, a_run(repeat=2))

        assert path.read_bytes() == content

    def test_a_file_with_nothing_but_a_torn_line_is_not_left_empty(self, tmp_path: Path) -> None:
        path = filled(tmp_path, a_run())
        path.write_bytes(path.read_bytes()[:50])

        with FolderRunStore.open(tmp_path) as store:
            assert len(store.repairs) == 1
        assert not path.exists()

    def test_a_damaged_line_in_the_middle_is_reported_skipped_and_left_alone(self, tmp_path: Path) -> None:
        path = filled(tmp_path, a_run(), a_run(repeat=2), a_run(repeat=3))
        content = path.read_bytes().replace(b'"repeat":2', b'"repeat":7')
        path.write_bytes(content)

        for _ in range(2):
            with FolderRunStore.open(tmp_path) as store:
                assert repeats_in(store) == [1, 3]
                assert [(item.line, item.reason) for item in store.repairs] == [
                    (2, "the line does not match its checksum: it was damaged or changed")
                ]
        assert path.read_bytes() == content

    def test_a_line_that_only_a_newer_release_can_read_is_reported_and_never_cut_off(self, tmp_path: Path) -> None:
        path = filled(tmp_path, a_run())
        newer = seal(encode(a_run(repeat=2)).replace(b"outweigh.run/1", b"outweigh.run/2"))
        path.write_bytes(path.read_bytes() + newer)

        with FolderRunStore.open(tmp_path) as store:
            assert "newer than this outweigh" in store.repairs[0].reason
        assert path.read_bytes().endswith(newer)

    def test_a_folder_that_cannot_be_one_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")

        with pytest.raises(UsageError, match="cannot be used for runs"):
            FolderRunStore.open(tmp_path / "file" / "runs")


class TestHolding:
    def test_a_second_opener_is_told_who_is_at_work(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path), pytest.raises(UsageError, match=rf"process {os.getpid()} on .* \(since 20"):
            FolderRunStore.open(tmp_path)

    def test_a_refused_opener_takes_nothing_from_the_holder(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            for _ in range(2):
                with pytest.raises(UsageError):
                    FolderRunStore.open(tmp_path)
            store.append(a_run())

            assert repeats_in(store) == [1]

    def test_another_process_is_refused_until_the_first_is_dead(self, tmp_path: Path) -> None:
        with child(HOLD, tmp_path) as holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            with pytest.raises(UsageError, match=f"process {holder.pid} on"):
                FolderRunStore.open(tmp_path)
            holder.kill()
            holder.wait()

            FolderRunStore.open(tmp_path).close()

    def test_a_lock_file_without_a_name_still_locks(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path):
            (tmp_path / "lock").write_text("")

            with pytest.raises(UsageError, match="another process"):
                FolderRunStore.open(tmp_path)

    def test_a_process_started_meanwhile_does_not_inherit_the_lock(self, tmp_path: Path) -> None:
        store = FolderRunStore.open(tmp_path)
        with subprocess.Popen(["sleep", "60"], env=CLEAN, close_fds=False) as sleeper:
            store.close()
            FolderRunStore.open(tmp_path).close()
            sleeper.kill()


class TestAttempts:
    TRIAL = Trial(task_id="task-1", arm="baseline", repeat=1, seed=7)

    def test_what_was_begun_and_not_recorded_is_abandoned_at_the_next_opening(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("task-1/baseline/1", self.TRIAL, 1)
            store.append(a_run())
            store.begin("lost", self.TRIAL, 2)

            assert store.abandoned() == []

        with FolderRunStore.open(tmp_path) as store:
            assert [(it.run_id, it.trial, it.attempt, it.pid) for it in store.abandoned()] == [
                ("lost", self.TRIAL, 2, os.getpid())
            ]

    def test_an_abandoned_attempt_is_closed_by_its_record(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("lost", self.TRIAL, 1)
        with FolderRunStore.open(tmp_path) as store:
            store.append(a_run(run_id="lost", status=Status.INFRA_ERROR))
            assert store.abandoned() == []

        with FolderRunStore.open(tmp_path) as store:
            assert store.abandoned() == []

    def test_attempts_of_one_run_are_told_apart(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("run", self.TRIAL, 1)
            store.append(a_run(run_id="run", attempt=1, status=Status.INFRA_ERROR))
            store.begin("run", self.TRIAL, 2)

        with FolderRunStore.open(tmp_path) as store:
            assert [attempt.attempt for attempt in store.abandoned()] == [2]

    def test_a_beginning_is_a_sealed_line_that_says_who_and_when(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("run", self.TRIAL, 1)
        content, _, _ = attempts_file(tmp_path).read_bytes().rpartition(b"\t#crc32:")

        assert seal_behind(content) == attempts_file(tmp_path).read_bytes()
        assert json.loads(content).items() >= {"schema": "outweigh.attempt/1", "run_id": "run", "attempt": 1}.items()

    def test_a_torn_beginning_never_began(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("first", self.TRIAL, 1)
            store.begin("torn", self.TRIAL, 1)
        path = attempts_file(tmp_path)
        path.write_bytes(path.read_bytes()[:-5])

        with FolderRunStore.open(tmp_path) as store:
            assert [attempt.run_id for attempt in store.abandoned()] == ["first"]
            assert [item.line for item in store.repairs] == [2]

    def test_a_damaged_beginning_is_reported(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            store.begin("first", self.TRIAL, 1)
            store.begin("second", self.TRIAL, 1)
        path = attempts_file(tmp_path)
        path.write_bytes(path.read_bytes().replace(b"first", b"worst"))

        with FolderRunStore.open(tmp_path) as store:
            assert [attempt.run_id for attempt in store.abandoned()] == ["second"]
            assert [(item.source, item.line) for item in store.repairs] == [(str(path), 1)]


class TestArtifacts:
    def test_content_is_found_by_its_hash_and_kept_once(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            digests = [store.keep(b"transcript") for _ in range(3)]

            assert set(digests) == {sha256(b"transcript").hexdigest()}
            assert store.artifact(digests[0]) == b"transcript"
        kept = [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
        assert kept == [tmp_path / "artifacts" / digests[0][:2] / digests[0]]

    def test_threads_that_keep_the_same_content_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store, ThreadPoolExecutor(8) as threads:
            digests = set(threads.map(store.keep, [b"same"] * 40))

            assert [store.artifact(digest) for digest in digests] == [b"same"]

    def test_a_damaged_artifact_is_refused_and_written_again_when_it_comes_again(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            digest = store.keep(b"diff")
            (tmp_path / "artifacts" / digest[:2] / digest).write_bytes(b"daff")
            with pytest.raises(EvidenceError, match="does not match its hash"):
                store.artifact(digest)
            store.keep(b"diff")

            assert store.artifact(digest) == b"diff"

    def test_a_missing_artifact_is_named(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store, pytest.raises(EvidenceError, match="a" * 64):
            store.artifact("a" * 64)

    def test_what_a_killed_writer_left_unfinished_is_removed(self, tmp_path: Path) -> None:
        unfinished = tmp_path / "artifacts" / "unfinished"
        unfinished.mkdir(parents=True)
        (unfinished / "1-1").write_bytes(b"half a trans")

        with FolderRunStore.open(tmp_path):
            assert list(unfinished.iterdir()) == []


class TestBadWeather:
    def test_a_write_that_fails_half_way_is_an_error_leaves_no_half_line_and_the_next_one_works(
        self, tmp_path: Path
    ) -> None:
        path = filled(tmp_path, a_run())
        before = path.read_bytes()
        with FolderRunStore.open(tmp_path) as store:
            with (
                files_up_to(len(before) + 100),
                pytest.raises(EvidenceError, match=r"'task-1/baseline/2' could not be"),
            ):
                store.append(a_run(repeat=2))
            assert path.read_bytes() == before
            store.append(a_run(repeat=2))

            assert repeats_in(store) == [1, 2]

    def test_a_first_record_that_fails_leaves_no_empty_file(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store, files_up_to(100), pytest.raises(EvidenceError):
            store.append(a_run())

        assert not runs_file(tmp_path).exists()

    def test_who_fits_is_kept_when_a_neighbour_of_the_group_does_not_fit(self, tmp_path: Path) -> None:
        small = [a_run(repeat=number) for number in range(1, 40)]
        large = [a_run(arm="large", repeat=number, status_detail="x" * 300_000) for number in range(1, 10)]
        runs = [run for pair in zip(small, large * 5, strict=False) for run in pair][: 2 * len(large)]
        with FolderRunStore.open(tmp_path) as store:
            with files_up_to(100_000):
                faults = in_threads(8, store, runs)

            assert [isinstance(fault, EvidenceError) for fault in faults] == [False, True] * len(large)
            assert {arm for _, arm, _ in store.finished()} == {"baseline"}
            assert len(store.finished()) == len(large)

    def test_a_beginning_and_an_artifact_that_do_not_fit_are_errors_too(self, tmp_path: Path) -> None:
        with FolderRunStore.open(tmp_path) as store:
            with files_up_to(50):
                with pytest.raises(EvidenceError, match="the beginning of 'run' could not be kept"):
                    store.begin("run", a_run().trial, 1)
                with pytest.raises(EvidenceError, match="an artifact could not be kept"):
                    store.keep(b"x" * 100)
            digest = store.keep(b"x" * 100)

            assert store.artifact(digest) == b"x" * 100

    @pytest.mark.needs_privileges
    def test_a_full_disk_is_said_to_be_full_and_works_again_when_there_is_room(self, tmp_path: Path) -> None:
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
        mount = f"mount -t tmpfs -o size=256k none {tmp_path}"
        if shutil.which("unshare") is None or subprocess.run([*command, mount], env=CLEAN, check=False).returncode:
            require("privileges", "a small disk cannot be mounted here (unshare and user namespaces)")
        script = f'{mount} && exec {sys.executable} -c "$SCRIPT" {tmp_path}'

        done = subprocess.run([*command, script], env=CLEAN | {"SCRIPT": FILL}, check=True, capture_output=True)

        assert done.stdout.split(b"\n") == [os.strerror(errno.ENOSPC).encode(), b"all kept records are there", b""]


def test_no_acknowledged_record_is_missing_or_doubled_after_twenty_kills(tmp_path: Path) -> None:
    random = Random(20)
    acknowledged: list[str] = []
    for life in range(20):
        with child(WORK, tmp_path, str(life)) as worker:
            assert worker.stdout is not None
            acknowledged += [worker.stdout.readline().decode() for _ in range(random.randint(1, 6))]
            Event().wait(random.uniform(0.0, 0.05))
            worker.kill()
            # A line that the kill cut short was not acknowledged.
            acknowledged += [line.decode() for line in worker.stdout.readlines() if line.endswith(b"\n")]

        with FolderRunStore.open(tmp_path) as store:
            kept = [record for records in store.finished().values() for record in records]
            lost = store.abandoned()
        ids = [record.run_id for record in kept]
        assert len(ids) == len(set(ids))
        assert {line.strip() for line in acknowledged} <= set(ids)
        assert not {attempt.run_id for attempt in lost} & set(ids)
        assert all(sha256(content).hexdigest() == name for name, content in artifacts(tmp_path))
    assert len(acknowledged) > 20


def artifacts(folder: Path) -> Iterator[tuple[str, bytes]]:
    return ((path.name, path.read_bytes()) for path in (folder / "artifacts").glob("??/*"))


@contextmanager
def child(script: str, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, env=CLEAN, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


HOLD = """
import sys, time
from pathlib import Path
from outweigh.store.run_store import FolderRunStore

with FolderRunStore.open(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""

WORK = """
import os, sys
from itertools import count
from pathlib import Path
from threading import Thread
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run

folder, life = Path(sys.argv[1]), sys.argv[2]
store = FolderRunStore.open(folder)

def work(thread):
    for number in count():
        run = a_run(f"life-{life}", f"thread-{thread}", number, status_detail="x" * 3000)
        store.begin(run.run_id, run.trial, 1)
        if number % 7 == 0:
            store.keep(run.run_id.encode() * 1000)
        store.append(run)
        os.write(1, run.run_id.encode() + b"\\n")

for thread in range(4):
    Thread(target=work, args=(thread,)).start()
"""

FILL = """
import sys
from itertools import count
from pathlib import Path
from outweigh.store.run_store import FolderRunStore
from outweigh.errors import EvidenceError
from outweigh.testing.builders import a_run

folder = Path(sys.argv[1])
ballast = folder / "ballast"
ballast.write_bytes(b"x" * 100_000)
with FolderRunStore.open(folder) as store:
    try:
        for number in count():
            store.append(a_run(repeat=number, status_detail="x" * 5000))
    except EvidenceError as error:
        print(str(error).split(": ")[1].split(".")[0])
    ballast.unlink()
    store.append(a_run(repeat=number))
with FolderRunStore.open(folder) as store:
    if store.repairs == [] and sorted(repeat for _, _, repeat in store.finished()) == list(range(number + 1)):
        print("all kept records are there")
"""
