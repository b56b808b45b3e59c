"""`outweigh dev man`: a page that roff sets without a warning, made of the same text as the help."""

import re
import shutil
import subprocess
from importlib import import_module

import pytest
from tests.conftest import Outweigh
from tests.prerequisites import require

from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.verbs import GROUPS, walk_verbs

CALLABLE = [(words, verb) for words, verb in walk_verbs() if verb.module]


@pytest.fixture
def page(outweigh: Outweigh) -> str:
    answer = outweigh("dev", "man")
    assert (answer.code, answer.err) == (0, "")
    return answer.out


def plain(page: str) -> str:
    """The text of the page without what sets it."""
    return re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-").replace("\\e", "\\")


def test_the_page_has_the_sections_of_a_manual_page_in_order(page: str) -> None:
    sections = re.findall(r"^\.SH (.*)$", page, re.MULTILINE)

    jobs = [job.upper() for job in GROUPS]
    assert sections == ["NAME", "SYNOPSIS", "DESCRIPTION", *jobs, "OPTIONS", "EXIT STATUS", "ENVIRONMENT"]
    assert page.startswith('.TH OUTWEIGH 1 "" "outweigh ')


@pytest.mark.parametrize(("words", "module"), [(words, verb.module) for words, verb in CALLABLE])
def test_every_verb_has_its_sentence_options_and_examples(page: str, words: tuple[str, ...], module: str) -> None:
    parser = import_module(module).build_parser()
    text = plain(page)
    part = text[text.index(f"\n.SS {' '.join(words)}\n") :].split("\n.SS ")[1].split("\n.SH ")[0]

    assert parser.description in part
    assert all(example in part for example in parser.examples)
    for action in parser._actions:
        if action.dest not in ("help", "quiet"):
            assert all(name in part for name in action.option_strings)


def test_every_exit_code_is_explained(page: str) -> None:
    part = page[page.index(".SH EXIT STATUS") :]

    assert re.findall(r"^\\fB(\d+)\\fR$", part, re.MULTILINE) == [str(int(code)) for code in ExitCode]


def test_no_line_of_text_is_taken_for_a_request(page: str) -> None:
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}

    assert requests <= {".TH", ".SH", ".SS", ".B", ".I", ".TP", ".PP", ".RS", ".RE", ".nf", ".fi"}


@pytest.mark.needs_manual
@pytest.mark.parametrize(
    "command",
    [
        ("groff", "-man", "-ww", "-Tutf8", "-K", "utf8"),
        ("man", "--warnings", "--local-file", "-"),
        (
            "mandoc",
            "-T",
            "lint",
            "-W",
            "error",
        ),  # it warns that the page has no date, which would change with every build
    ],
    ids=lambda command: command[0],
)
def test_it_is_set_without_a_warning(page: str, command: tuple[str, ...]) -> None:
    require("manual", None if shutil.which(command[0]) else f"{command[0]} is not installed")

    done = subprocess.run(command, input=page.encode(), capture_output=True, check=False)

    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert command[0] == "mandoc" or "OUTWEIGH(1)" in done.stdout.decode()
