"""A command enters its control groups before it does anything, and runs as if it had been started directly."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from outweigh.sandbox.cgroups import enter_cgroups


def run(entrances: Sequence[Path], *command: str) -> "subprocess.CompletedProcess[str]":
    prefixed = enter_cgroups([str(path) for path in entrances], command)
    return subprocess.run(prefixed, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("count", [1, 2])
def test_a_shell_command_runs_in_the_process_that_entered(tmp_path: Path, count: int) -> None:
    entrances = [tmp_path / f"entrance {number}" for number in range(count)]

    done = run(entrances, "sh", "-c", 'echo "$$ $# $0"')

    process = done.stdout.split()[0]
    assert done.stdout == f"{process} 0 sh\n"
    assert [path.read_text() for path in entrances] == [f"{process}\n"] * count


def test_arguments_reach_a_program_unchanged(tmp_path: Path) -> None:
    arguments = ["", "a b", "--", "'\"$x`\n", "-c"]

    done = run([tmp_path / "entrance"], "printf", "%s|", *arguments)

    assert done.stdout == "".join(f"{argument}|" for argument in arguments)


def test_a_shell_command_with_arguments_keeps_them(tmp_path: Path) -> None:
    assert run([tmp_path / "entrance"], "sh", "-c", 'echo "$0 $1"', "zero", "one").stdout == "zero one\n"


@pytest.mark.parametrize(("line", "code"), [("exit 7", 7), ("no-such-program", 127), ("if", 2), ("", 0)])
def test_a_shell_command_keeps_its_exit_code(tmp_path: Path, line: str, code: int) -> None:
    assert run([tmp_path / "entrance"], "sh", "-c", line).returncode == code


def test_a_missing_program_exits_with_127(tmp_path: Path) -> None:
    assert run([tmp_path / "entrance"], "no-such-program").returncode == 127


def test_a_group_that_cannot_be_entered_is_skipped_silently(tmp_path: Path) -> None:
    done = run([tmp_path / "none" / "entrance"], "sh", "-c", "echo here")

    assert (done.stdout, done.stderr) == ("here\n", "")


def test_without_groups_the_command_is_unchanged() -> None:
    assert enter_cgroups([], ["true", "x"]) == ["true", "x"]
