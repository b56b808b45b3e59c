"""`outweigh dev completion`: what bash, zsh and fish offer after a TAB, asked of the shells themselves."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.conftest import Outweigh
from tests.prerequisites import require

from outweigh.cli.dev_completion import SHELLS
from outweigh.cli.verbs import ROOT, walk_verbs

CASES = [
    ("outweigh ver", {"verdict"}),
    ("outweigh store ", set(ROOT.below["store"].below)),
    ("outweigh ci com", {"comment"}),
    ("outweigh dev man", {"man"}),
    ("outweigh verdict --base", {"--baseline"}),
    ("outweigh ci --req", {"--require"}),
    ("outweigh baseline pin --na", {"--name"}),
    ("outweigh verdict outweigh-runs --polic", {"--policy", "--policy-version"}),
    ("outweigh verdict --format ", {"text", "json", "markdown"}),
    ("outweigh dev completion ", set(SHELLS)),
    ("outweigh verdict repor", {"report.jsonl"}),
    ("outweigh run -c my", {"my-suite"}),
    ("outweigh run --suite my", {"my-suite"}),
    ("outweigh store scan outw", {"outweigh-runs"}),
    ("outweigh verdict --baseline repor", set()),
]
"""A command line up to the cursor, and everything that completes it in a folder with three names."""

ASK_BASH = """
source ./completion
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$(complete -p outweigh | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my-suite").mkdir()
    (tmp_path / "outweigh-runs").mkdir()
    (tmp_path / "report.jsonl").touch()
    return tmp_path


def write_script(outweigh: Outweigh, folder: Path, shell: str) -> str:
    """Where the shell is, after the script for it is in the folder."""
    program = shutil.which(shell) or ""
    if shell != "bash":
        require("shells", None if program else f"{shell} is not installed")
    answer = outweigh("dev", "completion", shell)
    assert (answer.code, answer.err) == (0, "")
    (folder / "completion").write_text(answer.out)
    return program


def printed(folder: Path, *command: str) -> list[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_bash_completes(outweigh: Outweigh, folder: Path, line: str, expected: set[str]) -> None:
    bash = write_script(outweigh, folder, "bash")

    offered = printed(folder, bash, "--norc", "-c", ASK_BASH, "bash", *line.split(" "))

    assert {name for name in offered if name} == expected


@pytest.mark.needs_shells
@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_fish_completes(outweigh: Outweigh, folder: Path, line: str, expected: set[str]) -> None:
    fish = write_script(outweigh, folder, "fish")

    offered = printed(folder, fish, "--no-config", "-c", f"source ./completion; complete -C '{line}'")

    assert {name.partition("\t")[0].removesuffix("/") for name in offered} == expected


@pytest.mark.needs_shells
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_has_the_syntax_of_its_shell(outweigh: Outweigh, folder: Path, shell: str) -> None:
    program = write_script(outweigh, folder, shell)

    assert printed(folder, program, "-n", "completion") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_has_every_verb_and_what_it_does(outweigh: Outweigh, shell: str) -> None:
    script = outweigh("dev", "completion", shell).out

    for words, verb in walk_verbs():
        if verb.module:
            assert words[-1] in script
            assert shell == "bash" or verb.summary.replace("`", "") in script.replace("\\", "").replace("`", "")


def test_another_shell_is_refused_with_those_that_there_are(outweigh: Outweigh) -> None:
    answer = outweigh("dev", "completion", "tcsh")

    assert answer.code == 2
    assert all(shell in answer.err for shell in SHELLS)
