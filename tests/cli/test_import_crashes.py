"""Imports that are killed, and imports at the same time: nothing is doubled, nothing is lost, no half is counted."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.model.codec import decode
from outweigh.store.store_lock import StoreLock

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
OUTPUT = EXAMPLES / "promptfoo" / "output.json"

# A real import by a real importer, that kills its own process at a given moment.
KILLED = """
import os, signal, sys
from pathlib import Path
from outweigh.interop.promptfoo import PromptfooImporter
from outweigh.app.import_results import ImportOptions, import_source

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class WhileReading(PromptfooImporter):
    def read(self, request, notes):
        for number, run in enumerate(super().read(request, notes)):
            if number == 20:
                request.keep(b"an artifact")
                die()
            yield run

class BeforeTheManifest(PromptfooImporter):
    @property
    def fields(self):
        die()

moment, source, target = sys.argv[1:]
options = ImportOptions(arm=None, tasks=None, columns={}, skip_invalid=False)
import_source({"reading": WhileReading, "manifest": BeforeTheManifest}[moment](), Path(source), Path(target), options)
"""


def run_ids(folder: Path) -> list[str]:
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_bytes().splitlines(keepends=True)]
    return [decode(line).run_id for line in lines]  # type: ignore[union-attr]  # there are only runs


def imports(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode((folder / "imports.json").read_bytes())["imports"]
    return found


@pytest.mark.parametrize("moment", ["reading", "manifest"])
def test_after_a_kill_the_same_import_gives_what_it_would_have_given(
    outweigh: Any, tmp_path: Path, moment: str
) -> None:
    target, whole = tmp_path / "runs", tmp_path / "whole"
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, str(OUTPUT), str(target)], check=False)
    outweigh("import", str(OUTPUT), "-o", str(whole))

    answer = outweigh("import", str(OUTPUT), "-o", str(target))

    assert killed.returncode == -signal.SIGKILL
    assert answer.code == 0
    assert "24 runs of 2 arms on 12 tasks" in answer.out
    assert run_ids(target) == run_ids(whole)
    assert (target / "imports.json").read_bytes() == (whole / "imports.json").read_bytes()
    assert sorted(file.name for file in target.iterdir() if file.is_file()) == sorted(
        file.name for file in whole.iterdir()
    )


def test_what_a_kill_left_is_not_counted_by_whoever_reads_the_folder(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    subprocess.run([sys.executable, "-c", KILLED, "manifest", str(OUTPUT), str(target)], check=False)

    answer = outweigh("compare", str(target), "--baseline", "plain", "--candidate", "with-notes")

    assert answer.code == 3
    assert "is of an import that was ended before it was done. Import its source again." in answer.err


def test_a_kill_leaves_what_was_imported_before(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    outweigh("import", str(EXAMPLES / "harbor" / "jobs"), "-o", str(target))
    before = run_ids(target)

    subprocess.run([sys.executable, "-c", KILLED, "reading", str(OUTPUT), str(target)], check=False)

    assert run_ids(target) == before
    assert [each["format"] for each in imports(target)] == ["harbor"]


def test_what_a_process_of_the_same_number_left_is_in_nobodys_way(outweigh: Any, tmp_path: Path) -> None:
    outweigh("import", str(OUTPUT), "-o", str(tmp_path / "first"))
    (made,) = (tmp_path / "first").glob("runs-import-*.jsonl")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / f".{made.name}.{os.getpid()}").write_bytes(b"half a li")

    answer = outweigh("import", str(OUTPUT), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert run_ids(tmp_path / "runs") == run_ids(tmp_path / "first")


def test_two_at_once_do_not_get_into_each_others_way(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    target.mkdir()
    held = StoreLock.take(target)
    try:
        refused = outweigh("import", str(OUTPUT), "-o", str(target))
    finally:
        held.release()
    taken = outweigh("import", str(OUTPUT), "-o", str(target))

    assert refused.code == 2
    assert f"{target} is in use by process {os.getpid()}" in refused.err
    assert (taken.code, len(run_ids(target))) == (0, 24)


def test_imports_that_race_end_with_every_run_once(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    command = [sys.executable, "-m", "outweigh", "import", str(OUTPUT), "-o", str(target)]
    racing = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(4)]
    ended = [(each.communicate()[1].decode(), each.returncode) for each in racing]

    assert any(code == 0 for _, code in ended)
    assert all(code == 0 or (code == 2 and "is in use by" in said) for said, code in ended)
    assert outweigh("import", str(OUTPUT), "-o", str(target)).code == 0
    assert len(run_ids(target)) == len(set(run_ids(target))) == 24
    assert len(imports(target)) == 1
