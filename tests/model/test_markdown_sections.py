"""Sections of Markdown: headings and bullets as CommonMark has them, and every character in exactly one place."""

import random

import pytest

from outweigh.errors import UsageError
from outweigh.model.markdown_sections import (
    BEFORE_FIRST_HEADING,
    NO_TITLE,
    SectionKind,
    find_section,
    own_spans,
    sent_pieces,
    split_sections,
)

GUIDE = """\
Read this first.

# Project

Some words.

## Testing

Run the tests.

```sh
# not a heading
## neither
```

### Unit tests

- Use **pytest**, and nothing else.
  It is installed.
- Run `make test`.

  With all markers.
  - Slow ones at night.

After the list.

## Style
Use tabs.
"""


def titles(text: str, kind: SectionKind = SectionKind.HEADING) -> list[str]:
    return [each.title for each in split_sections(text) if each.kind is kind]


def piece(text: str, title: str, *others: str) -> str:
    """What belongs to a section where other sections are named, too."""
    sections = split_sections(text)
    named = [find_section(sections, each, "CLAUDE.md") for each in (title, *others)]
    return "".join(text[start:end] for start, end in own_spans(named[0], named))


def complaint(text: str, title: str) -> str:
    with pytest.raises(UsageError) as raised:
        find_section(split_sections(text), title, "CLAUDE.md")
    return str(raised.value)


def test_headings_in_code_are_no_sections() -> None:
    assert titles(GUIDE) == ["Project", "Testing", "Unit tests", "Style"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("~~~\n# a\n```\n# b\n~~~\n# c\n", ["c"]),
        ("````\n```\n# a\n````\n# b\n", ["b"]),
        ("```\n# an open fence reaches to the end\n", []),
        ("    # indented\n# a\n", ["a"]),
        ("#tag\n####### seven\n# a ##\n", ["a"]),
        ("Title\nof two lines\n===\nother\n---\n\n---\n", ["Title of two lines", "other"]),
        ("<!--\n# hidden\n-->\n# a\n", ["a"]),
        ("<details>\n# hidden\n\n# a\n</details>\n", ["a"]),
        ("- item\n\n  ```\n  # a\n  ```\n\n  ## b\n\n# c\n", ["c"]),
        ("> # quoted\n> ```\n\n# a\n", ["a"]),
        ("---\nname: x\n---\n# a\n", ["a"]),
        ("\ufeff# a\r\n\r\n## b\r\n", ["a", "b"]),
        ("#\n# a\n", [NO_TITLE, "a"]),
        ("", []),
    ],
)
def test_what_is_a_heading(text: str, found: list[str]) -> None:
    assert titles(text) == found


def test_a_nested_heading_belongs_to_its_parent_unless_it_is_named() -> None:
    assert piece(GUIDE, "Testing").startswith("## Testing\n")
    assert piece(GUIDE, "Testing").endswith("After the list.\n\n")
    assert piece(GUIDE, "Testing", "Unit tests").endswith("```\n\n")
    assert piece(GUIDE, "Project", "Testing", "Style") == "# Project\n\nSome words.\n\n"


def test_the_text_before_the_first_heading_can_be_named() -> None:
    assert piece(GUIDE, BEFORE_FIRST_HEADING) == "Read this first.\n\n"
    assert piece("- one\n- two\n", BEFORE_FIRST_HEADING) == "- one\n- two\n"
    assert [each.title for each in split_sections("# a\n")] == ["a"]


def test_a_bullet_is_named_by_its_start_and_has_what_is_indented_under_it() -> None:
    assert piece(GUIDE, "Use pytest") == "- Use **pytest**, and nothing else.\n  It is installed.\n"
    assert piece(GUIDE, "Run `make") == "- Run `make test`.\n\n  With all markers.\n  - Slow ones at night.\n"
    assert piece(GUIDE, "Run `make", "Slow ones") == "- Run `make test`.\n\n  With all markers.\n"
    assert piece(GUIDE, "Unit tests", "Use **pytest**", "Run make test") == "### Unit tests\n\n\nAfter the list.\n\n"


def test_marks_of_emphasis_in_a_title_may_be_left_out() -> None:
    text = "# **Must** do\n`make`\n# Other\n"
    assert piece(text, "Must do") == piece(text, "**Must** do") == "# **Must** do\n`make`\n"


