"""What users read is plain English: words and phrases that docs/style.md rules out fail here."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "outweigh"
LIST = Path(__file__).with_name("banned_words.toml")
LISTS_THE_BANNED_WORDS = ROOT / "docs" / "style.md"
PROSE = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs/*.md", "action.yml", ".github/**/*.*"]
PROSE += ["examples/**/*.md", "examples/**/*.yml", "src/outweigh/**/*.md", "src/outweigh/**/*.toml"]
PROSE += ["schemas/*.json", "src/outweigh/**/*.html", "src/outweigh/**/*.css", "src/outweigh/**/*.js"]


class AllowedContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    reason: str


class BannedPhrase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    forms: list[str]
    instead: str
    allowed: list[AllowedContext] = []


BANNED = msgspec.convert(tomllib.loads(LIST.read_text(encoding="utf-8"))["banned"], list[BannedPhrase])


def literals(source: str) -> Iterator[str]:
    """The strings that a module can show, so not its docstrings; `{}` stands for the values of an f-string."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


def texts(path: Path) -> list[str]:
    content = path.read_text(encoding="utf-8")
    return list(literals(content)) if path.suffix == ".py" else [content]


def banned_words(text: str) -> list[str]:
    plain = " ".join(text.split())
    found = []
    for phrase in BANNED:
        kept = plain
        for context in phrase.allowed:
            kept = kept.replace(context.text, "")
        forms = "|".join(re.escape(form) for form in phrase.forms)
        found += [
            f"…{kept[max(0, match.start() - 40) : match.end() + 40]}…: write {phrase.instead}"
            for match in re.finditer(rf"(?<![\w-])(?:{forms})(?![\w-])", kept, re.IGNORECASE)
        ]
    return found


FILES = sorted({path for pattern in PROSE for path in ROOT.glob(pattern) if path.is_file()} | set(SOURCE.rglob("*.py")))
FILES.remove(LISTS_THE_BANNED_WORDS)
NAMES = {str(path.relative_to(ROOT)): path for path in FILES}


@pytest.mark.parametrize("path", NAMES.values(), ids=NAMES)
def test_what_users_read_has_no_banned_word(path: Path) -> None:
    found = [words for text in texts(path) for words in banned_words(text)]

    assert found == []


def test_every_allowed_context_is_still_written_somewhere() -> None:
    everything = " ".join(" ".join(text.split()) for path in FILES for text in texts(path))
    contexts = [context for phrase in BANNED for context in phrase.allowed]

    assert [context.text for context in contexts if context.text not in everything] == []
    assert [context.text for context in contexts if len(context.reason.split()) < 3] == []


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Mend the file.", True),
        ("the suite is\n  at rest", True),
        ("recommended", False),
        ("a boxing-ring", False),
        ("fix the file", False),
    ],
)
def test_a_phrase_is_found_as_whole_words_in_any_case_and_over_line_breaks(text: str, is_found: bool) -> None:
    assert bool(banned_words(text)) == is_found


def test_strings_are_searched_and_names_docstrings_and_comments_are_not() -> None:
    source = 'def mend(purse):\n    """Mend."""\n    return f"lay {purse} down", "ring"  # door\n'

    assert sorted(literals(source)) == ["lay {} down", "ring"]
