"""Text that goes into markup comes out as the same text, never as markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from outweigh.report.formatting import escape_controls
from outweigh.web.markup import Html, build_url, element, escape_lines, escape_text, join_markup
from outweigh.web.patch_view import MAX_PATCH_LINE_LENGTH, MAX_PATCH_LINES, render_patch

any_text = st.text() | st.text(alphabet="<>&\"'/= \n\tascript\u202e\x1b\x00+-@#")


class Read(HTMLParser):
    """What a browser would parse from markup."""

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
    assert read.words == escape_controls(words)
    assert read.attributes == [("title", escape_controls(value))]


@given(any_text)
def test_lines_and_tabs_of_a_long_text_stay(words: str) -> None:
    read = Read(element("b", escape_lines(words)))

    assert read.tags == ["b"]
    assert read.words == "\n".join("\t".join(map(escape_controls, line.split("\t"))) for line in words.split("\n"))


@given(st.lists(any_text, max_size=20))
def test_a_patch_with_colours_says_the_same_as_without(lines: list[str]) -> None:
    lines = [line.replace("\n", " ") for line in lines]

    read = Read(render_patch(lines))

    assert set(read.tags) <= {"pre", "code", "span"}
    assert read.words == "".join("\t".join(map(escape_controls, line.split("\t"))) + "\n" for line in lines)


def test_what_is_left_out_of_a_patch_is_counted() -> None:
    long_line = "+" + "x" * (MAX_PATCH_LINE_LENGTH + 4)

    read = Read(render_patch([long_line, *["+"] * MAX_PATCH_LINES]))

    assert "… 5 more characters" in read.words
    assert read.words.count("\n") == MAX_PATCH_LINES


def test_a_patch_tells_added_from_removed_and_from_its_head() -> None:
    patch = [
        "diff --git a/x.py b/x.py",
        "--- a/x.py",
        "+++ b/x.py",
        "@@ -1 +1 @@",
        "-def f(): pass",
        "+x = 'y' // 2  # z",
    ]

    markup = render_patch(patch)

    assert '<span class="head">--- a/x.py' in markup
    assert '<span class="gone">-<span class="t-keyword">def</span>' in markup
    assert '<span class="t-string">&#x27;y&#x27;</span> // <span class="t-number">2</span>' in markup
    assert '<span class="t-comment"># z</span>' in markup


def test_two_slashes_begin_a_comment_where_the_language_says_so() -> None:
    patch = ["diff --git a/x.ts b/x.ts", "--- a/x.ts", "+++ b/x.ts", "@@ -1 +1 @@", "+let x // why"]

    assert '<span class="t-comment">// why</span>' in render_patch(patch)


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    patch = ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "--- not a head", "+++ neither"]

    markup = render_patch(patch)

    assert markup.count('class="head"') == 3


def test_markup_that_was_made_here_is_not_escaped_again() -> None:
    assert join_markup([escape_text("<"), Html("<br>"), None, "<"]) == "&lt;<br>&lt;"


def test_an_address_leaves_out_what_is_not_asked_for() -> None:
    assert build_url("/runs", {"q": "", "arm": "a&b", "page": 2}) == "/runs?arm=a%26b&page=2"
