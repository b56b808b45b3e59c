"""One noun per idea, in the field's terms: names that would have to be decoded fail here."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "outweigh"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "demo_suite" not in path.parts)
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}

# Class names that several modules may share, because they stand for the same idea. There are none today.
SAME_IDEA: frozenset[str] = frozenset()

# Metaphors that once stood for an idea, each with the word of the field that replaced it.
BANNED = {
    "asking": "retries",
    "court": "judging context",
    "courtroom": "judging context",
    "dice": "seeded random",
    "docket": "pending calls",
    "door": "port",
    "doors": "ports",
    "duel": "pairwise",
    "equip": "engine dependencies",
    "equipment": "engine dependencies",
    "fees": "call cost",
    "hearing": "judge call",
    "jury": "judge rules",
    "purse": "budget",
    "room": "sandbox",
    "rooms": "sandboxes",
    "seat": "judge count",
    "sighting": "observed set-up",
    "sightings": "observed set-up",
    "wall": "isolation",
    "walls": "isolation",
    "wastebin": "trash",
    "watchlist": "expected set-up",
    "witness": "reported usage",
    "workshop": "engine dependencies",
}


def words_of(name: str) -> list[str]:
    """`JudgeCall`, `judge_call` and `_judge_call` are the same two words."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def glossary_words() -> set[str]:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return {word for term in re.findall(r"\*{1,2}([^*]+)\*{1,2}", page) for word in words_of(term)}


def technical_words() -> set[str]:
    return set((Path(__file__).with_name("technical_words.txt")).read_text(encoding="utf-8").split())


def test_every_public_class_name_stands_for_one_class() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))

    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in SAME_IDEA} == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_is_named_in_words_of_the_glossary_or_plain_technical_english(path: Path) -> None:
    known = glossary_words() | technical_words()
    parts = [part for part in path.relative_to(SOURCE).with_suffix("").parts if not part.startswith("__")]
    unknown = {word for part in parts for word in words_of(part) if not {word, word.removesuffix("s")} & known}

    assert not unknown, "a new word belongs in docs/glossary.md, or in technical_words.txt if every engineer knows it"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_name_is_a_metaphor(path: Path) -> None:
    names = {path.stem}
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    found = {name: BANNED[word] for name in names for word in words_of(name) if word in BANNED}

    assert found == {}


def test_the_list_of_technical_words_holds_none_that_no_module_uses() -> None:
    used = {
        word for path in MODULES for part in path.relative_to(SOURCE).with_suffix("").parts for word in words_of(part)
    }

    assert technical_words() - used - {word.removesuffix("s") for word in used} == set()
