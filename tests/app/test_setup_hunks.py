"""The way from one set-up to another, hunk by hunk."""

from hypothesis import given
from hypothesis import strategies as st

from outweigh.app.setup_hunks import hunk_steps

files = st.dictionaries(
    st.sampled_from(["CLAUDE.md", "a/b.md", "x.bin"]), st.sampled_from([b"", b"a\nb\nc\n", b"a\nx\nc", b"\xff\x00"])
)


def test_every_step_applies_one_more_hunk() -> None:
    before, after = b"one\ntwo\nthree\nfour\n", b"ONE\ntwo\nthree\nfour\nfive\n"

    steps = list(hunk_steps({"CLAUDE.md": before}, {"CLAUDE.md": after}))

    assert [step.files["CLAUDE.md"] for step in steps] == [b"ONE\ntwo\nthree\nfour\n", after]
    assert [(step.title, step.lines) for step in steps] == [
        ("CLAUDE.md line 1", ("-one", "+ONE")),
        ("CLAUDE.md line 5", ("+five",)),
    ]


def test_files_that_come_go_or_are_no_text_are_one_step_each() -> None:
    steps = list(hunk_steps({"a": b"1\n", "b": b"\xff"}, {"b": b"\xfe", "c": b"3\n"}))

    assert [step.title for step in steps] == ["a removed", "b replaced", "c added"]


@given(files, files)
def test_the_last_step_has_the_files_after(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    steps = list(hunk_steps(before, after))

    assert (dict(steps[-1].files) if steps else before) == after
    assert len({tuple(sorted(step.files.items())) for step in steps}) == len(steps)
