"""HTML elements that escape by construction: plain text is escaped, only values of type `Html` are taken as markup."""

from collections.abc import Iterable
from html import escape
from urllib.parse import urlencode

from outweigh.report.formatting import escape_controls

_VOID_ELEMENTS = frozenset({"input", "meta", "link", "br"})


class Html(str):
    """Markup that needs no escaping."""

    __slots__ = ()


Child = str | Html | None
"""What an element may contain: text, which is escaped, markup, which is not, or None, which is left out."""


def escape_text(text: str) -> Html:
    """Escape a name or short text; control characters and those that change direction are shown as codes."""
    return Html(escape(text if text.isprintable() else escape_controls(text)))


def escape_lines(text: str) -> Html:
    """Escape a text of many lines, and keep its line feeds and tabs."""
    return Html("\n".join("\t".join(map(escape_text, line.split("\t"))) for line in text.split("\n")))


def element(tag: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An HTML element.

    In names of attributes a trailing underscore is dropped (`class_`) and others become dashes; attributes that are
    None or False are left out.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in _VOID_ELEMENTS:
        return Html(f"<{tag}{shown}>")
    return Html(f"<{tag}{shown}>{join_markup(children)}</{tag}>")


def join_markup(children: Iterable[Child]) -> Html:
    """Concatenate children."""
    return Html(
        "".join(child if isinstance(child, Html) else escape_text(child) for child in children if child is not None)
    )


def link(text: str | Html, path: str, query: dict[str, str | int] | None = None, **attributes: str | None) -> Html:
    """A link to a page of the viewer."""
    return element("a", text, href=build_url(path, query), **attributes)


def build_url(path: str, query: dict[str, str | int] | None = None) -> str:
    """A path with its query; empty values are left out, so that each page has one address."""
    kept = {key: value for key, value in (query or {}).items() if value != ""}
    return f"{path}?{urlencode(kept)}" if kept else path


def _attribute(name: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escape_text(str(value))}"'
