"""Literal texts that a change and its hidden tests share."""

import re
from collections.abc import Iterable, Iterator

from outweigh.mining.instruction.code_facts import LiteralText

_VERB = r"%[-+#0]*[\d.*]*l?[sdiufegvqrwtTpxXc]"
_PLACEHOLDER = re.compile(rf"\{{[^{{}}\n]{{0,40}}\}}|{_VERB}|\$\w+")
_REGULAR = re.compile(r"\\[dwsDWSbB][+*?]?|\(\?[:=!][^)]*\)|\.[*+]\??|[\^$()|?+*]|\[[^\]]*\][+*?]?")
_IS_REGULAR = re.compile(r"\(\?|\\[sdwSDWb](?![a-z])|\[\^|\.\*")
_SHORTEST_PART = 6
_LONG_PART = 10
_SHORT_TEXT = 150
_FEWEST_SHARED_WORDS = 3
_LONGEST_EXAMPLE = 400
_NAME_LIKE = re.compile(r"-{1,2}[a-z][\w-]+|[A-Z][A-Z0-9]*_[A-Z0-9_]+|\w+[._-]\w[\w.-]*")


def written_texts(tests: Iterable[LiteralText]) -> frozenset[str]:
    """The texts of tests, also as they are without escapes, since many are patterns."""
    fixed = {part for test in tests for part in test.parts}
    return frozenset(fixed | {re.sub(r"\\(.)", r"\1", part) for part in fixed})


def is_used_text(text: LiteralText, written: frozenset[str], known: frozenset[str]) -> bool:
    """Whether tests have a text or a telling piece of it, and the base does not."""
    whole = text.shown.strip()
    if not re.search(r"[^\W\d_]|[^\x00-\x7f]", whole) or whole in known:
        return False
    parts = _telling_parts(text)
    if any(_is_same(whole, each) for each in written):
        return True
    if _IS_REGULAR.search(whole):
        return False
    return any(_holds(whole, parts, each) or next(_pieces(parts, each), None) for each in written)


def _is_same(whole: str, written: str) -> bool:
    """Whether a test has the whole text: alone, or a single character that no keyboard has somewhere."""
    if len(whole) == 1:
        return not whole.isascii() and whole in written
    return written.strip() == whole


def _holds(whole: str, parts: list[str], written: str) -> bool:
    """Whether the text stands within a text of a test, as a whole or with values between its parts."""
    if len(whole) >= _SHORTEST_PART and whole in written:
        return True
    if _NAME_LIKE.fullmatch(whole) and re.search(rf"(?<![\w-]){re.escape(whole)}(?![\w-])", written):
        return True
    if len(parts) > 1 and sum(map(len, parts)) >= _SHORTEST_PART and _in_order(parts, written):
        return True
    return any(len(part.strip()) >= _LONG_PART and part.strip() in written for part in parts)


def quoted_pieces(text: LiteralText, written: frozenset[str]) -> tuple[str, ...]:
    """The pieces of a text that tests look for; empty where a test has all of it."""
    whole, parts = text.shown.strip(), _telling_parts(text)
    if any(_is_same(whole, each) or _holds(whole, parts, each) for each in written):
        return ()
    return tuple(dict.fromkeys(piece for each in sorted(written) for piece in _pieces(parts, each)))


def filled_in(text: LiteralText, written: frozenset[str]) -> str | None:
    """A text of a test that has all fixed parts with values between them; it shows their order and form."""
    parts = _telling_parts(text)
    is_filled_in = text.fields or any(re.search(_VERB, part) for part in text.parts)
    if not is_filled_in or sum(map(len, parts)) < _SHORTEST_PART:
        return None
    fitting = (each for each in written if len(each) <= _LONGEST_EXAMPLE and _in_order(parts, each))
    return min(fitting, key=lambda each: (len(each), each), default=None)


def _telling_parts(text: LiteralText) -> list[str]:
    return [part for fixed in text.parts for part in _PLACEHOLDER.split(fixed) if part.strip()]


def _pieces(parts: list[str], written: str) -> Iterator[str]:
    """Pieces of the parts in a text of a test: several words, or one word of a short text."""
    short = sum(map(len, parts)) <= _SHORT_TEXT
    for piece in _REGULAR.split(written):
        found = piece.strip()
        if len(found) < _SHORTEST_PART or not (short or re.search(r"\s", found)):
            continue
        if any(re.search(rf"(?<!\w){re.escape(found)}(?!\w)", part) for part in parts):
            yield found
        else:
            yield from filter(None, (_beside_a_value(part, found) for part in parts))


def _beside_a_value(part: str, written: str) -> str:
    """The words that a part of a text shares with a text of a test: from its beginning to where that ends, or from
    where that begins to its end; what the test has before or after them is the value of a field.
    """
    fixed = part.strip()
    ends = [written[match.start() :] for match in re.finditer(r"\S+", written)]
    starts = [written[: match.end()] for match in re.finditer(r"\S+", written)]
    shared = [end for end in ends if re.match(rf"{re.escape(end)}(?!\w)", fixed)]
    shared += [start for start in starts if re.search(rf"(?<!\w){re.escape(start)}$", fixed)]
    told = [words for words in shared if len(words.split()) >= _FEWEST_SHARED_WORDS and len(words) >= _LONG_PART]
    return max(told, key=len, default="")


def _in_order(parts: list[str], text: str) -> bool:
    position = 0
    for part in parts:
        position = text.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return True
