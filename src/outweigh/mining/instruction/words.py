"""What people said about a change, without what says nothing about what is wanted."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from outweigh.mining.fairness import ChangedCode
from outweigh.mining.instruction.clean_message import (
    clean_line,
    is_boilerplate,
    is_file_name,
    list_points,
    message_parts,
    readable_title,
    without_patch,
)

_VAGUE_LIST = """
a add added adding address addressed addressing adds again all an and annotation annotations another any applied
apply are at be better broken bug bugfix bugs build bump by case cases change changed changelog changes ci clean
cleanup code comment comments commit coverage cut doc docs documentation done draft error errors example
examples expand failing feedback few file files final first fix fixed fixes flake8 for format formatting from
hint hints import imports improve improved improvement improvements in increase initial is issue issues it its
latest lint linter linting merge merged minor misc missing more naming new nit nits now of ok on oops or other
polish pr prepare pull readme refactor refactored refactoring regression release remove removed rename renamed
request requested review reviews small some spec specs stuff style styling suggestion suggestions suite temp
test testing tests that the thing things this tmp to tweak tweaked tweaks type types typo typos unit unused up
update updated updates updating various version wip with work
"""
_VAGUE_WORDS = frozenset(_VAGUE_LIST.split())
_MAKING_VERBS = (
    r"(?:fix|fixed|correct|remove|add|added|update|improve|tweak|rework|expand|clarify|reword|rename|move|more|minor"
    r"|small|initial|start|try|use|restore|revert|make|adjust|run|bump|skip|merge|apply|better|less|shift|reorder|tidy|explain|mention"
    r"|document|change|include|switch|format|remaining|some|always|few)"
)
_MAKING_WORDS = (
    r"(?:typos?|tests?|test names?|readme|docs?|docstrings?|jsdocs?|comments?|lint\w*|eslint|flake8|prettier|changelog"
    r"|coverage|examples?|typings?|types?|formatting|whitespace|indent\w*|spelling|wording|pre-?commit|ci|travis|actions|workflow|tags?"
    r"|first cut|nitpicks?|feedback|review|suggestions?|spac(?:e|es|ing)|trailing|mypy|black|isort|ruff|news"
    r"|release notes?|(?:pr|issue) (?:link|number)s?|wip|skeleton|tutorial|nonsense|urls?|dependenc\w+)"
)
_ABOUT_MAKING = re.compile(rf"^(?:{_MAKING_VERBS}\b.*)?\b{_MAKING_WORDS}\b.{{0,40}}$", re.IGNORECASE)
_ABOUT_TESTS = re.compile(
    r"^(?:tests?:\s.*|(?:add|added|adding|fix|fixed|update|updated|more|expand|increase|improve|new|move|refactor|remove)\b"
    r"(?:\s+\w+){0,3}\s+(?:tests?|test cases?|coverage)\b.*)$",
    re.IGNORECASE,
)
_MOST_STEPS = 12
_LONGEST_TITLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWords:
    """What is wanted: one line, more about it, and where the words come from.

    `steps` are short notes from the commits of the change, which may be about anything.
    """

    title: str
    details: tuple[str, ...]
    steps: tuple[str, ...] = ()
    source: str


def words_of_change(changed: ChangedCode) -> ChangeWords | None:
    """The words about a change: what the user typed or the issue says, else its message, and its changelog entries.

    None where all of them together do not say what is wanted.
    """
    entries = [entry for entry in changelog_entries(changed.changelog) if not is_vague(entry)]
    own = _from_message(changed, entries)
    for origin, text in (("session", "\n\n".join(changed.typed)), ("issue", changed.issue)):
        parts = [part for part in message_parts(text) if not is_vague(part)]
        if parts:
            title = parts[0] if len(parts[0]) <= _LONGEST_TITLE else _first_clause(parts[0])
            more = [*(parts if title != parts[0] else parts[1:]), *([own.title, *own.details] if own else entries)]
            return ChangeWords(title=title, details=tuple(_distinct([title], more)), source=origin)
    return own


def _from_message(changed: ChangedCode, entries: list[str]) -> ChangeWords | None:
    paragraphs = list(_telling_parts(changed.message))
    lines = [line for line in paragraphs[:1] if not _says_nothing(line)]
    rest = [part for part in paragraphs[1:] if not _says_nothing(part)]
    subjects = [clean_line(subject) for subject in changed.subjects if not is_boilerplate(subject)]
    inner = [readable_title(subject) for subject in subjects if subject and not _says_nothing(subject)]
    origin = "message and changelog" if entries else "message"
    if lines:
        title = lines[0]
    elif rest:
        title, rest = _promoted(rest)
    elif entries:
        title, origin = _first_clause(entries[0]), "changelog"
    elif inner:
        title, origin = inner[0], "commits"
    else:
        return None
    steps = inner[1:] if origin == "commits" else [part for part in rest if _is_step(part)]
    details = list(_distinct([title], [*(part for part in rest if not _is_step(part)), *entries]))
    steps = [] if entries else list(_distinct([title, *details], map(readable_title, steps)))
    return ChangeWords(title=title, details=tuple(details), steps=tuple(steps), source=origin)


def _is_step(part: str) -> bool:
    """Whether a part of a message is a short note, as the commits of a branch leave them."""
    return part.startswith("* ") or (not part.startswith("- ") and len(part.split()) < 12 and not part.endswith("."))


def _telling_parts(message: str) -> Iterator[str]:
    """The title, and the parts that are not about comments, tests and other work on the change."""
    parts = list(message_parts(message))
    yield from parts[:1]
    steps = 0
    for part in parts[1:]:
        bare = re.sub(r"^[*-]\s+", "", part)
        is_note = _is_step(part) or part.startswith("- ")
        is_broken = part.endswith(":") or len(bare.split()) < 3
        steps += _is_step(part)
        is_extra = _is_step(part) and steps > _MOST_STEPS
        if not is_broken and not (is_note and _ABOUT_MAKING.match(bare)) and not is_extra:
            yield part


def _promoted(details: list[str]) -> tuple[str, list[str]]:
    first = re.sub(r"^[*-]\s+", "", details[0])
    title = _first_clause(first)
    return title, (details if len(title) < len(first) else details[1:])


def _first_clause(text: str) -> str:
    line = re.sub(r"^[*-]\s+", "", " ".join(text.split()))
    return re.split(r"(?<=[.!?])\s+", line, maxsplit=1)[0].rstrip(".")


def _distinct(seen: list[str], parts: Iterable[str]) -> Iterator[str]:
    known = {_key(part) for part in seen}
    for part in parts:
        key = _key(part)
        if key and key not in known:
            known.add(key)
            yield part


def _key(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def _says_nothing(line: str) -> bool:
    return is_vague(line) or bool(_ABOUT_TESTS.match(re.sub(r"^[*-]\s+", "", line)))


def is_vague(line: str) -> bool:
    """Whether a line says nothing about what is wanted."""
    if re.search(r"[\u3040-\u9fff\uac00-\ud7af]{4}", line):  # scripts without spaces between words
        return False
    words = re.findall(r"[^\W\d_][\w.'-]*", line.replace("`", " "))
    telling = [word for word in words if word.lower().strip(".'-") not in _VAGUE_WORDS]
    return len(words) < 2 or not telling or (len(telling) == 1 and len(telling[0]) < 4)


def changelog_entries(lines: Iterable[str]) -> Iterator[str]:
    """The entries among the lines that a change adds to changelogs, one line each."""
    kept = [line for line in without_patch(list(lines)) if not re.match(r"\s*(?:\[[^\]]+\]:|#|<|\*\*[^*]*\*\*$)", line)]
    for block in re.split(r"\n\s*\n", "\n".join(kept)):
        for part in list_points(block):
            text = re.sub(r"^\* ", "- ", clean_line(part))
            if text and not re.match(r"=+$|-+$|~+$|\.\. |:", text) and not is_file_name(text):
                yield text
