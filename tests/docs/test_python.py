"""docs/python.md and the example notebook do what they show."""

import ast
import doctest
import json
from contextlib import chdir
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
NOTEBOOK = ROOT / "examples" / "notebook" / "verdict.ipynb"


def test_the_page_prints_what_it_shows() -> None:
    page = doctest.DocTestParser().get_doctest(PAGE.read_text(), {}, "python.md", str(PAGE), 0)
    complaints: list[str] = []

    with chdir(ROOT):
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(page, out=complaints.append)

    assert result.attempted > 10
    assert not result.failed, "".join(complaints)


def test_the_notebook_runs_from_its_first_cell_to_its_last() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    names: dict[str, Any] = {}

    with chdir(NOTEBOOK.parent):
        shown = [run_cell("".join(cell["source"]), names) for cell in notebook["cells"] if cell["cell_type"] == "code"]

    assert notebook["nbformat"] == 4
    assert len(shown) >= 5
    assert all(value is not None for value in shown)
    assert "&lt;svg" in shown[0]._repr_html_()
    assert "&lt;svg" in shown[-1]._repr_html_()


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last expression is what is shown."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        raise AssertionError(f"a cell shows nothing: {source}")
    exec(compile(ast.Module(statements, []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
