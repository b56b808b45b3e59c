"""Markup is made by us alone: whatever text goes in comes out as the same text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from outweigh.report.wording import visible
from outweigh.web.markup import Html, address, element, joined, prose, text
from outweigh.web.patch_markup import MOST_LINES, MOST_OF_A_LINE, patch_markup

any_text = st.text() | st.text(alphabet="<>&\"'/= \n\tascript\u202e\x1b\x00+-@#")


class Read(HTMLParser):
    """What a browser would take from markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.words, self.tags, self.attributes = "", list[str](), list[tuple[str, str | None]]()
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


@given(any_text, any_text)
def test_text_and_attributes_stay_what_they_are(words: str, value: str) -> None:
    read = Read(element("p", words, title=value))

    assert read.tags == ["p"]
    assert read.words == visible(words)
    assert read.attributes == [("title", visible(value))]


@given(any_text)
def test_lines_and_tabs_of_a_long_text_stay(words: str) -> None:
    read = Read(element("b", prose(words)))

    assert read.tags == ["b"]
    assert read.words == "\n".join("\t".join(map(visible, line.split("\t"))) for line in words.split("\n"))


@given(st.lists(any_text, max_size=20))
def test_a_patch_with_colours_says_the_same_as_without(lines: list[str]) -> None:
    lines = [line.replace("\n", " ") for line in lines]

    read = Read(patch_markup(lines))

    assert set(read.tags) <= {"pre", "code", "span"}
    assert read.words == "".join("\t".join(map(visible, line.split("\t"))) + "\n" for line in lines)


def test_what_is_left_out_of_a_patch_is_counted() -> None:
    long_line = "+" + "x" * (MOST_OF_A_LINE + 4)

    read = Read(patch_markup([long_line, *["+"] * MOST_LINES]))

    assert "… 5 more characters" in read.words
    assert read.words.count("\n") == MOST_LINES


def test_a_patch_tells_added_from_removed_and_from_its_head() -> None:
    patch = [
        "diff --git a/x.py b/x.py",
        "--- a/x.py",
        "+++ b/x.py",
        "@@ -1 +1 @@",
        "-def f(): pass",
        "+x = 'y' // 2  # z",
    ]

    markup = patch_markup(patch)

    assert '<span class="head">--- a/x.py' in markup
    assert '<span class="gone">-<span class="t-keyword">def</span>' in markup
    assert '<span class="t-string">&#x27;y&#x27;</span> // <span class="t-number">2</span>' in markup
    assert '<span class="t-comment"># z</span>' in markup


def test_two_slashes_begin_a_comment_where_the_language_says_so() -> None:
    patch = ["diff --git a/x.ts b/x.ts", "--- a/x.ts", "+++ b/x.ts", "@@ -1 +1 @@", "+let x // why"]

    assert '<span class="t-comment">// why</span>' in patch_markup(patch)


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    patch = ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "--- not a head", "+++ neither"]

    markup = patch_markup(patch)

    assert markup.count('class="head"') == 3


def test_markup_that_was_made_here_is_not_escaped_again() -> None:
    assert joined([text("<"), Html("<br>"), None, "<"]) == "&lt;<br>&lt;"


def test_an_address_leaves_out_what_is_not_asked_for() -> None:
    assert address("/runs", {"q": "", "arm": "a&b", "page": 2}) == "/runs?arm=a%26b&page=2"
