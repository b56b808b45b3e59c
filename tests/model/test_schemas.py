from pathlib import Path

import pytest
from scripts.schemas import schema_files

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("path", "content"), schema_files(ROOT).items(), ids=lambda item: getattr(item, "name", ""))
def test_the_published_schema_is_the_one_the_code_has(path: Path, content: bytes) -> None:
    assert path.read_bytes() == content, "run `make docs` and commit what changed"
