"""The help of every verb: one sentence, examples that work, options in groups, and every default."""

import argparse
import shlex
from importlib import import_module
from pathlib import Path
from shutil import copy, copytree, rmtree

import pytest
from tests.cli.part_stores import leave_one_out, part_runs, write_part_store
from tests.cli.stores import write_store
from tests.cli.test_suite_triggers import some_runs as trigger_runs
from tests.conftest import Outweigh

from outweigh.cli.arguments import Parser
from outweigh.cli.main import main
from outweigh.cli.verbs import find_verb, walk_verbs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PARSERS: dict[str, Parser] = {
    " ".join(words): import_module(verb.module).build_parser() for words, verb in walk_verbs() if verb.module
}
SHOWN = [example for parser in PARSERS.values() for example in parser.examples]

ONLY_PARSED = {
    "outweigh view": "serves until Ctrl-C",
    "outweigh dev model-server": "serves until Ctrl-C",
    "outweigh dev host": "serves until Ctrl-C",
    "outweigh judge": "asks a model",
    "outweigh init mined-suite": "needs a repository with a history",
    "outweigh try": "needs a repository and asks a model",
    "outweigh promote": "changes a repository on a forge",
    "outweigh parts apply": "needs the files of a set-up that was tested",
    "outweigh bisect": "needs a repository with a history",
    "outweigh ci": "needs the repository of a CI job",
    "outweigh baseline check": "needs a pin of the suite",
    "outweigh import inspect": "needs the logs of another harness",
    "outweigh store copy": "needs a bucket or a host",
    "outweigh store arms": "needs imported runs with these arms",
    "outweigh demo -o": "the same as `outweigh demo`, in another folder",
}
"""Examples that cannot run here, and why; of these a test checks only that they parse."""

EXIT_CODES = {"verdict": {0, 1, 3}, "doctor": {0, 1}}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples name: suites, stores, a table, records, a skill, a report and a bundle."""
    place = tmp_path_factory.mktemp("examples")
    copytree(EXAMPLES / "skill" / "release-notes", place / "release-notes")
    for name in ("nightly.csv", "map.toml"):
        copy(EXAMPLES / "table" / name, place)
    copy(EXAMPLES / "recorded" / "runs.jsonl", place)
    copytree(EXAMPLES / "skill" / "release-notes", place / ".claude" / "skills" / "release-notes")
    (place / "CLAUDE.md").write_text("# Testing\nRun pytest.\n\n# Style\nShort functions.\n")
    (place / ".mcp.json").write_text('{"mcpServers": {"clock": {"command": "clock"}}}')
    sets = leave_one_out(("style",))
    (place / "outweigh-runs").mkdir()
    write_part_store(place / "outweigh-runs" / "parts", part_runs(sets, {"style": 0.4}, tasks=12), sets)
    write_store(place / "outweigh-runs" / "triggers", trigger_runs(), ["old", "new"])
    write_store(place / "outweigh-runs" / "imported", trigger_runs(), ["old", "new"])
    (place / "cases.toml").write_text('[[case]]\ntask = "fires-1"\nskill = "notes"\nshould_fire = true\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for suite in (".", "my-suite"):
            assert main(["init", suite]) == 0
        assert main(["demo"]) == 0
        assert main(["report", "outweigh-runs/demo", "-o", "report.html"]) == 0
        assert main(["store", "bundle", "outweigh-runs/demo", "-o", "study.outweigh.zip"]) == 0
    return place


@pytest.fixture
def folder(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it as the current folder, so that no example finds what another one wrote."""
    copy_of_it = copytree(original, tmp_path / "folder")
    monkeypatch.chdir(copy_of_it)
    return copy_of_it


def runs_here(example: str) -> bool:
    return not any(example.startswith(beginning) for beginning in ONLY_PARSED)


@pytest.mark.parametrize("example", [example for example in SHOWN if runs_here(example)])
def test_an_example_of_the_help_works(example: str, folder: Path, outweigh: Outweigh) -> None:
    words = shlex.split(example.partition(" > ")[0])[1:]
    if words[:2] == ["init", "my-suite"]:
        rmtree(folder / "my-suite")

    answer = outweigh(*words)

    assert answer.code in EXIT_CODES.get(words[0], {0}), answer.err


@pytest.mark.parametrize("example", [example for example in SHOWN if not runs_here(example)])
def test_an_example_that_cannot_run_here_parses(example: str) -> None:
    words, _, arguments = find_verb(shlex.split(example)[1:])

    PARSERS[" ".join(words)].parse_intermixed_args(arguments)


@pytest.mark.parametrize("verb", PARSERS)
def test_a_verb_has_one_sentence_and_an_example_of_its_own(verb: str) -> None:
    parser = PARSERS[verb]

    assert parser.description is not None
    assert parser.description[0].isupper()
    assert parser.description.endswith(".")
    assert parser.examples
    assert all(example.startswith(f"outweigh {verb}") for example in parser.examples)


@pytest.mark.parametrize("verb", PARSERS)
def test_the_help_has_usage_sentence_examples_and_options_in_this_order(
    verb: str, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = outweigh(*verb.split(), "--help").out

    places = [text.index(part) for part in (f"usage: outweigh {verb}", "\nExamples:\n", "\nOutput:\n", "--help")]
    assert places == sorted(places)
    assert all(f"\n  {example}\n" in text for example in PARSERS[verb].examples)
    assert "positional arguments" not in text


def options(verb: str) -> list[argparse.Action]:
    return [action for group in PARSERS[verb].groups() for action in group._group_actions]


@pytest.mark.parametrize("verb", PARSERS)
def test_every_option_is_explained_and_states_a_default_that_it_has(verb: str) -> None:
    for action in options(verb):
        assert action.help, action.dest
        if action.default not in (None, False, [], argparse.SUPPRESS):
            assert "default: " in action.help, action.dest


@pytest.mark.parametrize("verb", PARSERS)
def test_a_group_is_small_enough_to_read(verb: str) -> None:
    sizes = {str(group.title): len(group._group_actions) for group in PARSERS[verb].groups()}

    assert all(size <= 10 for size in sizes.values()), sizes


def test_the_usage_says_what_must_be_given(outweigh: Outweigh) -> None:
    assert outweigh("verdict", "--help").out.startswith("usage: outweigh verdict [RUNS …] [options]\n")
    assert outweigh("import", "--help").out.startswith("usage: outweigh import [FORMAT] PATH … -o RUNS [options]\n")


@pytest.mark.parametrize(
    ("unknown", "near"), [("--basline", "--baseline"), ("--formt=json", "--format"), ("--quit", "--quiet")]
)
def test_an_unknown_option_names_the_nearest(outweigh: Outweigh, unknown: str, near: str) -> None:
    answer = outweigh("verdict", "runs.jsonl", unknown)

    assert answer.code == 2
    option = unknown.partition("=")[0]
    said = f"there is no option {option!r}. Did you mean {near!r}? `outweigh verdict --help` shows the options."
    assert answer.err == f"outweigh: {said}\n"


def test_an_option_like_no_other_names_none(outweigh: Outweigh) -> None:
    answer = outweigh("verdict", "runs.jsonl", "--xyzzy")

    assert answer.code == 2
    assert answer.err == "outweigh: there is no option '--xyzzy'. `outweigh verdict --help` shows the options.\n"


def test_an_argument_too_many_is_named(outweigh: Outweigh) -> None:
    answer = outweigh("store", "scan", "one", "two")

    assert answer.err == "outweigh: unexpected argument 'two'. `outweigh store scan --help` shows the options.\n"
