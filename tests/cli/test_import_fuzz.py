"""Broken sources through the whole command: it never takes the blame, keeps all or nothing, and nothing twice."""

import os
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.interop.fuzz_sources import samples

from outweigh.cli.main import main
from outweigh.model.codec import refuse_invalid
from outweigh.plugins import adapter_names
from outweigh.store.records import RecordReader
from outweigh.testing.corrupt_source import corrupt_source_files

fuzzed = settings(
    max_examples=1000 if os.environ.get("HYPOTHESIS_PROFILE") == "search" else 3,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(autouse=True, scope="module")
def loaded() -> None:
    """Other tests' modules are loaded before anything is drawn: hypothesis wants no test within a test."""
    samples()


def import_into(target: Path, *arguments: str) -> int:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        code = main(["import", *arguments, "--skip-invalid", "-o", str(target)])
    assert code in (0, 2, 3), said.getvalue()
    return code


def kept(target: Path) -> Iterator[str]:
    """Every record in a folder, read as any verb reads it."""
    if list(target.glob("*.jsonl")):
        yield from (str(located.record) for located in RecordReader(str(target)).records(refuse_invalid))


@pytest.mark.parametrize("name", adapter_names("importer"))
@pytest.mark.parametrize("named", [True, False], ids=["named", "found"])
@fuzzed
@given(chance=st.randoms(use_true_random=False))
def test_a_broken_source_is_imported_once_or_refused(name: str, named: bool, chance: Random) -> None:
    sample = chance.choice(samples()[name])
    with TemporaryDirectory() as folder:
        path = corrupt_source_files(sample.source, chance).write(Path(folder) / "source")
        target = Path(folder) / "runs"
        arguments = ([name] if named else []) + [str(path)]
        code = import_into(target, *arguments)
        first = list(kept(target))
        if code == 0:
            manifest = msgspec.json.decode((target / "imports.json").read_bytes())["imports"]
            assert sum(each["runs"] + each["judgments"] for each in manifest) == len(first)
        else:
            assert first == []
        assert import_into(target, *arguments) == code
        assert list(kept(target)) == first
