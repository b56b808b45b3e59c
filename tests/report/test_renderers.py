import pytest

from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report, Table, Tone
from outweigh.report.json_output import JsonReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_text import TextReporter
from outweigh.testing.contracts import ReporterContract


class TestText(ReporterContract):
    def reporter(self) -> Reporter:
        return TextReporter(colour=False)

    def test_shows_direction_marks_by_their_code(self) -> None:
        assert "\\x202e" in self.render("\u202egnp.exe")

    def test_wide_characters_keep_their_columns(self) -> None:
        table = Table(title="", columns=("", "n"), rows=(("日本", "1"), ("ab", "22")))
        lines = TextReporter(colour=False).render(_report(table)).splitlines()

        assert lines[-2:] == ["  日本   1", "  ab    22"]


class TestJson(ReporterContract):
    def reporter(self) -> Reporter:
        return JsonReporter()


class TestMarkdown(ReporterContract):
    def reporter(self) -> Reporter:
        return MarkdownReporter()

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("<script>", r"\<script\>"),
            ("a|b", r"a\|b"),
            ("[x](y)", r"\[x\](y)"),
            ("`rm`", r"\`rm\`"),
            ("$a$", r"\$a\$"),
            ("&lt;", r"\&lt;"),
            ("@team", "@\u200bteam"),
            ("#12", "\\#\u200b12"),
        ],
    )
    def test_markup_and_mentions_in_a_name_stay_text(self, name: str, shown: str) -> None:
        assert f"- {shown}\n" in self.render(name)

    def test_a_line_break_in_a_name_does_not_end_a_table_row(self) -> None:
        assert "| a b | 1 |" in self.render("a\nb")


def _report(table: Table) -> Report:
    return Report(headline="h", tone=Tone.GOOD, blocks=(table,), payload={})


def test_colour_is_used_only_when_asked_for() -> None:
    table = Table(title="", columns=("", "x"), rows=(("a", "worse"),))

    assert "\x1b[31mworse\x1b[0m" in TextReporter(colour=True).render(_report(table))
    assert "\x1b" not in TextReporter(colour=False).render(_report(table))
