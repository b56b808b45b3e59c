"""Writes again everything that is generated: the JSON Schemas, and the output under every `$ outweigh …` in the docs.

The tests fail while a generated file differs from what this script would write.
"""

from pathlib import Path

from scripts.doc_commands import DOCUMENTS, refreshed
from scripts.schemas import schema_files

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Rewrite what changed."""
    for path, content in schema_files(ROOT).items():
        path.write_bytes(content)
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(refreshed(path.read_text(), ROOT))


if __name__ == "__main__":
    main()
