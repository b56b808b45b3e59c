"""Prompt injection: text in a run, or quoted in a judge's evidence, that addresses the judge.

It gives warnings on the judgment and changes no score.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from outweigh.judging.material import RunMaterial
from outweigh.judging.untrusted_text import excerpt, is_invisible
from outweigh.model.judgment import CriterionScore
from outweigh.model.suite import JudgeSpec

_SHOWN_CHARACTERS = 120
_SPELLED_OUT = re.compile(r"\\u\{[0-9a-f]{4,6}\}", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһԛԝαεορυνικτ", "aeopcyxijsdhqwaeopuvikt")

_INSTRUCTIONS = re.compile(
    r"""\b(?: ignor(?:e|ing) | disregard(?:ing)? | forget | overrid(?:e|ing) | bypass ) \s (?:[\w'-]+\s){0,5}?
            (?: rubric | instructions? | criteri(?:a|on) | prompt | guidelines? | rules? )\b
      | \b(?: give | award | assign | grant | respond | score | rate | mark ) \s
            (?:[\w'"-]+\s){0,6}? (?: 1\.0\b | 100\s?% | 10/10 | full\s(?:marks|points|score|credit)
            | (?:perfect|maximum|highest|top|best)(?:\s(?:possible\s)?(?:scores?|marks?|points|grades?|rating))\b )
      | \b(?: dear | attention | note\s(?:to|for) | message\s(?:to|for) | hey | hello )[\s,:]+ (?:the\s|all\s)?
            (?: judges? | graders? | evaluators? | assessors? )\b
      | \b(?: you\sare | act\sas | acting\sas ) \s (?:now\s)?(?:the\s|an?\s)?(?:\w+\s)?
            (?: judge | grader | evaluator | assessor )\b
      | \b(?: new | updated | real | actual )\s (?:system\s)?(?: instructions | prompt | rubric )\b
      | \bsystem\s(?: prompt | message | override | note )\b""",
    re.VERBOSE,
)
_FORGERIES = re.compile(
    r"""["']?\b(?: answers | scores? | total | confidence )["']? \s? [:=] \s? (?: \[ | 1(?:\.0+)?\b | 10\b )
      | \b(?: begin | end )\s (?: \[code\] | [0-9a-f]{16,} )
      | </?\s?(?: system | instructions? | rubric | material | untrusted | assistant | user | judge | human )\b
            [^>]{0,40}>
      | <\|[a-z_]{1,30}\|>""",
    re.VERBOSE,
)


def instruction_in(text: str) -> str | None:
    """The first words that instruct a judge, also in disguised spellings; None where there are none."""
    return _found(_INSTRUCTIONS, _normalized(text))


def quoted_instruction_in(evidence: str) -> str | None:
    """The same in a judge's evidence, where forged answers, fences and tags are suspicious too."""
    plain = _normalized(evidence)
    return _found(_INSTRUCTIONS, plain) or _found(_FORGERIES, plain)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else found.group()[:_SHOWN_CHARACTERS]


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
