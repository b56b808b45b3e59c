"""The page for the browser: whole, well formed, and deaf to whatever names say."""

from html.parser import HTMLParser

import pytest

from outweigh.ports.reporters import Reporter
from outweigh.report.document import CodeBlock, Heading, Report, Table, Tone
from outweigh.report.render_html import HtmlReporter
from outweigh.testing.contracts import ReporterContract

VOID = {"meta", "line", "rect", "path"}
HOSTILE = (
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)",
    "<img src=x onerror=alert(1)>",
    "</title></style></main><svg onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;",
    "]]><!--",
)


class Page(HTMLParser):
    """Elements and attributes as a browser would see them; unbalanced ones fail."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class TestHtml(ReporterContract):
    def reporter(self) -> Reporter:
        return HtmlReporter()

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_name_adds_no_element_and_no_attribute(self, name: str) -> None:
        harmless, hostile = Page(self.render("harmless")), Page(self.render(name))

        assert hostile.tags == harmless.tags
        assert [key for key, _ in hostile.attributes] == [key for key, _ in harmless.attributes]

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_name_is_shown_as_it_is(self, name: str) -> None:
        assert name in Page(self.render(name)).text

    @pytest.mark.parametrize(
        ("character", "code"),
        [("\u202e", "\\x202e"), ("\u2066", "\\x2066"), ("\x00", "\\x00"), ("\x1b", "\\x1b"), ("\u200b", "\\x200b")],
    )
    def test_control_and_direction_characters_are_shown_by_their_code(self, character: str, code: str) -> None:
        html = self.render(f"a{character}b")

        assert character not in html
        assert f"a{code}b" in html

    def test_a_lone_surrogate_does_not_stop_the_page_from_being_written(self) -> None:
        assert b"\\xd800" in self.render("\ud800").encode()


def page(*blocks: Table | Heading | CodeBlock) -> str:
    return HtmlReporter().render(Report(headline="h", tone=Tone.GOOD, blocks=blocks, payload={}))


def test_nothing_is_fetched_and_nothing_is_run() -> None:
    found = Page(page(Table(title="t", columns=("", "x"), rows=(("a", "1"),))))
    contents = [value for key, value in found.attributes if key == "content"]

    assert any(
        value is not None and value.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
        for value in contents
    )
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert not [key for key, _ in found.attributes if key in ("src", "srcset") or key.startswith("on")]


def test_the_policy_comes_before_anything_it_could_govern() -> None:
    html = page()

    assert html.index("charset") < html.index("Content-Security-Policy") < html.index("<title>") < html.index("<style>")
    assert html.index("charset") < 1024


def test_parts_are_linked_from_the_top_where_there_are_several() -> None:
    html = page(Heading(title="one", tone=Tone.GOOD), Heading(title="two", tone=Tone.BAD))

    assert '<a href="#part-2">two</a>' in html
    assert '<h2 id="part-2" class="bad">two</h2>' in html
    assert "<nav" not in page(Heading(title="one", tone=Tone.GOOD))


def test_a_wide_table_scrolls_by_itself_and_can_be_reached_by_keyboard() -> None:
    html = page(Table(title="wide", columns=("", "x"), rows=(("a", "worse"),)))

    assert '<div class="scroll" role="region" tabindex="0" aria-label="wide">' in html
    assert '<th scope="row">a</th><td class="bad">worse</td>' in html


def test_a_command_keeps_its_lines() -> None:
    assert "<code>first\nsecond &amp; third</code>" in page(CodeBlock(title="again", lines=("first", "second & third")))
