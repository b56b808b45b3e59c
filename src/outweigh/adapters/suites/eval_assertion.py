"""One assertion of an eval: a check where it plainly says what a machine can look at, else a sentence for a judge."""

import re
from dataclasses import dataclass
from typing import Any

from outweigh.adapters.suites.eval_checks import stated_check
from outweigh.adapters.suites.eval_fields import ASKED, TEXTS, Table, first_text
from outweigh.adapters.suites.naming import folder_name
from outweigh.task.check import AnswerContainsCheck, Check

_QUOTED = r"(?:'[^']+'|\"[^\"]+\")"
_CONTAINS = re.compile(rf"contains {_QUOTED}(?: or (?:contains )?{_QUOTED})*", re.IGNORECASE)
_ASKING = ("llm", "judge", "model_graded", "rubric")
"""How types begin whose author has a model asked; what it is asked stands under one of `ASKED`."""

_LACKS = re.compile(rf"(?:does not contain|not contains) {_QUOTED}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a judge is to look for, and what its author calls it."""

    name: str | None
    text: str


def read_assertion(raw: Any) -> Check | Statement | None:
    """A check, a statement, or None where nobody could say what is meant."""
    if isinstance(raw, str):
        said = raw.replace("\0", "").strip()
        return (_spoken_check(said) or Statement(name=None, text=said)) if said else None
    if not isinstance(raw, dict):
        return None
    kind = _kind(raw)
    if not kind.startswith("file"):
        raw = {key: value for key, value in raw.items() if key != "target"}  # of others, it says "output"
    if (check := stated_check(raw, kind)) is not None:
        return check
    text = first_text(raw, (*TEXTS, *ASKED) if kind.startswith(_ASKING) else TEXTS)
    return None if text is None else Statement(name=first_text(raw, ("name", "id")), text=text)


def _spoken_check(said: str) -> Check | None:
    """`contains 'x' or contains 'y'` and `does not contain 'x'` say it all; whoever speaks so means no letter case."""
    sentence = said.rstrip(".")
    lacks = _LACKS.fullmatch(sentence) is not None
    if not lacks and _CONTAINS.fullmatch(sentence) is None:
        return None
    words = [quoted[1:-1] for quoted in re.findall(_QUOTED, sentence)]
    regex = f"(?i){'|'.join(map(re.escape, words))}"
    return AnswerContainsCheck(name=folder_name(said, "answer"), regex=regex, absent=lacks)


def _kind(raw: Table) -> str:
    kind = raw.get("type")
    return kind.strip().lower().replace("-", "_") if isinstance(kind, str) else ""
