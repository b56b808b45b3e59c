"""Nothing outside a suite's folder is read, and what cannot be read gives an error message."""

from pathlib import Path

import pytest

from outweigh.errors import UsageError
from outweigh.interop.suite_files import looks_like_json, read_json, read_text, read_tree, read_yaml, resolve_within


def test_windows_text_is_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("café".encode("cp1252"))
    (tmp_path / "b.txt").write_bytes(b"\xef\xbb\xbf" + "café".encode())

    assert read_text(tmp_path / "a.txt") == read_text(tmp_path / "b.txt") == "café"


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"nothing"])
def test_what_is_no_json_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)

    with pytest.raises(UsageError, match=r"a\.json is not valid JSON"):
        read_json(tmp_path / "a.json")
    assert not looks_like_json(tmp_path / "a.json", lambda _: True)


@pytest.mark.parametrize("content", ["a: [", "a: &x [1]\nb: *x\n", "!!python/object:os.system {}", "[" * 1_000_000])
def test_yaml_that_refers_to_itself_or_builds_things_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.yaml").write_text(content)

    with pytest.raises(UsageError, match=r"a\.yaml"):
        read_yaml(tmp_path / "a.yaml")


def test_a_key_with_two_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("tests: {a: [one], a: [two]}\n")
    (tmp_path / "same.yaml").write_text("tests: {a: one, a: one}\n")

    (tmp_path / "a.json").write_text('{"checks": [1], "checks": []}')

    with pytest.raises(UsageError, match="'a' has two values in one place"):
        read_yaml(tmp_path / "a.yaml")
    with pytest.raises(UsageError, match="'checks' stands for two values"):
        read_json(tmp_path / "a.json")
    assert not looks_like_json(tmp_path / "a.json", lambda _: True)
    assert read_yaml(tmp_path / "same.yaml") == {"tests": {"a": "one"}}


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "..\\secret", "a\0b", "link/secret"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("")
    (root / "link").symlink_to(tmp_path)

    with pytest.raises(UsageError, match="leads out"):
        resolve_within(root, path, "evals.json")


def test_a_tree_is_taken_whole_but_for_what_is_nobodys_work(tmp_path: Path) -> None:
    for name in ("SKILL.md", "scripts/run.sh", ".git/config", "node_modules/a/b.js", "evals/evals.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "scripts/run.sh").chmod(0o755)
    (tmp_path / "again.md").symlink_to("SKILL.md")

    found = read_tree(tmp_path, without=lambda path: path.parts[0] == "evals")

    assert list(found) == ["SKILL.md", "again.md", "scripts/run.sh"]
    assert [file.executable for file in found.values()] == [False, False, True]
    assert found["again.md"].content == b"SKILL.md"


def test_a_link_out_of_a_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "passwd").symlink_to("/etc/passwd")

    with pytest.raises(UsageError, match="leads out"):
        read_tree(tmp_path / "root")


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_tree(tmp_path / "none")
