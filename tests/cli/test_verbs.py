"""The verbs: few on top, grouped by job, old names for one release, and the nearest one for a mistake."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.conftest import Outweigh

from outweigh.cli.verbs import COMMON, GROUPS, MOVED, ROOT, walk_verbs

ROOT_FOLDER = Path(__file__).resolve().parents[2]
RECORDED = str(ROOT_FOLDER / "examples" / "recorded" / "runs.jsonl")
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
WRITTEN = {".html", ".js", ".md", ".py", ".toml", ".yml"}
CALLABLE = [(words, verb) for words, verb in walk_verbs() if verb.module]


def test_there_are_at_most_twenty_three_verbs_on_top() -> None:
    assert len(ROOT.below) <= 23


def test_every_verb_has_a_module_or_verbs_below_it() -> None:
    assert [words for words, verb in walk_verbs() if not (verb.module or verb.below)] == []


@pytest.mark.parametrize(("words", "module"), [(words, verb.module) for words, verb in CALLABLE])
def test_a_verb_lives_in_the_module_of_its_words_and_its_parser_has_its_name(
    words: tuple[str, ...], module: str
) -> None:
    assert module == f"outweigh.cli.{'_'.join(words).replace('-', '_')}{'_' * (words in (('import',), ('try',)))}"
    assert import_module(module).build_parser().prog == f"outweigh {' '.join(words)}"


def test_the_help_names_every_verb_once_below_its_job(outweigh: Outweigh) -> None:
    lines = outweigh("--help").out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("  -")]

    assert listed == [name for verbs in GROUPS.values() for name in verbs]
    assert [line.removesuffix(":") for line in lines if line.removesuffix(":") in GROUPS] == list(GROUPS)


def test_the_help_names_the_common_verbs_first(outweigh: Outweigh) -> None:
    text = outweigh("--help").out

    assert set(COMMON) <= set(ROOT.below)
    assert len(COMMON) == 6
    assert text.index(f"Start with: {', '.join(COMMON)}.") < text.index("Start:")


@pytest.mark.parametrize("words", [words for words, verb in walk_verbs() if verb.below and not verb.module])
@pytest.mark.parametrize("more", [(), ("--help",), ("-h",)])
def test_a_verb_that_only_has_others_below_it_lists_them(
    outweigh: Outweigh, words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    answer = outweigh(*words, *more)

    assert (answer.code, answer.err) == (0, "")
    assert all(f"\n  {name} " in answer.out for name in dict(walk_verbs())[words].below)


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_prints_the_same_help_and_one_line_about_the_new_name(outweigh: Outweigh, old: str) -> None:
    before, after = outweigh("help", old), outweigh(*MOVED[old], "--help")

    assert before.out == after.out
    assert after.err == ""
    new = " ".join(MOVED[old])
    assert before.err == f"outweigh: `outweigh {old}` is now `outweigh {new}`. The next release drops the old name.\n"


def test_an_old_name_gives_the_same_answer_and_exit_code(outweigh: Outweigh) -> None:
    options = (RECORDED, "--arm", "T0-plain", "--splits", "3", "--format", "json")

    before, after = outweigh("aa", *options), outweigh("suite", "aa", *options)

    assert (before.code, before.out) == (after.code, after.out) == (0, after.out)
    assert before.err.count("\n") == 1


def test_an_old_name_writes_the_same_file(outweigh: Outweigh, tmp_path: Path) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"

    assert (
        outweigh("export", RECORDED, "-o", str(old)).code == outweigh("store", "export", RECORDED, "-o", str(new)).code
    )
    assert old.read_bytes() == new.read_bytes()


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("verdct",), "verdict"),
        (("pin",), "baseline pin"),
        (("exprt",), "store export"),
        (("modelserver",), "dev model-server"),
        (("store", "exprot"), "store export"),
        (("ci", "coment"), "ci comment"),
        (("baseline", "lst"), "baseline list"),
    ],
)
def test_an_unknown_verb_names_the_nearest(outweigh: Outweigh, words: tuple[str, ...], near: str) -> None:
    answer = outweigh(*words)

    assert (answer.code, answer.out) == (2, "")
    assert f"there is no verb {' '.join(words)!r}. Did you mean {near!r}?" in answer.err


def test_a_verb_like_no_other_is_answered_with_the_help(outweigh: Outweigh) -> None:
    assert outweigh("xyzzy").err == "outweigh: there is no verb 'xyzzy'. `outweigh --help` lists the verbs.\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--vesion",), "Did you mean '--version'?"),
        (("--format", "json"), "Options of a verb go after it."),
        (("store", "--halp"), "Did you mean '--help'?"),
    ],
)
def test_an_unknown_option_before_a_verb_is_refused(outweigh: Outweigh, words: tuple[str, ...], expected: str) -> None:
    answer = outweigh(*words)

    assert (answer.code, answer.out) == (2, "")
    assert expected in answer.err


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_has_two_spellings(outweigh: Outweigh, option: str) -> None:
    assert outweigh(option).out.startswith("outweigh 0.")


def test_help_and_a_verb_is_the_help_of_the_verb(outweigh: Outweigh) -> None:
    assert outweigh("help", "store", "scan").out == outweigh("store", "scan", "--help").out
    assert outweigh("help").out == outweigh("--help").out


def test_the_page_on_commands_has_every_verb_in_the_order_of_the_help() -> None:
    text = (ROOT_FOLDER / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = [title for title in re.findall(r"^## (.*)$", text, re.MULTILINE) if title.islower()]

    named = {" ".join(words[:depth]) for words, _ in CALLABLE for depth in (1, 2)}
    missing = [words for words, _ in CALLABLE if not {" ".join(words), words[0]} & set(sections)]
    places = [list(ROOT.below).index(title.split()[0]) for title in sections]
    assert set(sections) <= named
    assert missing == []
    assert places == sorted(places)


@pytest.mark.parametrize("place", ["src", "docs", "examples", "README.md", "SECURITY.md", "action.yml", "benchmarks"])
def test_no_document_or_message_uses_an_old_name(place: str) -> None:
    old = re.compile(rf"outweigh\s+({'|'.join(MOVED)})\b(?!\.)")
    whole = [ROOT_FOLDER / place, *(ROOT_FOLDER / place).rglob("*")]
    files = [file for file in whole if file.suffix in WRITTEN and file.is_file() and "adr" not in file.parts]

    found = {
        str(file): match[0]
        for file in files
        if (match := old.search(file.read_text(encoding="utf-8", errors="replace")))
    }
    assert files
    assert found == {}
