"""Writes again everything that is generated: the JSON Schemas, the output under every `$ outweigh …` in the docs, and
the words that reports explain.

The tests fail while a generated file differs from what this script would write.
"""

from pathlib import Path

from outweigh.report.terms import TERMS
from scripts.doc_commands import DOCUMENTS, refreshed
from scripts.schemas import schema_files

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
TERMS_HEADING = "## Words that reports explain\n"


def main() -> None:
    """Rewrite what changed."""
    for path, content in schema_files(ROOT).items():
        path.write_bytes(content)
    for name in DOCUMENTS:
        (ROOT / name).write_text(refreshed(name, ROOT))
    GLOSSARY.write_text(with_terms(GLOSSARY.read_text()))


def with_terms(page: str) -> str:
    """The glossary with the words that reports explain at its end, in the words of the reports."""
    before, _, _ = page.partition(TERMS_HEADING)
    intro = "An HTML report shows these when you point at a word, tap it or reach it by keyboard.\n"
    rows = [
        f"| {name} | {definition} |" for name, definition in sorted(TERMS.items(), key=lambda item: item[0].lower())
    ]
    return "\n".join([before + TERMS_HEADING, intro, "| word | meaning |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    main()