def test_what_follows_a_list_stays_apart_from_it_without_its_last_bullet() -> None:
    text = "# a\n- one\n- two\n\nMore.\n"
    assert piece(text, "a", "two") == "# a\n- one\n\nMore.\n"


def test_a_title_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert complaint(GUIDE, "Deployment") == (
        "CLAUDE.md has no section 'Deployment'; its sections are '(before the first heading)', 'Project', 'Testing', "
        "'Unit tests', 'Style'."
    )
    assert complaint(GUIDE, "Unit test").endswith("did you mean 'Unit tests'?")
    assert complaint("", "a") == "CLAUDE.md has no section 'a'; it is empty."


def test_an_ambiguous_title_is_told_apart_by_the_titles_around_it() -> None:
    text = "# One\n## Notes\n# Two\n## Notes\n"
    assert complaint(text, "Notes") == (
        "CLAUDE.md has 2 sections 'Notes'; name one of them: 'One > Notes', 'Two > Notes'."
    )
    assert piece(text, "Two > Notes") == "## Notes\n"
    assert "cannot be told apart ('a')" in complaint("# a\n# a\n", "a")
    assert complaint("- Use tabs\n- Use pytest\n", "Use").startswith("CLAUDE.md has 2 sections 'Use'; name one of them")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a\n<!-- b -->\nc\n", ("a\n", "c\n")),
        ("<!--\nb\n\n-->\nc <!-- d --> e\n", ("", "c <!-- d --> e\n")),
        ("```\n<!-- a -->\n```\n", ("```\n<!-- a -->\n```\n",)),
        ("a\n\n<!-- open\nb\n", ("a\n\n", "")),
        ("- a\n  <!-- b -->\n- c\n", ("- a\n", "- c\n")),
        ("\ufeff# a\n", ("# a\n",)),
        ("---\nname: a\n---\n# b\n", ("# b\n",)),
        ("", ("",)),
    ],
)
def test_what_agents_leave_out_is_cut_out(text: str, pieces: tuple[str, ...]) -> None:
    assert sent_pieces(text) == pieces


FRAGMENTS = (
    *(
        "# A",
        "## B",
        "### C #",
        "text",
        "more",
        "",
        "",
        "- a",
        "- b",
        "  - c",
        "* d",
        "1. x",
        "   cont",
        "```",
        "```sh",
    ),
    *("~~~", "    # code", "  # h", "===", "- - -", "***", "<!-- c", "-->", "<div>", "</div>", "#tag", "\t- t"),
    *("10. z", "    ```", "  ```", "- # h", "<pre>", "</pre>", "+   w", "     deep"),
)


def random_text(seed: int) -> str:
    draw = random.Random(seed)
    return "".join(f"{draw.choice(FRAGMENTS)}\n" for _ in range(draw.randint(1, 12)))


def test_headings_and_bullets_are_those_that_a_parser_of_commonmark_finds() -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    for seed in range(1500):
        text = random_text(seed)
        found = [(each.kind, text.count("\n", 0, each.start)) for each in split_sections(text)]
        tokens = parser.parse(text)
        headings = [token.map[0] for token in tokens if token.type == "heading_open" and token.level == 0]
        bullets = {token.map[0] for token in tokens if token.type == "list_item_open"}
        assert [line for kind, line in found if kind is SectionKind.HEADING] == headings, text
        assert {line for kind, line in found if kind is SectionKind.BULLET} == bullets, text


def test_all_sections_together_are_the_whole_text_and_no_two_overlap() -> None:
    for seed in range(500):
        text = random_text(seed)
        sections = split_sections(text)
        spans = sorted(span for each in sections for span in own_spans(each, sections))
        assert "".join(text[start:end] for start, end in spans) == text
        assert sum(end - start for start, end in spans) == len(text)


def test_a_bullet_with_a_tab_after_its_mark_has_what_is_indented_by_a_tab() -> None:
    text = "# A\n-\tfirst\n\n\tmore of first\n-\tsecond\n"

    bullets = [text[each.start : each.end] for each in split_sections(text) if each.title in ("first", "second")]

    assert bullets == ["-\tfirst\n\n\tmore of first\n", "-\tsecond\n"]
