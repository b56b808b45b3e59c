"""Words in a run that speak to its judge. They change nothing by themselves; whoever reads a judgment must know."""

import re
import unicodedata

from outweigh.judge.plain_text import is_unseen

_SHOWN = 120
_SPELLED_OUT = re.compile(r"\\u\{[0-9a-f]{4,6}\}", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһԛԝαεορυνικτ", "aeopcyxijsdhqwaeopuvikt")

_ORDERS = re.compile(
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


def order_in(text: str) -> str | None:
    """The first words that tell a judge what to do, however they are dressed up; None where there are none."""
    return _found(_ORDERS, _undressed(text))


def quoted_order_in(evidence: str) -> str | None:
    """The same in what a judge quotes, where forged answers, fences and tags have no place either."""
    plain = _undressed(evidence)
    return _found(_ORDERS, plain) or _found(_FORGERIES, plain)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return None if found is None else found.group()[:_SHOWN]


def _undressed(text: str) -> str:
    """Plain small letters: without unseen characters, fancy forms, lookalikes and odd spaces."""
    seen = "".join(character for character in _SPELLED_OUT.sub("", text) if not is_unseen(character))
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_LOOKALIKES)
    bare = "".join(
        character for character in unicodedata.normalize("NFD", plain) if not unicodedata.combining(character)
    )
    return _SPACE.sub(" ", bare)
