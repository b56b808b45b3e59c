"""What is said where a page cannot be shown."""

from outweigh.web.markup import Html, element, link
from outweigh.web.pages.layout import page


def fault_page(title: str, words: str) -> Html:
    """A sentence and a way on."""
    return page(title, (), element("p", words), element("p", link("All experiments", "/")))
