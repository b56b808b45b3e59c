"""The mutation run changes what it says it changes, and its list of accepted survivors is not stale."""

import ast
import tomllib
from pathlib import Path

import pytest
from scripts.mutants.operators import Mutant, mutants_of
from scripts.mutants.sample import all_mutants, always, draw
from scripts.mutants.server import swap_code

from outweigh.verdict import promotion

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    return all_mutants(ROOT / "src" / "outweigh")


def changes_of(folder: Path, source: str) -> set[tuple[str, str]]:
    (folder / "module.py").write_text(source, encoding="utf-8")
    return {(mutant.original, mutant.mutated) for mutant in mutants_of(folder, "module.py")}


@pytest.mark.parametrize(
    ("source", "original", "mutated"),
    [
        ("def f(a):\n    return a < 5\n", "return a < 5", "return a <= 5"),
        ("def f(a):\n    return a < 5\n", "return a < 5", "return a < 6"),
        ("def f(a, b):\n    return a and b\n", "return a and b", "return a or b"),
        ("def f(a, b):\n    return a and b\n", "return a and b", "return b"),
        ("def f(a):\n    return any(a)\n", "return any(a)", "return all(a)"),
        ("def f(a):\n    a.sync()\n", "a.sync()", "pass"),
        ("def f(a):\n    return [x for x in a if x]\n", "return [x for x in a if x]", "return [x for x in a]"),
        (
            "def f(a, b):\n    if a:\n        return 1\n    if b:\n        return 2\n",
            "if a: …; if b: …",
            "if b: …; if a: …",
        ),
    ],
)
def test_a_change_is_among_the_mutants(tmp_path: Path, source: str, original: str, mutated: str) -> None:
    assert (original, mutated) in changes_of(tmp_path, source)


def test_text_annotations_and_decorators_are_left_alone(tmp_path: Path) -> None:
    source = '"""1 < 2"""\n@cache(maxsize=1)\ndef f(a: Literal[1]) -> "X":\n    """3 < 4"""\n    return f"{a + 1}"\n'

    assert changes_of(tmp_path, source) == set()


def test_every_mutant_is_a_module_of_its_own(mutants: list[Mutant]) -> None:
    for mutant in mutants[::20]:
        ast.parse(mutant.source)
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def test_the_sample_is_seeded_and_holds_everything_that_decides(mutants: list[Mutant]) -> None:
    drawn = draw(mutants, 640, 13)

    assert [mutant.key for mutant in drawn] == [mutant.key for mutant in draw(mutants, 640, 13)]
    assert len(drawn) == 640
    assert {mutant.key for mutant in mutants if always(mutant)} <= {mutant.key for mutant in drawn}


def test_swapped_code_is_what_callers_run() -> None:
    path = ROOT / "src" / "outweigh" / "verdict" / "promotion.py"
    source, original = path.read_text(encoding="utf-8"), promotion.may_promote.__code__
    changed = source.replace("    return improved and", "    return not improved and")
    try:
        assert changed != source
        assert swap_code("verdict/promotion.py", "may_promote", changed)
        assert promotion.may_promote.__code__.co_code != original.co_code
    finally:
        promotion.may_promote.__code__ = original


def test_every_accepted_survivor_still_exists_and_has_a_reason(mutants: list[Mutant]) -> None:
    entries = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    known = {mutant.key for mutant in mutants}

    stale = [entry for entry in entries if _key(entry) not in known]

    assert stale == []
    assert all(len(entry["reason"]) > 20 for entry in entries)


def _key(entry: dict[str, str]) -> tuple[str, str, str, str, int]:
    return entry["file"], entry["function"], entry["original"], entry["mutated"], int(entry.get("number", 1))
