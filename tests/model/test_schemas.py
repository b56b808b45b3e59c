import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from scripts.schemas import schema_files

from outweigh.model.codec import encode
from outweigh.model.line_seal import seal
from outweigh.testing.builders import a_judgment, a_preference, a_run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("path", "content"), schema_files(ROOT).items(), ids=lambda item: getattr(item, "name", ""))
def test_the_published_schema_is_the_one_the_code_has(path: Path, content: bytes) -> None:
    assert path.read_bytes() == content, "run `make docs` and commit what changed"


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("run_record", a_run()),
        ("judgment", a_judgment(a_run())),
        ("preference", a_preference(a_run(), a_run(arm="candidate"))),
    ],
)
def test_a_stored_line_with_its_checksum_and_without_it_is_what_the_schema_says(name: str, record: Any) -> None:
    schema = json.loads((ROOT / "schemas" / f"{name}.schema.json").read_bytes())
    check = Draft202012Validator(schema)

    check.validate(json.loads(seal(encode(record))))
    check.validate(json.loads(encode(record)))
    assert not check.is_valid({**json.loads(encode(record)), "crc32": 7})
