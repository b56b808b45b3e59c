"""A report as one HTML file: no script, nothing fetched, light and dark, readable on a phone and on paper.

What comes before the first fold is the first screen. Words of ours are explained when they are pointed at.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby

from outweigh.report.document import (
    TONED_COLUMNS,
    WORD_TONES,
    Badge,
    Block,
    BulletList,
    CodeBlock,
    Details,
    Figure,
    Heading,
    KeyPoints,
    Paragraph,
    Report,
    RunPair,
    Table,
    TaskPairs,
    Tone,
)
from outweigh.report.formatting import escape_controls
from outweigh.report.page_style import PAGE_STYLE
from outweigh.report.stamp import html_stamp
from outweigh.report.svg.elements import CHART_STYLE
from outweigh.report.terms import TERMS, find_terms, term_anchor

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)

_CELL_TONES = WORD_TONES | {
    "holds": Tone.PLAIN,
    "improved": Tone.GOOD,
    "regressed": Tone.BAD,
    "trade-off": Tone.UNSURE,
    "inconclusive": Tone.UNSURE,
}
_WORDY = 40
"""A cell with more characters than this is a sentence, which may be broken."""

PairAddress = Callable[[str, str], str]


class HtmlReporter:
    """Text from the records is escaped here; a figure escapes its own.

    A pair of runs is shown on the page itself, or at `pair_address`, which a viewer gives.
    """

    def __init__(self, pair_address: PairAddress | None = None) -> None:
        self._pair_address = pair_address

    def render(self, report: Report) -> str:
        """The whole file."""
        title = _escape_text(report.headline)
        return "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                '<meta name="referrer" content="no-referrer">',
                *html_stamp(report.payload),
                f"<title>{title}</title>",
                f"<style>{PAGE_STYLE}{CHART_STYLE}</style>",
                "</head>",
                "<body>",
                "<main>",
                *_PageWriter(self._pair_address).page(report),
                "</main>",
                "</body>",
                "</html>\n",
            ]
        )


class _PageWriter:
    """Writes one page, and remembers which pairs it has numbered and which terms it has explained."""

    def __init__(self, pair_address: PairAddress | None) -> None:
        self._pair_address = pair_address
        self._pairs = 0
        self._explained: set[str] = set()
        self._used: dict[str, None] = {}

    def page(self, report: Report) -> Iterator[str]:
        """The first screen, the folds, and the words that were used."""
        folded = next((place for place, block in enumerate(report.blocks) if isinstance(block, Details)), None)
        yield '<div class="first-screen">'
        if report.badge is not None:
            yield _badge(report.badge)
        yield f'<h1 class="{report.tone.value}">{_escape_text(report.title or report.headline)}</h1>'
        first, rest = self._split_facts(report.blocks[:folded])
        yield from self._body(first)
        yield from self._lead(report.lead)
        yield from _contents(report.blocks)
        yield from self._body(rest)
        yield "</div>"
        if folded is not None:
            yield from self._body(report.blocks[folded:])
        yield from self._glossary()

    @staticmethod
    def _split_facts(blocks: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
        """The facts belong to the headline, before the sentence."""
        facts = [block for block in blocks if isinstance(block, KeyPoints) and block.facts]
        return facts, [block for block in blocks if block not in facts]

    def _body(self, blocks: Sequence[Block], level: int = 2) -> Iterator[str]:
        """Block after block; pictures that follow each other stand side by side where there is room."""
        part = 0
        for drawn, group in groupby(blocks, key=lambda block: isinstance(block, Figure)):
            if drawn:
                sections = "".join(f"<section>{self._block(block, level + bool(part))}</section>" for block in group)
                yield f'<div class="pictures">{sections}</div>'
                continue
            for block in group:
                if isinstance(block, Heading):
                    part += 1
                    yield f'<h2 id="part-{part}" class="{block.tone.value}">{_escape_text(block.title)}</h2>'
                    yield from self._lead(block.lead)
                elif isinstance(block, Details):
                    yield self._details(block, level + bool(part))
                else:
                    yield f"<section>{self._block(block, level + bool(part))}</section>"

    def _block(self, block: Block, level: int) -> str:  # noqa: PLR0911 - one for every kind of block
        match block:
            case KeyPoints():
                return self._key_points(block)
            case TaskPairs():
                return self._task_pairs(block, level)
            case Details():
                return self._details(block, level)
        title = f'<h{level} class="block">{_escape_text(block.title)}</h{level}>'
        match block:
            case Table():
                return title + self._table(block)
            case BulletList():
                items = "".join(f"<li>{self._explain(item)}</li>" for item in block.items)
                return f'{title}<ul class="{block.tone.value}">{items}</ul>'
            case Figure():
                caption = f"<figcaption>{self._explain(block.caption)}</figcaption>" if block.caption else ""
                return f"{title}<figure>{block.draw()}{caption}</figure>"
            case Paragraph():
                return f"{title}<p>{self._explain(block.text)}</p>"
            case CodeBlock():
                lines = "\n".join(map(_escape_text, block.lines))
                return f"{title}<pre><code>{lines}</code></pre>"
            case Heading():
                return title

    def _lead(self, sentence: str) -> list[str]:
        return [f'<p class="lead">{self._explain(sentence)}</p>'] if sentence else []

    def _key_points(self, block: KeyPoints) -> str:
        if block.facts:
            facts = "".join(
                f"<div><dt>{self._explain(label)}</dt><dd>{self._explain(text)}</dd></div>"
                for label, text in block.rows
            )
            return f'<dl class="facts">{facts}</dl>'
        points = "".join(f"<li><b>{_escape_text(label)}:</b> {self._explain(text)}</li>" for label, text in block.rows)
        return f"<ul>{points}</ul>"

    def _details(self, block: Details, level: int) -> str:
        self._explained.clear()
        badge = "" if block.badge is None else _badge(block.badge)
        long = ' class="long"' if block.long else ""
        inner = "".join([*self._lead(block.lead), *self._body(block.blocks, level)])
        return f"<details{long}><summary>{_escape_text(block.title)}{badge}</summary>{inner}</details>"

    def _task_pairs(self, block: TaskPairs, level: int) -> str:
        links, sections = list[str | None](), list[str]()
        for pair in block.pairs:
            if pair is None:
                links.append(None)
            elif self._pair_address is not None:
                links.append(self._pair_address(pair.baseline_run, pair.candidate_run))
            else:
                self._pairs += 1
                links.append(f"#pair-{self._pairs}")
                sections.append(self._pair(pair, f"pair-{self._pairs}", level + 1))
        title = f'<h{level} class="block">{_escape_text(block.table.title)}</h{level}>'
        note = f'<p class="note">{self._explain(block.note)}</p>' if block.note else ""
        return title + self._table(block.table, links) + note + "".join(sections)

    def _pair(self, pair: RunPair, anchor: str, level: int) -> str:
        """Shown when its link is followed."""
        return (
            f'<section class="pair" id="{anchor}"><h{level} class="block">{_escape_text(pair.table.title)}</h{level}>'
            f'{self._table(pair.table)}<p class="note">Every step of both:</p>'
            f"<pre><code>{_escape_text(pair.command)}</code></pre></section>"
        )

    def _table(self, table: Table, links: Sequence[str | None] = ()) -> str:
        heads = "".join(map(self._column_head, table.columns))
        targets = links or [None] * len(table.rows)
        toned = [name in TONED_COLUMNS for name in table.columns[1:]]
        rows = "".join(self._row(row, link, toned) for row, link in zip(table.rows, targets, strict=True))
        # What scrolls must be reachable by keyboard, and say what it is.
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-label="{_escape_text(table.title)}">'
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _column_head(self, name: str) -> str:
        return f'<th scope="col">{self._explain(name)}</th>' if name else "<td></td>"

    def _row(self, cells: tuple[str, ...], link: str | None, toned: Sequence[bool]) -> str:
        first, *others = cells
        head = self._explain(first) if link is None else f'<a href="{_escape_text(link)}">{_escape_text(first)}</a>'
        return f'<tr><th scope="row">{head}</th>{"".join(map(_cell, others, toned))}</tr>'

    def _explain(self, text: str) -> str:
        """The text with every word of ours explained once in each part of the page."""
        parts, end = list[str](), 0
        for term in find_terms(text):
            if term.name in self._explained:
                continue
            self._explained.add(term.name)
            self._used[term.name] = None
            parts.append(_escape_text(text[end : term.start]))
            parts.append(
                f'<dfn class="term" tabindex="0" aria-describedby="{term_anchor(term.name)}" '
                f'data-tip="{escape(_definition(term.name), quote=True)}">'
                f"{_escape_text(text[term.start : term.end])}</dfn>"
            )
            end = term.end
        return "".join([*parts, _escape_text(text[end:])])

    def _glossary(self) -> Iterator[str]:
        if self._used:
            entries = "".join(
                f'<dt>{escape(name)}</dt><dd id="{term_anchor(name)}">{escape(_definition(name))}</dd>'
                for name in sorted(self._used, key=str.lower)
            )
            yield f'<details><summary>Words on this page</summary><dl class="glossary">{entries}</dl></details>'


def _definition(name: str) -> str:
    return f"{TERMS[name][0].upper()}{TERMS[name][1:]}"


def _badge(badge: Badge) -> str:
    return f'<span class="badge {badge.tone.value}">{_escape_text(badge.word)}</span>'


def _contents(blocks: Sequence[Block]) -> Iterator[str]:
    """Links to the parts, where there are several."""
    titles = [block.title for block in blocks if isinstance(block, Heading)]
    if len(titles) > 1:
        links = [
            f'<li><a href="#part-{number}">{_escape_text(title)}</a></li>' for number, title in enumerate(titles, 1)
        ]
        yield f'<nav aria-label="Parts"><ul>{"".join(links)}</ul></nav>'


def _cell(cell: str, toned: bool) -> str:
    tone = _CELL_TONES.get(cell) if toned else None
    if tone is not None and tone is not Tone.PLAIN:
        return f'<td class="{tone.value}">{_escape_text(cell)}</td>'
    wordy = ' class="words"' if len(cell) > _WORDY else ""
    return f"<td{wordy}>{_escape_text(cell)}</td>"


def _escape_text(text: str) -> str:
    """Text from a file as it may stand in HTML: without markup, control or direction-changing characters."""
    return escape(escape_controls(text), quote=True)
