"""HTML elements that escape by construction: plain text is escaped, only values of type `Html` are taken as markup."""

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from outweigh.report.formatting import escape_controls

_VOID_ELEMENTS = frozenset({"input", "meta", "link", "br"})


class Html(str):
    """Markup that was made here."""

    __slots__ = ()


Child = str | Html | None
"""What may stand in an element: plain text is escaped, markup is taken, nothing is left out."""


def escape_text(words: str) -> Html:
    """A name or a short text. Control and direction-changing characters are shown by their codes."""
    return Html(escape(words if words.isprintable() else escape_controls(words)))


def escape_lines(words: str) -> Html:
    """A text of many lines, likewise; line feeds and tabs stay what they are."""
    return Html("\n".join("\t".join(map(escape_text, line.split("\t"))) for line in words.split("\n")))


def element(tag: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` and `for_` lose their underscore, others turn into dashes; None and False leave out."""
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in _VOID_ELEMENTS:
        return Html(f"<{tag}{shown}>")
    return Html(f"<{tag}{shown}>{join_markup(children)}</{tag}>")


def join_markup(children: Iterable[Child]) -> Html:
    """Children one after the other."""
    return Html(
        "".join(child if isinstance(child, Html) else escape_text(child) for child in children if child is not None)
    )


def link(words: str | Html, path: str, query: dict[str, str | int] | None = None, **attributes: str | None) -> Html:
    """A link within the viewer."""
    return element("a", words, href=build_url(path, query), **attributes)


def build_url(path: str, query: dict[str, str | int] | None = None) -> str:
    """A path with its query; empty values are left out, so that one page has one address."""
    kept = {key: value for key, value in (query or {}).items() if value != ""}
    return f"{path}?{urlencode(kept)}" if kept else path


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape_text(str(value))}"'
