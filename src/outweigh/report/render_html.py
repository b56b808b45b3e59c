"""A report as one HTML file: no script, nothing fetched, light and dark, readable on a phone and on paper."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from outweigh.report.document import (
    WORD_TONES,
    Block,
    BulletList,
    CodeBlock,
    Details,
    Figure,
    Heading,
    KeyPoints,
    Report,
    Table,
    Tone,
)
from outweigh.report.formatting import escape_controls
from outweigh.report.stamp import html_stamp
from outweigh.report.svg.elements import CHART_STYLE

PAGE_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1c1c1a; --quiet: #5a5a55; --line: #deded8; --shade: #f1f1ec;
  --good: #005a8e; --bad: #a33f00; --unsure: #7a5c00; --plain: #5a5a55;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #171716; --ink: #ececea; --quiet: #a8a8a0; --line: #3a3a36; --shade: #232321;
    --good: #6dbdf0; --bad: #f0a050; --unsure: #e0c860; --plain: #a8a8a0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 1rem; }
h1, h2:not(.block) { padding: 0.6rem 0.9rem; background: var(--shade); border-left: 0.4rem solid var(--tone); }
.block { font-size: 1rem; margin: 1.75rem 0 0.5rem; }
.good { --tone: var(--good); } .bad { --tone: var(--bad); }
.unsure { --tone: var(--unsure); } .plain { --tone: var(--plain); }
ul { margin: 0; padding-left: 1.2rem; }
li { overflow-wrap: anywhere; }
li::marker { color: var(--tone, var(--plain)); }
nav { margin: 1rem 0; }
a { color: var(--good); }
.lead { font-size: 1.125rem; max-width: 48rem; overflow-wrap: anywhere; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: 0 2.5rem; }
.pictures > section { min-width: 0; }
figure { margin: 0; max-width: 44rem; }
details { margin: 0.75rem 0; }
details > details, details > section { margin-left: 1rem; }
summary { cursor: pointer; padding: 0.35rem 0; font-weight: 600; overflow-wrap: anywhere; }
details details > summary { font-weight: 400; }
:focus-visible { outline: 2px solid var(--good); outline-offset: 2px; }
figcaption { color: var(--quiet); font-size: 0.875rem; margin-top: 0.5rem; }
/* A shadow at an edge says that the table goes on there; the cover moves with the table and hides it at the end. */
.scroll {
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 50%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 50%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat scroll;
}
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; }
th { white-space: normal; overflow-wrap: break-word; max-width: 16rem; }
thead th { color: var(--quiet); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
tbody th { font-weight: 400; min-width: min(12rem, 36vw); }
th:first-child { position: sticky; left: 0; background: var(--paper); }
td.good, td.bad, td.unsure { color: var(--tone); }
td.good, td.bad { font-weight: 600; }
pre { margin: 0; padding: 0.75rem 0.9rem; background: var(--shade); font-size: 0.875rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  th, td { padding: 0.3rem 0.4rem; }
  tbody th { min-width: 30vw; }
  table { font-size: 0.85rem; }
}
@media print {
  .scroll { overflow: visible; background: none; }
  .pictures > section, figure, li, tr { break-inside: avoid; }
}
"""


CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)

_CELL_TONES = WORD_TONES | {
    "improved": Tone.GOOD,
    "regressed": Tone.BAD,
    "trade-off": Tone.UNSURE,
    "inconclusive": Tone.UNSURE,
}


class HtmlReporter:
    """Text from the records is escaped here; a figure escapes its own."""

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
                f'<h1 class="{report.tone.value}">{title}</h1>',
                *_lead(report.lead),
                *_contents(report.blocks),
                *_body(report.blocks),
                "</main>",
                "</body>",
                "</html>\n",
            ]
        )


def _contents(blocks: Sequence[Block]) -> Iterator[str]:
    """Links to the parts, where there are several."""
    titles = [block.title for block in blocks if isinstance(block, Heading)]
    if len(titles) > 1:
        links = [
            f'<li><a href="#part-{number}">{_escape_text(title)}</a></li>' for number, title in enumerate(titles, 1)
        ]
        yield f'<nav aria-label="Parts"><ul>{"".join(links)}</ul></nav>'


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    """Block after block; pictures that follow each other stand side by side where there is room."""
    part = 0
    for drawn, group in groupby(blocks, key=lambda block: isinstance(block, Figure)):
        if drawn:
            yield f'<div class="pictures">{"".join(_section(block, part) for block in group)}</div>'
            continue
        for block in group:
            if isinstance(block, Heading):
                part += 1
                yield f'<h2 id="part-{part}" class="{block.tone.value}">{_escape_text(block.title)}</h2>'
                yield from _lead(block.lead)
            else:
                yield _section(block, part)


def _lead(sentence: str) -> list[str]:
    return [f'<p class="lead">{_escape_text(sentence)}</p>'] if sentence else []


def _section(block: Block, part: int) -> str:
    return f"<section>{_block(block, level=3 if part else 2)}</section>"


def _block(block: Block, level: int) -> str:  # noqa: PLR0911 - one for every kind of block
    if isinstance(block, KeyPoints):
        points = "".join(f"<li><b>{_escape_text(label)}:</b> {_escape_text(text)}</li>" for label, text in block.rows)
        return f"<ul>{points}</ul>"
    title = f'<h{level} class="block">{_escape_text(block.title)}</h{level}>'
    match block:
        case Table():
            return title + _table(block)
        case BulletList():
            items = "".join(f"<li>{_escape_text(item)}</li>" for item in block.items)
            return f'{title}<ul class="{block.tone.value}">{items}</ul>'
        case Figure():
            caption = f"<figcaption>{_escape_text(block.caption)}</figcaption>" if block.caption else ""
            return f"{title}<figure>{block.draw()}{caption}</figure>"
        case CodeBlock():
            lines = "\n".join(map(_escape_text, block.lines))
            return f"{title}<pre><code>{lines}</code></pre>"
        case Details():
            inner = "".join(_block(part, level) for part in block.blocks)
            return f"<details><summary>{_escape_text(block.title)}</summary>{inner}</details>"
        case Heading():
            return title


def _table(table: Table) -> str:
    heads = "".join(f'<th scope="col">{_escape_text(name)}</th>' for name in table.columns)
    rows = "".join(map(_row, table.rows))
    # What scrolls must be reachable by keyboard, and say what it is.
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_escape_text(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(cells: tuple[str, ...]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{_escape_text(first)}</th>{"".join(map(_cell, others))}</tr>'


def _cell(cell: str) -> str:
    tone = _CELL_TONES.get(cell)
    return f"<td>{_escape_text(cell)}</td>" if tone is None else f'<td class="{tone.value}">{_escape_text(cell)}</td>'


def _escape_text(text: str) -> str:
    """Text from a file as it may stand in HTML: without markup, control or direction-changing characters."""
    return escape(escape_controls(text), quote=True)
