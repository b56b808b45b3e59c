"""Prompt injection: text in a run, or quoted in a judge's evidence, that addresses the judge.

It gives warnings on the judgment and changes no score.
"""

import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from outweigh.judging.injection_patterns import FORGERIES, INSTRUCTIONS, QUOTED_FORGERIES
from outweigh.judging.material import RunMaterial
from outweigh.judging.untrusted_text import excerpt, is_invisible
from outweigh.model.judgment import CriterionScore
from outweigh.model.suite import JudgeSpec

_SHOWN_CHARACTERS = 120
_SPELLED_OUT = re.compile(r"\\u\{[0-9a-f]{4,6}\}", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһԛԝαεορυνικτ", "aeopcyxijsdhqwaeopuvikt")

_SPACED_LETTERS = re.compile(r"(?<!\w)(?:\w[ .\-_*]){3,40}\w(?!\w)")
_WORD = re.compile(r"[a-z0-9@$!|]{2,40}")
_LEET_LETTERS = tuple(str.maketrans("013457@$!|", f"o{one}eastas{mark}l") for one, mark in (("i", "i"), ("l", "i")))
"""Digits and signs that stand for letters; 1 stands for two of them."""
_ENCODED = re.compile(r"[A-Za-z0-9+/]{24,4000}={0,2}")
_MOST_ENCODED = 200


def instruction_in(text: str) -> str | None:
    """The first words that instruct a judge or pretend to be part of the question, also in disguised spellings.

    None where there are none.
    """
    return next(filter(None, (_found(pattern, view) for view in _views(text) for pattern in _MATERIAL_PATTERNS)), None)


def quoted_instruction_in(evidence: str) -> str | None:
    """The same in a judge's evidence, where answers and tags are suspicious that a program may well write."""
    return instruction_in(evidence) or _found(QUOTED_FORGERIES, _normalized(evidence))


_MATERIAL_PATTERNS = (INSTRUCTIONS, FORGERIES)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else found.group()[:_SHOWN_CHARACTERS]


def _views(text: str) -> Iterator[str]:
    """The text as it reads, and what it reads as with letters put together, digits as letters and codes decoded."""
    plain = _normalized(text)
    yield plain
    joined = _SPACED_LETTERS.sub(lambda found: re.sub(r"[ .\-_*]", "", found.group()), plain)
    if joined != plain:
        yield joined
    for letters in _LEET_LETTERS:
        spelled = _WORD.sub(partial(_spell, letters=letters), joined)
        if spelled != joined:
            yield spelled
    for found in islice(_ENCODED.finditer(text), _MOST_ENCODED):
        yield from map(_normalized, _decoded(found.group()))


def _spell(found: re.Match[str], letters: dict[int, int]) -> str:
    """A word of letters and digits with letters alone; a number or a plain word as it is."""
    word = found.group()
    return word.translate(letters) if any("a" <= character <= "z" for character in word) else word


def _decoded(code: str) -> Iterator[str]:
    """What base64 or hexadecimal digits say, if that is text."""
    for decode in (_decode_base64, bytes.fromhex):
        try:
            words = decode(code).decode()
        except ValueError:
            continue
        if words.isprintable():
            yield words


def _decode_base64(code: str) -> bytes:
    bare = code.rstrip("=")
    return b64decode(bare + "=" * (-len(bare) % 4), validate=True)


def _normalized(text: str) -> str:
    """The text in lower case, without invisible characters, compatibility forms, lookalikes and unusual spaces."""
    seen = "".join(character for character in _SPELLED_OUT.sub("", text) if not is_invisible(character))
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_LOOKALIKES)
    bare = "".join(
        character for character in unicodedata.normalize("NFD", plain) if not unicodedata.combining(character)
    )
    return _SPACE.sub(" ", bare)


def injection_warnings(judge: JudgeSpec, material: RunMaterial, criteria: Iterable[CriterionScore]) -> tuple[str, ...]:
    """Warnings about what the judge was shown and what it quotes; none of them changes a score."""
    return (*_in_material(judge, material), *_in_evidence(criteria))


def _in_material(judge: JudgeSpec, material: RunMaterial) -> Iterator[str]:
    shown = {
        "diff": excerpt(material.diff or "", judge.diff_tokens),
        "transcript": excerpt(material.conversation or "", judge.transcript_tokens),
    }
    for what, text in shown.items():
        if (words := instruction_in(text)) is not None:
            yield f"the run's {what} speaks to its judge: {words!r}"


def _in_evidence(criteria: Iterable[CriterionScore]) -> Iterator[str]:
    for criterion in criteria:
        evidence = {criterion.criterion: criterion.evidence}
        evidence |= {f"{criterion.criterion}/{item.item}": item.evidence for item in criterion.items}
        for place, words in evidence.items():
            if words is not None and (quoted := quoted_instruction_in(words)) is not None:
                yield f"the evidence of {place!r} quotes words that speak to the judge: {quoted!r}"
