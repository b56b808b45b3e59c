"""What an instruction is made of is read from a real history."""

from datetime import UTC, datetime
from pathlib import Path

from tests.repositories import Repository

from outweigh.mining.candidate import Candidate, CandidateKind
from outweigh.mining.fix_text import is_changelog
from outweigh.mining.instruction.gather import gather_change
from outweigh.mining.repository import open_history

BASE = {
    "src/net.py": "def connect(host):\n    return host\n",
    "src/gone.py": "OLD = 1\n",
    "tests/test_net.py": "def test_connect():\n    pass\n",
    "docs/guide.md": "Use the proxy with care.\n",
    "docs/speling.md": "A misspeled page.\n",
    "CHANGELOG.md": "# Changes\n\n- First release\n",
}
FIX = {
    "docs/guide.md": "Use the proxy with care.\n\nName it with `proxy=`.\nIt is asked first.\n",
    "docs/speling.md": "A misspelled page.\n",
    "src/net.py": 'def connect(host, proxy=None):\n    return host, proxy, "tunnel"\n',
    "src/gone.py": None,
    "tests/test_net.py": 'def test_connect():\n    assert connect("a", proxy="b") == ("a", "b", "tunnel")\n',
    "CHANGELOG.md": "# Changes\n\n- Connections go through a *proxy*.\n-   First release\n",
}


def test_files_messages_and_changelog_of_both_sides_are_read(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    base, fix = repository.commit(BASE), repository.commit(FIX)
    candidate = Candidate(
        base=base,
        fix=fix,
        commits=(fix,),
        kind=CandidateKind.COMMIT,
        date=datetime(2026, 1, 1, tzinfo=UTC),
        message="Connect through a proxy (fixes #12)",
        source_files=("src/net.py",),
        test_files=("tests/test_net.py",),
        other_files=("CHANGELOG.md", "docs/guide.md", "docs/speling.md"),
        source_lines=2,
    )

    with open_history(repository.folder) as history:
        changed = gather_change(
            history,
            candidate,
            fail_to_pass=["test_connect"],
            passed_at_base=0,
            missing_names=["x"],
            read_issue={12: "No proxy"}.get,
        )

    assert changed.source_before == {"src/net.py": BASE["src/net.py"], "src/gone.py": BASE["src/gone.py"]}
    assert changed.source_after == {"src/net.py": FIX["src/net.py"]}
    assert changed.tests_after == {"tests/test_net.py": FIX["tests/test_net.py"]}
    assert changed.subjects == ("a change",)
    assert changed.changelog == ("- Connections go through a *proxy*.",)
    assert changed.documentation == ("\nName it with `proxy=`.\nIt is asked first.",)
    assert changed.missing_names == ("x",)
    assert changed.issue == "No proxy"
    assert changed.known_at_base == {"proxy"}


def test_documentation_is_quoted_in_whole_paragraphs(tmp_path: Path) -> None:
    before = "Tables have rows. Rows\nhave cells.\n\nA table is printed with\nspaces between its columns.\n\n- Rows.\n"
    after = before.replace("with\n", "with a frame,\nwhich is made of signs such as plus,\nand with\n")
    after = after.replace("Rows\nhave cells.", "Rows\nhave as many cells as there are columns.")
    repository = Repository(tmp_path / "repository")
    code = "table = make_table()\nprint(table)\n"
    base = repository.commit({"docs/tables.md": before, "examples/table.py": code, "a.py": ""})
    framed = code.replace("make_table()", "make_table(frame=True, title='A table of rows and columns')")
    fix = repository.commit({"docs/tables.md": after, "examples/table.py": framed, "a.py": "a = 1\n"})
    candidate = Candidate(
        base=base,
        fix=fix,
        commits=(fix,),
        kind=CandidateKind.COMMIT,
        date=datetime(2026, 1, 1, tzinfo=UTC),
        message="Frame tables",
        source_files=("a.py",),
        test_files=(),
        other_files=("docs/tables.md", "examples/table.py"),
        source_lines=1,
    )

    with open_history(repository.folder) as history:
        changed = gather_change(history, candidate, fail_to_pass=[], passed_at_base=0)

    assert changed.documentation == (
        "Rows have as many cells as there are columns.",
        "A table is printed with a frame,\nwhich is made of signs such as plus,\nand with\nspaces between its columns.",
    )


def test_changelogs_are_known_by_their_names() -> None:
    paths = [
        "CHANGELOG.md",
        "CHANGES",
        "docs/changes.rst",
        "HISTORY.rst",
        "NEWS",
        "newsfragments/12.bugfix",
        "src/history.py",
    ]

    assert [path for path in paths if not is_changelog(path)] == ["src/history.py"]
