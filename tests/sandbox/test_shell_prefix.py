"""A command is in its control group before it does anything, and does not notice that it was brought there."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from outweigh.sandbox.cgroups import enter_cgroups


def run(entrances: Sequence[Path], *command: str) -> "subprocess.CompletedProcess[str]":
    words = enter_cgroups([str(path) for path in entrances], command)
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("count", [1, 2])
def test_a_line_of_shell_is_the_process_that_entered(tmp_path: Path, count: int) -> None:
    entrances = [tmp_path / f"entrance {number}" for number in range(count)]

    done = run(entrances, "sh", "-c", 'echo "$$ $# $0"')

    process = done.stdout.split()[0]
    assert done.stdout == f"{process} 0 sh\n"
    assert [path.read_text() for path in entrances] == [f"{process}\n"] * count


def test_words_reach_a_program_as_they_are(tmp_path: Path) -> None:
    words = ["", "a b", "--", "'\"$x`\n", "-c"]

    done = run([tmp_path / "entrance"], "printf", "%s|", *words)

    assert done.stdout == "".join(f"{word}|" for word in words)


def test_a_shell_that_gets_words_of_its_own_keeps_them(tmp_path: Path) -> None:
    assert run([tmp_path / "entrance"], "sh", "-c", 'echo "$0 $1"', "zero", "one").stdout == "zero one\n"


@pytest.mark.parametrize(("line", "code"), [("exit 7", 7), ("no-such-program", 127), ("if", 2), ("", 0)])
def test_a_line_ends_as_it_would_have_ended(tmp_path: Path, line: str, code: int) -> None:
    assert run([tmp_path / "entrance"], "sh", "-c", line).returncode == code


def test_a_program_that_is_not_there_is_127(tmp_path: Path) -> None:
    assert run([tmp_path / "entrance"], "no-such-program").returncode == 127


def test_an_entrance_that_is_closed_is_passed_by_in_silence(tmp_path: Path) -> None:
    done = run([tmp_path / "none" / "entrance"], "sh", "-c", "echo here")

    assert (done.stdout, done.stderr) == ("here\n", "")


def test_without_an_entrance_the_command_stays_what_it_is() -> None:
    assert enter_cgroups([], ["true", "x"]) == ["true", "x"]
