"""Words of ours are found in a text, and the glossary explains them with the same words as a page does."""

import pytest
from scripts.refresh_generated import GLOSSARY, with_terms

from outweigh.report.terms import TERMS, find_terms, term_anchor


def test_the_glossary_says_what_reports_say() -> None:
    page = GLOSSARY.read_text(encoding="utf-8")

    assert with_terms(page) == page, "run make docs"
    assert all(f"| {name} | {definition} |" in page for name, definition in TERMS.items())


def names(text: str) -> list[str]:
    return [term.name for term in find_terms(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("change and margin of every gate", ["Margin", "Gate"]),
        ("two gates and Non-cache tokens, median", ["Gate", "Non-cache tokens"]),
        ("pass@5 and pass^10", ["pass@k", "pass^k"]),
        ("the gateway, delegate, non_cache_tokens, marginal", []),
        ("typical run, total", ["Typical run", "Total"]),
    ],
)
def test_whole_words_are_found_in_singular_and_plural(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_a_found_term_says_where_it_stands() -> None:
    text = "every gate holds"
    [term] = find_terms(text)

    assert text[term.start : term.end] == "gate"


def test_every_term_has_an_address_of_its_own_and_a_sentence() -> None:
    assert len({term_anchor(name) for name in TERMS}) == len(TERMS)
    assert all(definition.endswith(".") and len(definition) <= 110 for definition in TERMS.values())
