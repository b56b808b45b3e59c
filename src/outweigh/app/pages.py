"""Answers that show themselves: as text, Markdown, HTML and JSON, in a notebook, and as a data frame."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from outweigh.report.document import Report


class Page:
    """An answer with a page. What is shown is drawn when somebody looks."""

    __slots__ = ()

    @abstractmethod
    def document(self) -> Report:
        """The page before it has a format."""

    @abstractmethod
    def rows(self) -> Sequence[Mapping[str, object]]:
        """Its figures as a table."""

    def to_dict(self) -> Mapping[str, Any]:
        """What the command line prints by `--format json`."""
        return self.document().payload

    def to_text(self) -> str:
        """What the command line prints, without colours."""
        from outweigh.report.render_text import TextReporter  # noqa: PLC0415 - one of several formats is needed

        return TextReporter(colour=False).render(self.document())

    def to_markdown(self) -> str:
        """What the command line prints by `--format markdown`."""
        from outweigh.report.render_markdown import MarkdownReporter  # noqa: PLC0415

        return MarkdownReporter().render(self.document())

    def to_html(self) -> str:
        """A whole page with its pictures; no script, nothing fetched."""
        from outweigh.report.render_html import HtmlReporter  # noqa: PLC0415

        return HtmlReporter().render(self.document())

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        """The page in a notebook, in a frame of its own, so that its style and the notebook's do not mix."""
        from html import escape  # noqa: PLC0415 - only needed in a notebook

        page = escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="" title="{escape(self.document().headline, quote=True)}" '
            'style="width: 100%; height: 40rem; border: 0;"></iframe>'
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Its rows, for any data frame library."""
        from outweigh.app.frames import stream_rows  # noqa: PLC0415 - needs an extra

        return stream_rows(self.rows(), requested_schema)
