"""Hooks of the documentation site: pages from the top of the repository, and links that work on the site.

The Markdown is written for the repository, where links are relative to the file. On the site, README.md is the start
page, its neighbours are pages too, and a link to any other file leads to the repository.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/outweigh/outweigh"
TOP_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
DECISIONS = "Decisions"
_SOURCES = {page: source for source, page in TOP_PAGES.items()}
_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List every decision record in the navigation; the other pages are grouped by hand."""
    records = sorted(Path(config.docs_dir, "adr").glob("*.md"))
    entries: list[Any] = [record.relative_to(config.docs_dir).as_posix() for record in records]
    config.nav = [{DECISIONS: entries} if entry == DECISIONS else entry for entry in config.nav or ()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the top of the repository."""
    for source, page in TOP_PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead links to where their target is on the site."""
    here = page.file.src_uri
    source = _SOURCES.get(here, f"docs/{here}")
    return outside_fences(markdown, lambda text: _LINK.sub(lambda found: _relinked(found, here, source), text))


def outside_fences(markdown: str, change: Any) -> str:
    """Change the text, and leave what stands in fenced blocks as it is."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def _relinked(found: re.Match[str], here: str, source: str) -> str:
    start, target, fragment, end = found[1], found[2], found[3] or "", found[4]
    return f"{start}{site_link(target, here, source)}{fragment}{end}"


def site_link(target: str, here: str, source: str) -> str:
    """Where a link of the file `source`, which is the page `here`, leads on the site."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if (ROOT / path).is_dir():
        return f"{REPOSITORY}/tree/main/{path}"
    if path not in TOP_PAGES and not path.startswith("docs/"):
        return f"{REPOSITORY}/blob/main/{path}"
    page = TOP_PAGES.get(path, path.removeprefix("docs/"))
    return posixpath.relpath(page, posixpath.dirname(here) or ".")
