"""The same source gives the same records in the same order, in every process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

READING = """
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from tests.interop.fuzz_sources import samples
from outweigh.errors import OutweighError
from outweigh.model.codec import encode
from outweigh.testing.importer_contract import read_all

for name, each in samples().items():
    for number, sample in enumerate(each[:12]):
        with TemporaryDirectory() as folder:
            try:
                found, notes = read_all(sample.importer, sample.source.write(Path(folder) / "here"), **sample.options)
            except OutweighError as error:
                print(name, sample.label, type(error).__name__)
            else:
                said = [sentence.replace(folder, "") for sentence in notes.warnings]
                print(name, sample.label, sha256(b"".join(map(encode, found))).hexdigest(), said, notes.facts)
"""


def read_everything(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", READING], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_order_of_sets_shows_in_no_record() -> None:
    first = read_everything("1")

    assert len(first) >= 20
    assert read_everything("2") == first
