"""LaTeX that compiles whatever the records hold: read here by a parser that knows only what may be written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.ports.reporters import Reporter
from outweigh.report.document import BulletList, Details, Paragraph, Report, Table, Tone
from outweigh.report.render_tex import MOST_ROWS, TexReporter, escape_tex
from outweigh.testing.contracts import ReporterContract

HOSTILE = (
    '\\input{/etc/passwd} \\end{tabular} a & b % c # d _ e ^ f ~ g $ h { i } j " k ` l [m] *n -- <o> | 中文 é\u202e\n'
)

_TEXT_COMMANDS = re.compile(
    r"\\(text(backslash|asciitilde|asciicircum|less|greater|bar)|ttfamily|char|ldots|ss|[ijcv]|item|hline|centering|small"
    r"|scriptsize|setlength|tabcolsep|caption|paragraph|outweighend)"
)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}&$#^_~%]|[^\\{}&$#^_~%]+", re.DOTALL)
_MATHS = frozenset({"$-$", "$\\to$", "$\\times$", "$\\pm$", "$\\le$", "$\\ge$"})


def body_of(tex: str) -> str:
    """What is between the conditional beginning and the end."""
    head, body = tex.split("\\fi\n", 1)
    assert re.fullmatch(r"% [ -~]*\n\n\\expandafter\\ifx\\csname @nodocument\\endcsname\\relax\n.*", head, re.DOTALL)
    assert body.endswith("\\outweighend\n")
    return body


def read_strictly(tex: str) -> list[tuple[int, int]]:
    """Check every token, and give (columns, rows) of each table; what LaTeX could stumble over is a failure."""
    assert tex.isascii()
    body = body_of(tex)
    for maths in re.findall(r"(?<!\\)\$[^$]*(?<!\\)\$", body):
        assert maths in _MATHS, maths
    plain = re.sub(r"(?<!\\)\$[^$]*(?<!\\)\$", "", body)
    depth, open_environments = 0, list[str]()
    for environment in re.finditer(r"\\(begin|end)\{(\w+)\}", plain):
        if environment[1] == "begin":
            open_environments.append(environment[2])
        else:
            assert open_environments.pop() == environment[2]
    assert open_environments == []
    unscoped = re.sub(r"\\(begin|end)\{\w+\}(\[htbp\]|\{l?r*\})?", "", plain)
    for token in _TOKEN.findall(unscoped):
        depth += {"{": 1, "}": -1}.get(token, 0)
        assert depth >= 0
        assert token not in {"#", "^", "_", "%", "$"}, token
        if re.fullmatch(r"\\[A-Za-z]+", token):
            assert _TEXT_COMMANDS.fullmatch(token), token
        elif token.startswith("\\"):
            assert token[1] in "\\{}$&%#_'`^\"~", token
    assert depth == 0
    return [
        _measure(layout, rows)
        for layout, rows in re.findall(r"\\begin\{tabular\}\{(l?r*)\}(.*?)\\end\{tabular\}", body, re.DOTALL)
    ]


def _measure(layout: str, content: str) -> tuple[int, int]:
    lines = [line for line in content.strip().split("\n") if line != r"\hline"]
    for line in lines:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == len(layout) - 1
        assert not line.startswith(("[", "*"))
    return len(layout), len(lines) - 1


def a_report(*blocks: Table | BulletList | Paragraph | Details, headline: str = "h", lead: str = "") -> Report:
    return Report(headline=headline, tone=Tone.PLAIN, blocks=blocks, payload={}, lead=lead)


def a_table(text: str, rows: int = 1, columns: int = 3) -> Table:
    return Table(title=text, columns=(text,) * columns, rows=((text,) * columns,) * rows)


class TestTex(ReporterContract):
    def reporter(self) -> Reporter:
        return TexReporter()


@pytest.mark.parametrize("columns", [1, 3, 12])
def test_hostile_names_stay_text_in_every_kind_of_block(columns: int) -> None:
    blocks = (
        a_table(HOSTILE, columns=columns),
        BulletList(title=HOSTILE, items=(HOSTILE,), tone=Tone.PLAIN),
        Paragraph(title=HOSTILE, text=HOSTILE),
    )
    tex = TexReporter().render(a_report(*blocks, headline=HOSTILE, lead=HOSTILE))

    assert read_strictly(tex) == [(columns, 1)]
    assert "\\input" not in body_of(tex)
    assert "\\textbackslash{}input" in body_of(tex)


@given(st.text(max_size=60))
def test_any_text_can_be_in_a_table(text: str) -> None:
    assert read_strictly(TexReporter().render(a_report(a_table(text), headline=text))) == [(3, 1)]


def test_a_long_table_becomes_several_of_a_page_each_and_loses_no_row() -> None:
    tables = read_strictly(TexReporter().render(a_report(a_table("x", rows=2 * MOST_ROWS + 1))))

    assert tables == [(3, MOST_ROWS), (3, MOST_ROWS), (3, 1)]


def test_tables_that_are_folded_on_a_page_are_in_it() -> None:
    folded = Details(title="more", blocks=(a_table("x"),))

    assert read_strictly(TexReporter().render(a_report(folded))) == [(3, 1)]


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a-b", "a{-}b"),
        ("é", r"\'{e}"),
        ("ï", r"\"{\i{}}"),
        ("中", "{[}U+4E2D{]}"),
        ("50 %", r"50 \%"),
        ("…", r"\ldots{}"),
    ],
)
def test_letters_as_tex_has_them(text: str, tex: str) -> None:
    assert escape_tex(text) == tex


def test_a_hyphen_before_a_number_is_a_minus_sign_and_in_a_name_a_hyphen() -> None:
    table = Table(title="", columns=("", "n"), rows=(("-1", "-1.5 (-$2 to +3)"),))

    assert r"{-}1 & $-$1.5 ($-$\$2 to +3) \\" in TexReporter().render(a_report(table))


def test_it_begins_a_document_only_where_there_is_none() -> None:
    head = TexReporter().render(a_report()).split("\\fi\n")[0]

    inside, alone = head.split("\\else\n")
    assert "\\documentclass" not in inside
    assert inside.endswith("\\def\\outweighend{}\n")
    assert alone == "\\documentclass{article}\n\\begin{document}\n\\def\\outweighend{\\end{document}}\n"
