"""Verifying a bundle: no byte changes unnoticed, and the numbers catch a forger who recomputes every hash."""

import json
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.bundles import JUDGMENTS, Change, forge, members, small_bundle, small_store
from tests.cli.stores import write_store
from tests.conftest import Outweigh
from tests.web.decided_store import decided_store

from outweigh.app.verify_bundle import verify_bundle
from outweigh.cli.main import main
from outweigh.errors import EvidenceError
from outweigh.model.codec import decode, encode
from outweigh.model.judgment import Judgment
from outweigh.model.line_seal import seal
from outweigh.report.verification_page import VerifiedState
from outweigh.testing.builders import runs_of_arm


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_bundle(tmp_path_factory.mktemp("original"))


def swap(old: bytes, new: bytes) -> Change:
    return lambda content: content.replace(old, new, 1)


def answer_of(outweigh: Outweigh, bundle: Path) -> tuple[int, dict[str, Any], str]:
    found = outweigh("store", "verify", str(bundle), "--format", "json")
    return found.code, json.loads(found.out), outweigh("store", "verify", str(bundle)).out


def test_a_bundle_as_it_was_made_is_the_same(outweigh: Outweigh, bundle: Path) -> None:
    code, found, page = answer_of(outweigh, bundle)

    assert code == 0
    assert page.startswith("SAME: all 10 tables and pages")
    assert (found["state"], found["records"], found["faults"]) == ("same", 24, [])


def test_none_of_a_thousand_bytes_can_change_unnoticed(tmp_path: Path) -> None:
    bundle, changed = tmp_path / "whole.zip", tmp_path / "changed.zip"
    # One arm has few tables, so that those are soon computed again where no file has changed.
    write_store(tmp_path / "store", runs_of_arm("plain", [[True, False]] * 3), ("plain",))
    assert main(("store", "bundle", str(tmp_path / "store"), "-o", str(bundle))) == 0
    whole, draw, computed = bundle.read_bytes(), random.Random(19), 0
    assert verify_bundle(bundle).state is VerifiedState.SAME

    for _ in range(1000):
        place = draw.randrange(len(whole))
        other = (whole[place] + draw.randrange(1, 256)) % 256
        changed.write_bytes(whole[:place] + bytes([other]) + whole[place + 1 :])
        try:
            found = verify_bundle(changed)
        except EvidenceError:
            continue
        assert found.state is VerifiedState.DIFFERS, f"byte {place} of {len(whole)}"
        computed += bool(found.tables)

    assert computed > 10, "no byte outside of the files was among them"


def resealed(content: bytes) -> bytes:
    """The judgments, the fourth with another score and a right checksum."""
    lines = content.splitlines(keepends=True)
    judgment = decode(lines[3])
    assert isinstance(judgment, Judgment)
    criteria = (msgspec.structs.replace(judgment.criteria[0], score=0.9),)
    lines[3] = seal(encode(msgspec.structs.replace(judgment, criteria=criteria)))
    return b"".join(lines)


