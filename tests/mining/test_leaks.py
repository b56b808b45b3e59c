"""The change is looked for in everything that an agent would see."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest
from tests.engine.engine_fixtures import toml_lines
from tests.prerequisites import require

from outweigh.engine.load_task import load_task
from outweigh.engine.preflight import PreflightContext
from outweigh.mining.fix_text import FixText
from outweigh.mining.leaks import find_leak
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.workspace.cache import WorkspaceCache

pytestmark = pytest.mark.needs_bubblewrap

LINES = ("def add_twice(number):", "if number is None:", "raise ValueError('a number is needed')", "return number * 2")
EXIT = (
    *("def __exit__(", "self,", "exc_type: type[BaseException] | None,", "exc_val: BaseException | None,"),
    *("exc_tb: TracebackType | None,", ") -> None:"),
)
"""The signature of a special method, which every project has in the same words."""
MOVED = (
    *("for name, value in options.items():", "if value is not None and name in known:"),
    *("result[name] = value.strip()", "elif not name.startswith('_'):", "unknown.append(name)"),
    "return dict(sorted(result.items())), unknown",
)
"""What stood at the base already, in another place of a file that the change is about."""
LICENCE = (
    *("Permission is hereby granted, free of charge, to any person obtaining a copy of this software and", "so on."),
    "The above copyright notice and this permission notice shall be included in all copies of the Software.",
    *('THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT',),
    *("LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO",),
    *("EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY",),
    *("ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.",),
)
"""The terms of countless packages, which a change may add with a file of its tests."""
FIX = FixText(
    before=(("def read(options):", *MOVED, "def double(n):"),),
    runs=(LINES, MOVED, ("self.number += half_of_it()", *EXIT, "self.number = None")),
    test_runs=(("def test_nothing_is_refused():", "with raises(ValueError):", "add_twice(None)"), LICENCE),
    names=frozenset({"add_twice", "NumberNeeded", "half_of_it"}),
    defined=frozenset({"add_twice", "NumberNeeded", "half_of_it"}),
    added_paths=(),
)
Search = Callable[..., str | None]


@pytest.fixture
def search(tmp_path: Path) -> Search:
    """Look for the change in a task's sandbox, with these packages and after this setup."""
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    def search(packages: dict[str, str], setup: str = "true", hidden: Sequence[str] = ()) -> str | None:
        folder = tmp_path / "task"
        (folder / "environment").mkdir(parents=True)
        (folder / "environment/work.py").write_text("def double(n):\n    return n\n")
        (folder / "instruction.md").write_text("Double it.")
        for path, content in {"installed/packages.txt": "", **packages}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(content)
        dependencies = {"folder": "../installed", "hidden": list(hidden)}
        settings = {"setup": [setup], "dependencies": dependencies}
        (folder / "task.toml").write_text(toml_lines({"metadata": {"outweigh": settings}}))
        context = PreflightContext(
            sandboxes=BubblewrapSandboxProvider(),
            workspaces=WorkspaceCache(tmp_path / "pristine"),
            scratch=tmp_path,
            sandbox=SandboxSpec(read_only=[sys.base_prefix]),
            label="tests",
            solution_timeout_seconds=60.0,
            cancel=Event(),
        )
        return find_leak(load_task(folder), context, FIX)

    return search


def test_the_terms_of_a_licence_are_not_of_the_change_alone(search: Search) -> None:
    assert search({"installed/other.py": "".join(f"{line}\n" for line in LICENCE)}) is None


INDENTED = "".join(f"    {line}\n" for line in LINES)


@pytest.mark.parametrize(
    ("packages", "hidden"),
    [
        ({}, ()),
        ({"installed/other.py": f"{LINES[0]}\n{LINES[1]}\nprint(number)\n"}, ()),
        ({"installed/other.py": "add_twice = half_of_it = None\n"}, ()),
        ({"installed/idiom.py": "".join(f"{line}\n" for line in LINES[1:])}, ()),
        ({"installed/idiom.py": "".join(f"{line}\n" for line in (*EXIT, "self.close()"))}, ()),
        ({"installed/earlier.py": "".join(f"{line}\n" for line in MOVED)}, ()),
        ({"installed/later/copy.py": INDENTED}, ("later",)),
        ({"installed/python/lib/python3.11/textwrap.py": INDENTED}, ()),
    ],
)
def test_nothing_is_found_where_the_agent_cannot_read_it(
    search: Search, packages: dict[str, str], hidden: Sequence[str]
) -> None:
    assert search(packages, hidden=hidden) is None


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (INDENTED, "lines of the change"),
        (
            "class A:\n  def test_nothing_is_refused():\n\n    with raises(ValueError):\n      add_twice(None)\n",
            "lines",
        ),
        ("var add_twice=1,NumberNeeded=2,half_of_it=3", "names that the change adds"),
    ],
)
def test_later_code_in_a_package_is_found(search: Search, content: str, found: str) -> None:
    leak = search({"installed/lib/copy.py": content})

    assert leak is not None
    assert leak.startswith("/opt/dependencies/lib/copy.py has ")
    assert found in leak


@pytest.mark.parametrize(
    ("setup", "found"),
    [
        ("echo half_of_it > notes.txt", "notes.txt has names"),
        ("echo '# half_of_it' >> work.py", "work.py has names"),
        ("echo half_of_it > $HOME/notes", "notes has names"),
        ("echo later | git hash-object -w --stdin", "git objects that no branch leads to"),
        ("git remote add origin https://example.org/work.git", "a git remote"),
        ("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m more", "more than one commit"),
    ],
)
def test_what_a_setup_brings_into_the_workspace_is_found(search: Search, setup: str, found: str) -> None:
    assert found in (search({}, setup) or "")
