"""Whatever files of other programs contain, reading them gives a value, a note or an error message."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import milliseconds_to_seconds, parse_time, seconds_between
from outweigh.interop.imported_run import (
    EXTRA_BYTES,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import (
    FOLDER_DEPTH_LIMIT,
    read_bytes,
    read_json,
    read_json_lines,
    source_sha256,
    walk_files,
)
from outweigh.ports.importers import FieldOrigin, ImportNotes
from outweigh.store.zip_archive import open_archive


def test_text_of_windows_is_read_and_noted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes('{"name": "caf\u00e9 \u2013 \u201cquoted\u201d"}'.encode("cp1252"))
    notes = ImportNotes()

    assert read_json(tmp_path / "a.json", notes) == {"name": "caf\u00e9 \u2013 \u201cquoted\u201d"}
    assert any("cp1252" in warning for warning in notes.warnings)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    notes = ImportNotes()

    assert read_json(tmp_path / "a.json", notes) == {"a": 1}
    assert not notes.warnings


def test_lines_that_hold_no_object_keep_their_place(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n\nnoise\n[1]\n{"a": 2}\n{"a": ')
    notes = ImportNotes()

    found = list(read_json_lines(tmp_path / "a.jsonl", notes))

    assert [(line.number, line.value["a"]) for line in found] == [(1, 1), (5, 2)]
    assert [(row.line, row.reason) for row in notes.unreadable] == [
        (3, "not valid JSON"),
        (4, "not a JSON object"),
        (6, "the file ends in the middle of a line"),
    ]


def test_a_document_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"x" * 2_000_000)

    with pytest.raises(EvidenceError, match="more than 1 MiB"):
        read_bytes(tmp_path / "a.json", limit=2**20)


def test_what_cannot_be_opened_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="absent"):
        read_json(tmp_path / "absent", ImportNotes())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-01T10:00:00Z", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T12:00:00+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01 10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (1_777_629_600, datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (1_777_629_600_000, datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("yesterday", None),
        (0, None),
        (True, None),
        (float("inf"), None),
        (1e300, None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
    ],
)
def test_a_moment_is_one_whoever_wrote_it(value: object, expected: datetime | None) -> None:
    assert parse_time(value) == expected


def test_a_duration_is_known_only_forwards() -> None:
    assert seconds_between("2026-05-01T10:00:00Z", "2026-05-01T10:00:01.5Z") == 1.5
    assert seconds_between("2026-05-01T10:00:01Z", "2026-05-01T10:00:00Z") is None
    assert milliseconds_to_seconds(1500) == 1.5
    assert milliseconds_to_seconds(-1) is None


def test_a_walk_is_in_order_and_follows_no_link_to_a_folder(tmp_path: Path) -> None:
    for name in ("b/x.json", "a/x.json", "a/skipped/x.json", "c.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path)

    found = [
        file.relative_to(tmp_path).as_posix() for file in walk_files(tmp_path, skipped_folders=frozenset({"skipped"}))
    ]

    assert found == ["a/x.json", "b/x.json", "c.json"]


def test_a_folder_without_end_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (FOLDER_DEPTH_LIMIT + 1))
    deep.mkdir(parents=True)

    with pytest.raises(EvidenceError, match="folders deep"):
        list(walk_files(tmp_path))


@pytest.mark.parametrize("name", ["../out.json", "/etc/passwd", "a/../../out", "C:/windows", "..\\out"])
def test_a_name_that_leads_out_of_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(name, "x")

    with pytest.raises(EvidenceError, match="leads out of it"), open_archive(tmp_path / "a.zip"):
        pass


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        made.writestr("bomb", b"\0" * 20_000_000)

    with pytest.raises(EvidenceError, match="looks like an attack"), open_archive(tmp_path / "a.zip"):
        pass


def test_what_is_no_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04torn")

    with pytest.raises(EvidenceError, match="cannot be read as a zip archive"), open_archive(tmp_path / "a.zip"):
        pass


def test_a_fingerprint_is_of_names_and_content_wherever_they_stand(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.json").write_bytes(b"{}")
    same = source_sha256(tmp_path / "one") == source_sha256(tmp_path / "two")
    (tmp_path / "two" / "a.json").rename(tmp_path / "two" / "b.json")

    assert same
    assert source_sha256(tmp_path / "one") != source_sha256(tmp_path / "two")


def test_a_settings_hash_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})


def test_a_long_id_stays_unique_and_short_enough() -> None:
    one, other = stable_id("x" * 600, "a"), stable_id("x" * 600, "b")

    assert one != other
    assert len(one) <= 500


def test_runs_without_a_number_are_numbered_by_time_within_their_trial() -> None:
    early, late = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 2, tzinfo=UTC)
    runs = [
        imported_run(run_id="b", task_id="t", arm="a", repeat=1, started_at=late),
        imported_run(run_id="a", task_id="t", arm="a", repeat=1, started_at=early),
        imported_run(run_id="c", task_id="t", arm="a", repeat=1),
        imported_run(run_id="d", task_id="t", arm="other", repeat=1),
    ]

    found = {run.run_id: (run.trial.repeat, run.extra.get("repeat_label")) for run in with_repeat_numbers(runs)}

    assert found == {"a": (1, "arbitrary"), "b": (2, "arbitrary"), "c": (3, "arbitrary"), "d": (1, None)}


def test_long_values_of_a_source_are_named_and_not_kept() -> None:
    assert extra_fields({"a": 1, "b": None, "c": "x" * EXTRA_BYTES}) == {"a": 1, "left_out": ["c"]}


def test_a_field_that_a_record_does_not_have_cannot_be_claimed() -> None:
    assert field_origins(reported="cost")["cost"] is FieldOrigin.REPORTED
    with pytest.raises(ValueError, match="colour"):
        field_origins(reported="colour")
