"""A page for the browser: one file, no script, nothing fetched."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from outweigh.adapters.reporters.html_style import STYLE
from outweigh.report.charts.style import STYLE as CHART_STYLE
from outweigh.report.document import WORD_TONES, Block, Bullets, Fold, Heading, Listing, Picture, Report, Table, Tone
from outweigh.report.stamp import html_stamp
from outweigh.report.wording import visible

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_CELL_TONES = WORD_TONES | {"improved": Tone.GOOD, "regressed": Tone.BAD, "inconclusive": Tone.UNSURE}


class HtmlReporter:
    """Whatever comes from the records is escaped; a picture is trusted to have done so itself."""

    def render(self, report: Report) -> str:
        """The whole file."""
        title = _text(report.headline)
        return "\n".join(
            [
                "<!DOCTYPE html>",
                '<html lang="en">',
                "<head>",
                '<meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="color-scheme" content="light dark">',
                '<meta name="referrer" content="no-referrer">',
                *html_stamp(report.payload),
                f"<title>{title}</title>",
                f"<style>{STYLE}{CHART_STYLE}</style>",
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
        links = [f'<li><a href="#part-{number}">{_text(title)}</a></li>' for number, title in enumerate(titles, 1)]
        yield f'<nav aria-label="Parts"><ul>{"".join(links)}</ul></nav>'


def _body(blocks: Sequence[Block]) -> Iterator[str]:
    """Block after block; pictures that follow each other stand side by side where there is room."""
    part = 0
    for drawn, group in groupby(blocks, key=lambda block: isinstance(block, Picture)):
        if drawn:
            yield f'<div class="pictures">{"".join(_section(block, part) for block in group)}</div>'
            continue
        for block in group:
            if isinstance(block, Heading):
                part += 1
                yield f'<h2 id="part-{part}" class="{block.tone.value}">{_text(block.title)}</h2>'
                yield from _lead(block.lead)
            else:
                yield _section(block, part)


def _lead(sentence: str) -> list[str]:
    return [f'<p class="lead">{_text(sentence)}</p>'] if sentence else []


def _section(block: Block, part: int) -> str:
    return f"<section>{_block(block, level=3 if part else 2)}</section>"


def _block(block: Block, level: int) -> str:
    title = f'<h{level} class="block">{_text(block.title)}</h{level}>'
    match block:
        case Table():
            return title + _table(block)
        case Bullets():
            items = "".join(f"<li>{_text(item)}</li>" for item in block.items)
            return f'{title}<ul class="{block.tone.value}">{items}</ul>'
        case Picture():
            caption = f"<figcaption>{_text(block.caption)}</figcaption>" if block.caption else ""
            return f"{title}<figure>{block.svg}{caption}</figure>"
        case Listing():
            lines = "\n".join(map(_text, block.lines))
            return f"{title}<pre><code>{lines}</code></pre>"
        case Fold():
            inner = "".join(_block(part, level) for part in block.blocks)
            return f"<details><summary>{_text(block.title)}</summary>{inner}</details>"
        case Heading():
            return title


def _table(table: Table) -> str:
    heads = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.columns)
    rows = "".join(map(_row, table.rows))
    # What scrolls must be reachable by keyboard, and say what it is.
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(table.title)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(cells: tuple[str, ...]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{_text(first)}</th>{"".join(map(_cell, others))}</tr>'


def _cell(cell: str) -> str:
    tone = _CELL_TONES.get(cell)
    return f"<td>{_text(cell)}</td>" if tone is None else f'<td class="{tone.value}">{_text(cell)}</td>'


def _text(text: str) -> str:
    """Nothing in a name is obeyed: not its markup, not its control or direction-changing characters."""
    return escape(visible(text), quote=True)
