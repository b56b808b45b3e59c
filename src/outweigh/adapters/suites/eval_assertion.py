"""One assertion of an eval: a check where it plainly says what a machine can look at, else a sentence for a judge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.adapters.suites.eval_checks import PATTERNS, TEXTS, VALUES, Table, first_text, stated_check
from outweigh.task.check import Check

_ANSWERS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "contains": (VALUES, "The agent's answer contains the text {!r}."),
    "output_contains": (VALUES, "The agent's answer contains the text {!r}."),
    "not_contains": (VALUES, "The agent's answer does not contain the text {!r}."),
    "output_not_contains": (VALUES, "The agent's answer does not contain the text {!r}."),
    "regex": (PATTERNS, "The agent's answer has a part that the regular expression {!r} matches."),
    "output_matches": (PATTERNS, "The agent's answer has a part that the regular expression {!r} matches."),
    "not_regex": (PATTERNS, "The agent's answer has no part that the regular expression {!r} matches."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a judge is to look for, and what its author calls it.

    `of_the_answer` says that a machine could look too, if checks had the agent's answer.
    """

    name: str | None
    text: str
    of_the_answer: bool = False


def read_assertion(raw: Any) -> Check | Statement | None:
    """A check, a statement, or None where nobody could say what is meant."""
    if isinstance(raw, str):
        said = raw.replace("\0", "").strip()
        return Statement(name=None, text=said) if said else None
    if not isinstance(raw, dict):
        return None
    kind = _kind(raw)
    if not kind.startswith("file"):
        raw = {key: value for key, value in raw.items() if key != "target"}  # of others, it says "output"
    if (check := stated_check(raw, kind)) is not None:
        return check
    name = first_text(raw, ("name", "id"))
    if (about := _about_the_answer(raw, kind)) is not None:
        return Statement(name=name, text=about, of_the_answer=True)
    text = first_text(raw, TEXTS)
    return None if text is None else Statement(name=name, text=text)


def _kind(raw: Table) -> str:
    kind = raw.get("type")
    return kind.strip().lower().replace("-", "_") if isinstance(kind, str) else ""


def _about_the_answer(raw: Table, kind: str) -> str | None:
    """Checks look at the workspace; what an agent must say is for a judge, who reads it."""
    if kind not in _ANSWERS or any(key in raw for key in ("path", "file", "filename", "file_path")):
        return None
    keys, words = _ANSWERS[kind]
    value = first_text(raw, keys)
    return None if value is None else words.format(value)
