"""The titles of hidden tests as people read them, with the cases that must pass."""

import re
from collections.abc import Iterable, Iterator

from outweigh.mining.instruction.code_facts import TestFunction

_MOST_CASES = 6
_LONGEST_CASE = 40
_MOST_FILLED_IN = 12
_LONGEST_FILLED_IN = 160
_FIELD = re.compile(r"%[sdifjopc#]|\$\w+(?:\.\w+)*|\{[^{}]*\}")
"""A part of a title that every case fills in: by the verbs of jest, or as a template."""
_LEAST_FIXED = 8


def stated_titles(test: TestFunction, reported: Iterable[str]) -> Iterator[str]:
    """The title of a test; where its cases have titles of their own and are few, theirs."""
    names = tuple(reported)
    filled_in = _filled_in(test.title, names)
    if filled_in:
        yield from (_with_group(test, title) for title in filled_in)
    else:
        yield f"{_with_group(test, _readable(test.title))}{_cases(test, names)}"


def _filled_in(title: str, reported: Iterable[str]) -> list[str]:
    """The titles that a report has for the cases of a title with fields, as far as they are few and short."""
    fixed = _FIELD.split(title)
    if len(fixed) == 1 or sum(len(part.strip()) for part in fixed) < _LEAST_FIXED:
        return []
    named = re.compile(rf"(?:^|::|\s)({'.*'.join(map(re.escape, fixed))})$", re.DOTALL)
    found = sorted({" ".join(match[1].split()) for match in map(named.search, reported) if match})
    short = all(len(each) <= _LONGEST_FILLED_IN for each in found)
    return found if short and len(found) <= _MOST_FILLED_IN else []


def _cases(test: TestFunction, reported: Iterable[str]) -> str:
    """The cases of a test that fail, where the runner names them and there are few."""
    in_brackets = rf"\[([\w .,:/-]{{1,{_LONGEST_CASE}}})\]"
    after_slash = rf"/([^\n]{{1,{_LONGEST_CASE}}})"  # as Go names them, with `_` for spaces
    named = re.compile(rf"(?:^|\W){re.escape(test.title)}(?:{in_brackets}|{after_slash})$")
    found = filter(None, map(named.search, reported))
    cases = sorted({case[1] or case[2].replace("_", " ") for case in found})
    telling = [case for case in cases if re.search(r"[^\W\d_]{2}", case)]
    return f" ({', '.join(telling)})" if telling and len(telling) <= _MOST_CASES else ""


def _with_group(test: TestFunction, title: str) -> str:
    group = test.group
    if re.fullmatch(r"\w+", group):
        group = _split_words(re.sub(r"^Tests?(?=[A-Z_])|Tests?$", "", group)).strip(" _")
    return ": ".join(part for part in (group, title, test.contract) if part)


def _readable(title: str) -> str:
    if re.fullmatch(r"\w+", title):
        bare = re.sub(r"^(?:tests?_+|(?:Test|Example|Fuzz|test)_*(?=[A-Z0-9]))", "", title).replace("_", " ").strip()
        return bare if re.search(r"\s", bare) else _split_words(bare)
    return " ".join(title.split())


def _split_words(name: str) -> str:
    """A name such as `KeyIsEvicted` in words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
