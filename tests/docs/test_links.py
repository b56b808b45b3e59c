import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FETCHED = {".venv", ".agents", "node_modules", ".pytest_cache"}
PAGES = sorted(path for path in ROOT.rglob("*.md") if not FETCHED & set(path.relative_to(ROOT).parts))
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    broken = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]

    assert broken == []
