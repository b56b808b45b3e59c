"""Patch against patch, file by file."""

from tests.trajectories import a_patch

from outweigh.report.run_diff import compare_patches, patched_files


def text(*patches: bytes) -> str:
    return b"".join(patches).decode()


def test_a_file_knows_its_lines() -> None:
    (file,) = patched_files(text(a_patch("src/a.py", "one", "two")))

    assert (file.path, file.added, file.removed) == ("src/a.py", 2, 0)


def test_a_line_of_a_file_that_looks_like_a_header_is_a_line() -> None:
    (file,) = patched_files(text(a_patch("a", "++ b/other", "+++ b/other")))

    assert (file.path, file.added) == ("a", 2)


def test_a_binary_file_is_named_by_its_first_line() -> None:
    (file,) = patched_files("diff --git a/x y.png b/x y.png\nindex 1..2\nGIT binary patch\n")

    assert file.path == "x y.png"


def test_a_removed_file_keeps_its_name() -> None:
    patch = "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"

    (file,) = patched_files(patch)

    assert (file.path, file.added, file.removed) == ("old", 0, 1)


def test_files_are_the_same_different_or_of_one_patch_alone() -> None:
    a = text(a_patch("both", "x"), a_patch("differs", "x"), a_patch("first", "x"))
    b = text(a_patch("both", "x"), a_patch("differs", "y"), a_patch("second", "x"))

    pairs = {pair.path: pair.likeness.value for pair in compare_patches(a, b)}

    assert pairs == {"both": "same", "differs": "different", "first": "only_a", "second": "only_b"}


def test_index_lines_do_not_make_a_difference() -> None:
    patch = "diff --git a/f b/f\nindex {}\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"

    (pair,) = compare_patches(patch.format("1..2"), patch.format("3..4"))

    assert pair.likeness.value == "same"


def test_an_empty_patch_has_no_file() -> None:
    assert patched_files("") == ()
