"""Folds and pairs of runs in every format: where blocks are added, and what a format shows that cannot fold."""

from outweigh.report.document import (
    Badge,
    Block,
    CodeBlock,
    Details,
    KeyPoints,
    Report,
    RunPair,
    Table,
    TaskPairs,
    Tone,
    add_blocks,
)
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_text import TextReporter

FIRST = KeyPoints(rows=(("Agent", "claude"),), facts=True)
SECOND = CodeBlock(title="second", lines=("2",))
MORE = CodeBlock(title="more", lines=("+",))
PAIR = RunPair(
    task="task",
    baseline_run="task/a/1",
    candidate_run="task/b/1",
    table=Table(title="task: repeat 1", columns=("", "a", "b"), rows=(("result", "passed", "failed"),)),
    command="outweigh diff runs task/a/1 task/b/1",
)
PAIRS = TaskPairs(
    table=Table(title="Tasks", columns=("", "change"), rows=(("task", "-100 points"), ("other", "+20 points"))),
    pairs=(PAIR, None),
    note="A note.",
)


def report(*blocks: Block, **fields: object) -> Report:
    return Report(headline="HEADLINE", tone=Tone.BAD, blocks=blocks, payload={}, **fields)  # type: ignore[arg-type]


def test_blocks_are_added_after_the_first_where_nothing_is_folded() -> None:
    assert add_blocks(report(FIRST, SECOND), "title", (MORE,)).blocks == (FIRST, MORE, SECOND)


def test_blocks_are_added_as_the_first_fold_where_a_page_has_folds() -> None:
    fold = Details(title="fold", blocks=(SECOND,))

    added = add_blocks(report(FIRST, fold), "title", (MORE,))

    assert added.blocks == (FIRST, Details(title="title", blocks=(MORE,)), fold)


def test_nothing_is_added_where_there_is_nothing_to_add() -> None:
    fold = Details(title="fold", blocks=(SECOND,))

    assert add_blocks(report(FIRST, fold), "title", ()).blocks == (FIRST, fold)


def test_text_shows_what_is_folded_and_the_fallback_where_there_is_one() -> None:
    shown = Details(title="shown", lead="A lead.", blocks=(SECOND,))
    replaced = Details(title="replaced", blocks=(MORE,), fallback="See the page.")

    text = TextReporter(colour=False).render(report(shown, replaced))

    assert "shown\n\nA lead.\n\nsecond\n  2\n" in text
    assert "replaced\n  See the page.\n" in text
    assert "more" not in text


def test_markdown_folds_with_the_title_as_text() -> None:
    markdown = MarkdownReporter().render(report(Details(title="<b>@me", lead="A lead.", blocks=(SECOND,))))

    assert "<details><summary>&lt;b&gt;@\u200bme</summary>\n\nA lead.\n\n### second" in markdown
    assert markdown.rstrip().endswith("</details>")


def test_text_and_markdown_give_the_command_of_a_pair() -> None:
    for rendered in (TextReporter(colour=False).render(report(PAIRS)), MarkdownReporter().render(report(PAIRS))):
        assert rendered.index("Tasks") < rendered.index("A note.") < rendered.index(PAIR.command)
        assert "repeat 1" not in rendered


def test_a_page_has_the_badge_and_the_facts_before_the_sentence() -> None:
    badge = Badge(word="Regressed", tone=Tone.BAD)
    html = HtmlReporter().render(report(FIRST, SECOND, badge=badge, title="b against a", lead="The sentence."))

    order = ['<span class="badge bad">Regressed</span>', "b against a</h1>", "claude", "The sentence.", "second"]
    assert [html.index(part) for part in order] == sorted(html.index(part) for part in order)
    assert "<title>HEADLINE</title>" in html


def test_a_long_fold_is_marked_so_that_paper_keeps_it_closed() -> None:
    html = HtmlReporter().render(report(Details(title="runs", blocks=(SECOND,), long=True)))

    assert '<details class="long"><summary>runs</summary>' in html
