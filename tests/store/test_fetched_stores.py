"""What is fetched of a store elsewhere: one moment of it, kept in the cache for as long as it stays so."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.team_stores import write_team_store

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import encode, refuse_invalid
from outweigh.model.line_seal import seal
from outweigh.ports.stores import FolderEntries, StoredFile
from outweigh.store.fetched_stores import fetch_store, find_stores_in
from outweigh.store.local_location import LocalLocation
from outweigh.store.parallel_calls import call_all
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.store.store import Store
from outweigh.store.store_cache import FetchedOrigin, StoreCache
from outweigh.store.store_files import files_to_keep
from outweigh.store.store_set import StoreSet
from outweigh.testing.builders import a_run

RUNS = "runs-engine.jsonl"


class Elsewhere:
    """A folder behind an address, to which something happens while files of it are fetched."""

    workers = 1

    def __init__(self, folder: Path, happens: Callable[[str], None] = lambda _: None, name: str = "far://demo") -> None:
        self._folder = LocalLocation(folder)
        self._happens = happens
        self.name = name
        self.fetched: list[str] = []

    def entries(self, folder: str) -> FolderEntries | None:
        return self._folder.entries(folder)

    def files_below(self, folder: str) -> Sequence[StoredFile]:
        return self._folder.files_below(folder)

    def fetch(self, name: str, target: Path) -> None:
        self._happens(name)
        self.fetched.append(name)
        self._folder.fetch(name, target)

    def put(self, name: str, source: Path) -> None:
        raise AssertionError("a reader writes nothing")

    def remove(self, name: str) -> None:
        raise AssertionError("a reader removes nothing")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_team_store(tmp_path / "there")


def append(store: Path, repeat: int) -> None:
    with (store / RUNS).open("ab") as stream:
        stream.write(seal(encode(a_run("task-0", "plain", repeat))))


def test_only_what_makes_a_store_is_fetched_and_only_once(there: Path) -> None:
    for name in ("report.html", "lock", "damaged-1.txt"):
        (there / name).write_text("x", encoding="utf-8")
    location = Elsewhere(there)

    first, second = fetch_store(location, ""), fetch_store(location, "")

    assert first == second
    assert sorted(location.fetched) == ["experiment.json", RUNS]


def test_of_a_store_that_changed_only_what_changed_is_fetched(there: Path) -> None:
    location = Elsewhere(there)
    before = fetch_store(location, "")
    append(there, 2)

    after = fetch_store(location, "")

    assert location.fetched.count("experiment.json") == 1
    assert location.fetched.count(RUNS) == 2
    assert (after / RUNS).read_bytes() == (there / RUNS).read_bytes()
    assert (before / RUNS).read_bytes() != (after / RUNS).read_bytes()  # whoever reads the earlier one goes on


def test_a_store_that_is_written_to_is_read_as_it_was_at_one_moment_and_the_reader_is_told(there: Path) -> None:
    whole = (there / RUNS).read_bytes()
    repeats = iter(range(2, 99))
    location = Elsewhere(there, lambda name: append(there, next(repeats)) if name == RUNS else None)

    fetched = fetch_store(location, "")

    assert (fetched / RUNS).read_bytes() == whole
    (warning,) = StoreSet.open([fetched]).warnings()
    assert warning.startswith("far://demo was being written to while it was read: what was there at ")
    assert fetch_store(location, "") != fetched


def test_a_record_that_was_half_written_at_that_moment_is_left_out(there: Path) -> None:
    whole = (there / RUNS).read_bytes()
    (there / RUNS).write_bytes(whole + b'{"schema":"outweigh.run/1","run')
    location = Elsewhere(there, lambda name: append(there, 2) if name == RUNS else None)

    assert (fetch_store(location, "") / RUNS).read_bytes() == whole


def test_a_store_whose_files_are_replaced_on_the_way_is_read_again_and_given_up_in_the_end(there: Path) -> None:
    once = iter([b" "])
    always = iter(range(1, 99))

    def replace_once(name: str) -> None:
        if name == "experiment.json" and (space := next(once, None)):
            (there / name).write_bytes(space + (there / name).read_bytes())

    settled = fetch_store(Elsewhere(there, replace_once), "")
    assert (settled / "experiment.json").read_bytes() == (there / "experiment.json").read_bytes()

    def replace_always(name: str) -> None:
        (there / "experiment.json").write_bytes(b" " * next(always) + b"{}")

    with pytest.raises(EvidenceError, match="changes faster than it can be read"):
        fetch_store(Elsewhere(there, replace_always, "far://other"), "")


def test_files_without_a_version_are_fetched_every_time(there: Path) -> None:
    class Vague(Elsewhere):
        def entries(self, folder: str) -> FolderEntries | None:
            found = super().entries(folder)
            return found and FolderEntries(tuple(file._replace(version="") for file in found.files), found.folders)

    location = Vague(there)
    fetch_store(location, "")
    fetch_store(location, "")

    assert location.fetched.count(RUNS) == 2


def test_a_folder_of_the_cache_is_known_by_the_address_and_never_written_to(there: Path) -> None:
    fetched = fetch_store(Elsewhere(there), "")
    store = Store.open(fetched)

    assert store.name == "far://demo"
    assert {located.source for located in store.records(refuse_invalid)} == {f"far://demo/{RUNS}"}
    with pytest.raises(UsageError, match="far://demo is a store elsewhere, which is only read"):
        refuse_read_only(fetched)


def test_stores_are_found_at_any_of_five_levels_and_not_among_artifacts(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/d/e", "artifacts/x", "b/node_modules/y"):
        write_team_store(tmp_path / "team" / name)

    assert find_stores_in(LocalLocation(tmp_path / "team")) == ["a", "b/c", "b/d/e"]
    assert find_stores_in(LocalLocation(tmp_path / "team" / "a")) == [""]
    assert find_stores_in(LocalLocation(tmp_path / "missing")) == []


def test_the_cache_keeps_to_its_limit_and_to_what_was_used_within_the_hour(tmp_path: Path) -> None:
    cache = StoreCache(tmp_path / "cache", limit=2_500)

    def keep(address: str, version: str, idle_hours: float) -> Path:
        draft = cache.draft(address)
        (draft / RUNS).write_bytes(b"x" * 1_000)
        files = (StoredFile(RUNS, 1_000, version),)
        kept = cache.keep(draft, FetchedOrigin(address=address, files=files))
        used = kept.stat().st_mtime - idle_hours * 3600
        os.utime(kept, (used, used))
        return kept

    oldest, old = keep("far://a", "1", 5), keep("far://b", "1", 3)
    busy, replaced = keep("far://c", "1", 0.5), keep("far://d", "1", 2)
    newest = keep("far://d", "2", 0)

    assert [path.exists() for path in (oldest, old, busy, replaced, newest)] == [False, False, True, False, True]


def test_many_stores_are_fetched_at_once_into_one_cache(there: Path, tmp_path: Path) -> None:
    names = [f"store-{number}" for number in range(60)]
    for name in names:
        write_team_store(tmp_path / "team" / name, tasks=1, artifacts=0)
    location = Elsewhere(tmp_path / "team")

    fetched = list(call_all(8, lambda name: fetch_store(location, name), names))

    assert len({(folder / RUNS).read_bytes() for folder in fetched}) == 1
    assert len(set(fetched)) == 60


def test_a_cache_that_cannot_be_written_to_is_one_sentence(there: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")

    with pytest.raises(UsageError, match="Set XDG_CACHE_HOME to a folder"):
        fetch_store(Elsewhere(there), "")


def test_shards_and_pins_are_part_of_what_makes_a_store(tmp_path: Path) -> None:
    for name in ("shard-1-of-4.json", "pin.json", "checks.log", "notes.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")

    assert [file.name for file in files_to_keep(tmp_path, artifacts=True)] == [
        "checks.log",
        "pin.json",
        "shard-1-of-4.json",
    ]
