"""The documentation site is built from the Markdown of the repository, without warnings and without a network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.site_pages import REPOSITORY, TOP_PAGES, outside_fences, site_link

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "http://127.0.0.1:9"
"""A proxy that nobody serves: whatever would be fetched fails, and the build with it."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "http_proxy": NOBODY, "https_proxy": NOBODY, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")]
    expected = [*pages, *map(Path, TOP_PAGES.values())]

    assert [str(page) for page in expected if not (site / page.with_suffix(".html")).is_file()] == []


def test_the_search_knows_the_text_of_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}

    assert {"cli.html", "suite.html", "glossary.html", "changelog.html"} <= found
    assert any("non-inferior" in entry["text"] for entry in index["docs"])


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loads = re.compile(
        r"<(?:script|img|iframe|source)[^>]+src=\"?https?:|<link(?![^>]+rel=\"?canonical)[^>]+href=\"?https?:"
    )

    assert [page.name for page in site.rglob("*.html") if loads.search(page.read_text())] == []


@pytest.mark.parametrize(
    ("target", "here", "source", "expected"),
    [
        ("docs/suite.md", "index.md", "README.md", "suite.md"),
        ("CONTRIBUTING.md", "index.md", "README.md", "contributing.md"),
        ("../ARCHITECTURE.md", "cli.md", "docs/cli.md", "architecture.md"),
        ("../suite.md", "adr/0001-a.md", "docs/adr/0001-a.md", "../suite.md"),
        ("LICENSE", "index.md", "README.md", f"{REPOSITORY}/blob/main/LICENSE"),
        ("../schemas", "cli.md", "docs/cli.md", f"{REPOSITORY}/tree/main/schemas"),
    ],
)
def test_a_link_leads_to_the_page_or_to_the_repository(target: str, here: str, source: str, expected: str) -> None:
    assert site_link(target, here, source) == expected


def test_links_in_fenced_blocks_are_left_as_they_are() -> None:
    markdown = "[a](b)\n```md\n[a](b)\n```\n[a](b)"

    assert outside_fences(markdown, lambda text: text.replace("(b)", "(c)")) == "[a](c)\n```md\n[a](b)\n```\n[a](c)"
