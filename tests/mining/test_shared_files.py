"""Claims about files that installed dependencies share."""

from pathlib import Path

from outweigh.mining.shared_files import share_files

LONG = "x = 1\n" * 1000


def write_module(folder: Path, text: str) -> None:
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "module.py").write_text(text)
    (folder / "__pycache__" / "module.cpython-311.pyc").write_text(f"{folder} {text}")


def test_equal_files_are_shared_with_their_compiled_form(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        write_module(folder / "a", LONG)

    assert share_files(second, first) == 2
    for name in ("a/module.py", "a/__pycache__/module.cpython-311.pyc"):
        assert (second / name).samefile(first / name)


def test_files_that_differ_are_kept_and_links_are_not_followed(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_module(first / "a", LONG)
    write_module(second / "a", LONG.replace("1", "2"))
    (tmp_path / "outside.py").write_text(LONG)
    (first / "b.py").symlink_to(tmp_path / "outside.py")
    (second / "b.py").write_text(LONG)

    assert share_files(second, first) == 0
    assert (second / "a/module.py").read_text() == LONG.replace("1", "2")
    assert not (second / "b.py").samefile(tmp_path / "outside.py")
