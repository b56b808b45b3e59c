"""The page for the browser: whole, well formed, and deaf to whatever names say."""

from html.parser import HTMLParser

import pytest

from outweigh.ports.reporters import Reporter
from outweigh.report.document import Block, CodeBlock, Details, Heading, Report, RunPair, Table, TaskPairs, Tone
from outweigh.report.render_html import HtmlReporter
from outweigh.report.terms import TERMS
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


def page(*blocks: Block) -> str:
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
    html = page(Table(title="wide", columns=("", "state"), rows=(("a", "worse"),)))

    assert '<div class="scroll" role="region" tabindex="0" aria-label="wide">' in html
    assert '<th scope="row">a</th><td class="bad">worse</td>' in html


def test_an_arm_that_is_called_better_is_not_coloured_as_good_news() -> None:
    html = page(Table(title="arms", columns=("", "candidate", "state"), rows=(("a", "better", "worse"),)))

    assert '<td>better</td><td class="bad">worse</td>' in html


def test_everything_before_the_first_fold_is_the_first_screen() -> None:
    shown, folded = Table(title="shown", columns=("", "x"), rows=()), CodeBlock(title="folded", lines=("x",))
    html = page(shown, Details(title="more", blocks=(folded,)))

    first, rest = html.split("<details>", 1)
    assert "shown" in first.partition('<div class="first-screen">')[2]
    assert "folded" not in first
    assert "folded" in rest


A_PAIR = RunPair(
    task="task-1",
    baseline_run="task-1/base/1",
    candidate_run="task-1/new/2",
    table=Table(title="task-1: repeats 1 and 2", columns=("", "base", "new"), rows=(("result", "passed", "failed"),)),
    command="outweigh diff runs task-1/base/1 task-1/new/2",
)
PAIRS = TaskPairs(
    table=Table(title="Tasks", columns=("", "change"), rows=(("task-1", "-100 points"), ("task-2", "+1 points"))),
    pairs=(A_PAIR, None),
    note="",
)


def test_a_task_links_to_its_pair_on_the_page_and_one_without_a_pair_does_not() -> None:
    html = page(PAIRS)

    assert '<a href="#pair-1">task-1</a>' in html
    assert '<section class="pair" id="pair-1">' in html
    assert '<th scope="row">task-2</th>' in html


def test_a_viewer_links_a_task_to_its_own_page_of_both_runs() -> None:
    report = Report(headline="h", tone=Tone.GOOD, blocks=(PAIRS,), payload={})
    html = HtmlReporter(lambda one, other: f"diff?a={one}&b={other}").render(report)

    assert '<a href="diff?a=task-1/base/1&amp;b=task-1/new/2">task-1</a>' in html
    assert 'id="pair-1"' not in html


def test_a_word_of_ours_is_explained_once_in_each_part_and_listed_at_the_end() -> None:
    columns = ("", "margin", "the margin again", "pass^5")
    html = page(
        Table(title="t", columns=columns, rows=()),
        Details(title="more", blocks=(Table(title="u", columns=("", "margin"), rows=()),)),
    )

    found = Page(html)
    assert [value for key, value in found.attributes if key == "aria-describedby"] == [
        "term-margin",
        "term-pass-all-k",
        "term-margin",
    ]
    assert [value for key, value in found.attributes if key == "id"] == ["term-margin", "term-pass-all-k"]
    assert TERMS["Margin"][1:] in html.partition('<dl class="glossary">')[2]


def test_a_command_keeps_its_lines() -> None:
    assert "<code>first\nsecond &amp; third</code>" in page(CodeBlock(title="again", lines=("first", "second & third")))