def test_an_edited_judgment_is_named_although_every_hash_was_recomputed(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    code, _, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", {JUDGMENTS: resealed}))

    assert code == 1
    assert f"({JUDGMENTS}, 4), sha256" in page
    assert "derived/small/report.json" in page


def test_an_edited_judgment_under_its_old_checksum_is_named_by_its_line(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    sealed = forge(bundle, tmp_path / "sealed", {JUDGMENTS: resealed})
    forged = forge(sealed, tmp_path / "forged", {JUDGMENTS: swap(b'"score":0.9', b'"score":0.1')})

    code, found, _ = answer_of(outweigh, forged)

    assert code == 1
    assert found["faults"] == [f"{JUDGMENTS}:4: the line does not match its checksum: it was damaged or changed."]


def test_an_edited_number_of_a_table_is_named_with_the_old_and_the_new_value(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    def edit(content: bytes) -> bytes:
        table = json.loads(content)
        table["verdicts"][0]["gates"][0]["effect"] = 0.123
        return json.dumps(table).encode()

    name = "derived/small/report.json"
    real = json.loads(members(bundle)[name])["verdicts"][0]["gates"][0]["effect"]

    code, found, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", {name: edit}))

    assert code == 1
    (table,) = [each for each in found["tables"] if each["state"] != "same"]
    (change,) = table["changes"]
    assert (table["path"], change["old"], change["new"]) == (name, "0.123", str(real))
    assert change["where"].startswith("verdicts[new].gates[")
    assert "0.123" in page


def test_an_edited_page_is_named_with_its_line(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    name = "derived/small/report.html"

    code, found, _ = answer_of(outweigh, forge(bundle, tmp_path / "forged", {name: swap(b"50 %", b"95 %")}))

    assert code == 1
    (table,) = [each for each in found["tables"] if each["state"] != "same"]
    assert table["path"] == name
    assert ["95 %" in each["old"] and "50 %" in each["new"] for each in table["changes"]] == [True]


def test_an_edited_price_is_named(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    code, found, page = answer_of(
        outweigh, forge(bundle, tmp_path / "forged", {"prices.toml": swap(b"= 8.0", b"= 80.0")})
    )

    changed = {table["path"] for table in found["tables"] if table["state"] == "differs"}
    assert code == 1
    assert {"derived/prices.json", "derived/small/runs.csv", "derived/small/verdict.json"} <= changed
    assert "output_usd_per_million" in page


def test_an_edited_price_of_no_run_is_named_too(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    def more(content: bytes) -> bytes:
        return content + b'[models."other"]\ninput_usd_per_million = 1.0\noutput_usd_per_million = 1.0\n'

    code, found, _ = answer_of(outweigh, forge(bundle, tmp_path / "forged", {"prices.toml": more}))

    assert code == 1
    (table,) = [each for each in found["tables"] if each["state"] == "differs"]
    assert [change["where"] for change in table["changes"]] == ["price_file_sha256"]


def test_an_edited_rule_is_named(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    rules = swap(b'"baseline":"plain"', b'"baseline":"new"')

    code, _, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", {"stores/small/experiment.json": rules}))

    assert code == 1
    assert "derived/small/verdict.json" in page


def test_an_edited_figure_of_the_ladder_is_named_with_its_file(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    name = "derived/small/ladder/ladder.csv"

    code, found, _ = answer_of(outweigh, forge(bundle, tmp_path / "forged", {name: swap(b"new", b"old")}))

    assert code == 1
    (table,) = [each for each in found["tables"] if each["state"] != "same"]
    assert table["path"] == "derived/small/ladder/"
    assert all(change["where"].startswith("ladder.csv: row ") for change in table["changes"])


@pytest.mark.parametrize("name", ["derived/summary.html", "stores/small/report.html", "read-me-first.html"])
def test_a_page_that_nothing_vouches_for_is_named(outweigh: Outweigh, bundle: Path, tmp_path: Path, name: str) -> None:
    code, found, _ = answer_of(outweigh, forge(bundle, tmp_path / "forged", {name: lambda _: b"<h1>improved</h1>"}))

    assert code == 1
    assert found["faults"] == [f"{name} belongs to no store and to no table"]


def test_a_file_that_no_number_depends_on_is_named(outweigh: Outweigh, tmp_path: Path) -> None:
    store = small_store(tmp_path / "store")
    (store / "labels.csv").write_text("run_id,label\ntask-1/new/1,pass\n")
    assert main(("store", "bundle", str(store), "-o", str(tmp_path / "study.zip"))) == 0
    labels = {"stores/small/labels.csv": swap(b"pass", b"fail")}

    code, found, _ = answer_of(outweigh, forge(tmp_path / "study.zip", tmp_path / "forged", labels))

    assert code == 1
    (table,) = [each for each in found["tables"] if each["state"] != "same"]
    (change,) = table["changes"]
    assert "stores/small/labels.csv" in change["where"]


def test_a_transcript_that_is_not_what_its_run_names_is_named(outweigh: Outweigh, tmp_path: Path) -> None:
    decided_store(tmp_path / "store", tmp_path / "suite")
    assert main(("store", "bundle", str(tmp_path / "store"), "-o", str(tmp_path / "study.zip"))) == 0
    name = next(name for name in members(tmp_path / "study.zip") if "/artifacts/" in name)

    forged = forge(tmp_path / "study.zip", tmp_path / "forged", {name: lambda content: content + b" "})
    code, found, _ = answer_of(outweigh, forged)

    assert code == 1
    assert "trajectory.json of task-" in found["faults"][0]


def test_a_table_that_was_taken_out_is_named(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    def drop(manifest: bytes) -> bytes:
        listed = json.loads(manifest)
        listed["derived"] = [table for table in listed["derived"] if not table["path"].endswith("verdict.json")]
        return json.dumps(listed).encode()

    code, _, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", {}, drop))

    assert code == 1
    assert "derived/small/verdict.json" in page


def test_a_file_with_a_wrong_hash_is_named_and_nothing_is_computed(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    target = tmp_path / "packed-again.zip"
    with zipfile.ZipFile(target, "w") as opened:
        for name, content in members(bundle).items():
            opened.writestr(name, content.replace(b'"score":0.5', b'"score":0.9') if name == JUDGMENTS else content)

    code, found, page = answer_of(outweigh, target)

    assert code == 1
    assert f"{JUDGMENTS} is not what the manifest lists: its SHA-256 differs" in found["faults"]
    assert found["tables"] == []
    assert "another program packed it again" in page


def test_a_judgment_edited_by_a_forger_with_another_zip_program_is_named(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    honest = forge(bundle, tmp_path / "forged", {JUDGMENTS: resealed})
    target = tmp_path / "packed-again.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members(honest).items():
            opened.writestr(name, content)

    code, _, page = answer_of(outweigh, target)

    assert code == 1
    assert f"({JUDGMENTS}, 4), sha256" in page


def test_a_bundle_of_another_outweigh_cannot_be_recomputed(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    def older(manifest: bytes) -> bytes:
        listed = json.loads(manifest)
        listed["versions"]["outweigh"] = "0.1.0"
        return json.dumps(listed).encode()

    changed = {"derived/small/verdict.json": swap(b'"plain"', b'"plane"')}

    code, found, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", changed, older))

    assert code == 3
    assert found["state"] == "cannot be recomputed"
    assert "it was made with outweigh 0.1.0 (here " in page


def test_a_table_that_this_release_does_not_make_cannot_be_recomputed(
    outweigh: Outweigh, bundle: Path, tmp_path: Path
) -> None:
    def more(manifest: bytes) -> bytes:
        listed = json.loads(manifest)
        listed["derived"].append({"path": "derived/own.csv", "stores": ["small"], "command": "sh -c 'touch owned'"})
        return json.dumps(listed).encode()

    code, _, page = answer_of(outweigh, forge(bundle, tmp_path / "forged", {}, more))

    assert code == 3
    assert "derived/own.csv: this outweigh makes no such table" in page


def later_schema(bundle: Path, scratch: Path) -> Path:
    return forge(bundle, scratch, {}, swap(b"outweigh.bundle/1", b"outweigh.bundle/2"))


def cut(bundle: Path, scratch: Path) -> Path:
    scratch.mkdir()
    (scratch / "cut.zip").write_bytes(bundle.read_bytes()[:-200])
    return scratch / "cut.zip"


def empty(bundle: Path, scratch: Path) -> Path:
    scratch.mkdir()
    (scratch / "empty.zip").touch()
    return scratch / "empty.zip"


def another_zip(bundle: Path, scratch: Path) -> Path:
    scratch.mkdir()
    with zipfile.ZipFile(scratch / "other.zip", "w") as opened:
        opened.writestr("readme.txt", "no bundle")
    return scratch / "other.zip"


def store_outside(bundle: Path, scratch: Path) -> Path:
    return forge(bundle, scratch, {}, lambda manifest: manifest.replace(b'"small"\n', b'"../../.."\n', 1))


def name_outside(bundle: Path, scratch: Path) -> Path:
    return add_member(bundle, scratch, "stores/../../out.jsonl", b"{}")


def listed_twice(bundle: Path, scratch: Path) -> Path:
    return add_member(bundle, scratch, "bundle.json", b"{}")


def add_member(bundle: Path, scratch: Path, name: str, content: bytes) -> Path:
    scratch.mkdir()
    target = scratch / "more.zip"
    target.write_bytes(bundle.read_bytes())
    with zipfile.ZipFile(target, "a") as opened:
        opened.writestr(name, content)
    return target


def bomb(bundle: Path, scratch: Path) -> Path:
    scratch.mkdir()
    target = scratch / "bomb.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members(bundle).items():
            opened.writestr(name, content)
        opened.writestr("stores/small/zeros.jsonl", bytes(20_000_000))
    whole = bytearray(target.read_bytes())
    place = whole.rfind(b"PK\x01\x02")
    struct.pack_into("<I", whole, place + 24, 2**31)  # the size that it claims to unpack to
    target.write_bytes(whole)
    return target


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (later_schema, "upgrade it"),
        (cut, "cannot be read as a zip archive"),
        (empty, "cannot be read as a zip archive"),
        (another_zip, "is not a bundle of outweigh: it has no bundle.json"),
        (store_outside, "names no store, or one that is not in the bundle"),
        (name_outside, "a name that leads out of it"),
        (bomb, "it looks like an attack"),
    ],
)
def test_what_cannot_be_read_is_refused_by_every_verb(
    outweigh: Outweigh, bundle: Path, tmp_path: Path, make: Callable[[Path, Path], Path], said: str
) -> None:
    bad = str(make(bundle, tmp_path / "bad"))

    for words in (("store", "verify", bad), ("verdict", bad), ("store", "show", bad)):
        answer = outweigh(*words)
        assert answer.code == 3, answer.out
        assert said in answer.err
    assert {file.name for file in (tmp_path / "bad").iterdir()} <= {Path(bad).name, "root"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    answer = outweigh("store", "verify", str(listed_twice(bundle, tmp_path / "bad")))

    assert answer.code == 3
    assert "holds 'bundle.json' twice" in answer.err


def test_a_damaged_bundle_is_not_read(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "packed-again.zip"
    with zipfile.ZipFile(target, "w") as opened:
        for name, content in members(bundle).items():
            opened.writestr(name, content.replace(b'"passed":false', b'"passed":true ') if "runs-" in name else content)

    answer = outweigh("verdict", str(target))

    assert answer.code == 3
    assert "runs-engine.jsonl is not what the manifest lists" in answer.err


def test_a_bundle_that_is_not_there_is_a_wrong_use(outweigh: Outweigh, tmp_path: Path) -> None:
    answer = outweigh("store", "verify", str(tmp_path / "no.zip"))

    assert answer.code == 2
    assert "there is no" in answer.err


def test_records_that_the_manifest_does_not_list_are_not_read(outweigh: Outweigh, bundle: Path, tmp_path: Path) -> None:
    more = add_member(bundle, tmp_path / "bad", "stores/small/runs-more.jsonl", members(bundle)[JUDGMENTS])

    answer, verified = outweigh("verdict", str(more)), outweigh("store", "verify", str(more))

    assert answer.code == 3
    assert "stores/small/runs-more.jsonl is not in the manifest" in answer.err
    assert verified.code == 1
    assert "stores/small/runs-more.jsonl is not in the manifest" in verified.out
