"""`confine` executes its arguments in a Landlock domain: what runs there cannot reach the process that started it."""

import os
import platform
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.prerequisites import require
from tests.sandbox.forgeries import FORGERIES, forge
from tests.sandbox.unprivileged import as_nobody

from outweigh.ports.sandboxes import Sandbox
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.confine_program import confine_program, landlock_missing, landlock_version
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.sandbox.seccomp import ARCHITECTURES
from outweigh.testing.sandbox_fixtures import a_sandbox_request, run_shell

needs_landlock = pytest.mark.skipif(landlock_missing() is not None, reason="this kernel cannot confine programs")
HONEST_FAILURE = 7
_OF_PARENT = [name for name in FORGERIES if "process 1" not in name]


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "confine"
    path.write_bytes(confine_program(ARCHITECTURES[platform.machine()]))
    path.chmod(0o755)
    return str(path)


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True)  # noqa: PLW1510


@needs_landlock
class TestOnThisMachine:
    def test_arguments_environment_and_exit_code_pass_through(self, program: str) -> None:
        script = 'printf "%s|" "$@" "$GIVEN"; exit 5'
        done = run(program, "sh", "-c", script, "zero", "", "a b", "$x", "--", GIVEN="yes")

        assert (done.stdout, done.returncode) == ("|a b|$x|--|yes|", 5)

    def test_a_missing_program_exits_with_127_and_no_program_is_a_failure(self, program: str) -> None:
        assert run(program, "no-such-program").returncode == 127
        assert run(program).returncode == 1

    @pytest.mark.parametrize("name", _OF_PARENT)
    def test_a_forgery_fails_even_where_nothing_else_is_isolated(self, program: str, tmp_path: Path, name: str) -> None:
        with LocalSandboxProvider().open(a_sandbox_request(tmp_path)) as sandbox:
            assert forge(sandbox, name, prefix=program).exit_code == HONEST_FAILURE

    @pytest.mark.parametrize("signal", ["TERM", "KILL", "STOP"])
    def test_no_signal_leaves_the_domain(self, program: str, signal: str) -> None:
        script = f"'{program}' sh -c 'kill -{signal} $PPID; setsid sh -c \"kill -{signal} $PPID\"'; echo alive"
        assert run("sh", "-c", script).stdout == "alive\n"

    def test_signals_within_the_domain_arrive(self, program: str) -> None:
        assert run(program, "sh", "-c", "sleep 60 & kill $!; wait $!; echo $?").stdout == "143\n"

    def test_open_files_of_the_caller_cannot_be_used(self, program: str, tmp_path: Path) -> None:
        (tmp_path / "verdict").write_text("failed\n")
        script = f"exec 9>>{tmp_path}/verdict; '{program}' sh -c 'exec 9>&-; echo passed >/proc/$PPID/fd/9'"
        done = run("sh", "-c", script)

        assert "denied" in done.stderr
        assert (tmp_path / "verdict").read_text() == "failed\n"

    def test_files_and_processes_of_its_own_are_not_restricted(self, program: str, tmp_path: Path) -> None:
        script = "mkdir -p a/b c && echo x >a/b/file && mv a/b c/d && cat c/d/file && echo $(sh -c 'echo y')"
        done = subprocess.run([program, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)

        assert done.stdout == "x\ny\n"


@needs_landlock
class TestInSandboxes:
    def test_a_daemon_of_the_code_under_test_cannot_kill_the_programs_of_the_check(self, sandbox: Sandbox) -> None:
        """Otherwise `if grep …` takes a killed `grep` for one that found nothing."""
        hunter = "while :; do for id in /proc/[0-9]*; do [ ${id#/proc/} = $$ ] || kill -9 ${id#/proc/}; done; done"
        sandbox.write("program", f"#!/bin/sh\n({hunter}) >/dev/null 2>&1 &\n".encode(), executable=True)
        script = f"{sandbox.confine} ./program; sleep 0.3; exit 7"

        assert run_shell(sandbox, script, PATH="/usr/bin:/bin").exit_code == HONEST_FAILURE

    def test_without_it_the_same_daemon_kills_them(self, sandbox: Sandbox) -> None:
        hunter = "while :; do for id in /proc/[0-9]*; do [ ${id#/proc/} = $$ ] || kill -9 ${id#/proc/}; done; done"
        sandbox.write("program", f"#!/bin/sh\n({hunter}) >/dev/null 2>&1 &\n".encode(), executable=True)

        assert run_shell(sandbox, "./program; sleep 3; exit 7", PATH="/usr/bin:/bin").exit_code != HONEST_FAILURE

    def test_the_program_cannot_be_replaced(self, sandbox: Sandbox) -> None:
        path = sandbox.confine
        assert path is not None
        folder = str(Path(path).parent)
        for attempt in (
            *(f"echo x >{path}", f"rm -f {path}", f"mv {path} /tmp/x", f"chmod 777 {path}", f"ln -sf /bin/true {path}"),
            *(f"mv {folder} /tmp/x", f"rmdir {folder}", f"touch {folder}/new"),
        ):
            assert run_shell(sandbox, attempt, PATH="/usr/bin:/bin").exit_code != 0, attempt


_CONFINED_FORGERIES = """
import sys
from pathlib import Path
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request, run_shell
from tests.sandbox.forgeries import FORGERIES, forge

with BubblewrapSandboxProvider().open(a_sandbox_request(Path(sys.argv[1]))) as sandbox:
    print(*(forge(sandbox, name, prefix=sandbox.confine).exit_code for name in FORGERIES))
    print(run_shell(sandbox, f"{sandbox.confine} sh -c 'kill $PPID'; echo alive").stdout.decode())
"""


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run unprivileged")
@pytest.mark.needs_bubblewrap
def test_it_needs_no_privileges(open_folder: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    done = as_nobody("-c", _CONFINED_FORGERIES, str(open_folder / "own"))

    assert done.stdout.split() == [*[str(HONEST_FAILURE)] * len(FORGERIES), "alive"], done.stderr


def test_what_is_missing_names_the_version_of_the_kernel() -> None:
    missing = landlock_missing()

    assert (missing is None) == (landlock_version() >= 6)
    assert missing is None or "6.12" in missing


class TestMachineCodeOfAArch64:
    """Run by an interpreter of the few instructions that it is made of."""

    def test_it_confines_itself_and_then_executes_a_shell(self) -> None:
        calls = list(interpret(lambda number: 33 if number == 444 else 0))

        assert [call[0] for call in calls] == [444, 167, 446, 57, 221]
        create, privileges, restrict, close, execute = calls
        assert memory_at(create[1], create[2]) == struct.pack("<QQQ", 0, 0, 3)
        assert create[3] == 0
        assert privileges[1:6] == (38, 1, 0, 0, 0)
        assert restrict[1:3] == (33, 0)
        assert close[1] == 33
        words = [string_at(STACK_WORDS[execute[2] + 8 * place]) for place in range(4)]
        assert words == ["/bin/sh", "-c", '[ $# -gt 0 ] && exec "$@"', "sh"]
        assert string_at(execute[1]) == "/bin/sh"
        # The arguments follow the words of the shell, and the environment follows the arguments.
        assert [STACK_WORDS[execute[2] + 8 * place] for place in (4, 5, 6)] == [1001, 1002, 0]
        assert STACK_WORDS[execute[3]] == 2001

    @pytest.mark.parametrize("refused", [444, 167, 446, 57])
    def test_it_executes_nothing_where_a_step_is_refused(self, refused: int) -> None:
        calls = list(interpret(lambda number: -38 if number == refused else 0))

        assert [call[0] for call in calls][-2:] == [64, 94]
        assert 221 not in [call[0] for call in calls]
        assert b"cannot confine" in memory_at(calls[-2][2], calls[-2][3])
        assert calls[-1][1] == 126


FILE = confine_program(ARCHITECTURES["aarch64"])
LOADED_AT, ENTRY, STACK = 0x400000, 0x400078, 0x7000
STACK_WORDS: dict[int, int] = {}


def memory_at(address: int, length: int) -> bytes:
    return FILE[address - LOADED_AT : address - LOADED_AT + length]


def string_at(address: int) -> str:
    return memory_at(address, 100).split(b"\0")[0].decode()


def interpret(answer: Callable[[int], int]) -> Iterator[tuple[int, ...]]:
    """The system calls that the program makes: number and six arguments."""
    # Three arguments (a name and two others), a zero, one variable and a zero.
    STACK_WORDS.clear()
    STACK_WORDS.update({STACK + 8 * place: word for place, word in enumerate((3, 1000, 1001, 1002, 0, 2001, 0))})
    registers = dict.fromkeys(range(31), 0) | {31: STACK}
    place = ENTRY
    while True:
        (word,) = struct.unpack("<I", memory_at(place, 4))
        first, second, target = word >> 16 & 31, word >> 5 & 31, word & 31
        place += 4
        if word == 0xD4000001:
            number = registers[8]
            yield number, *(registers[register] for register in range(6))
            if number == 94 or (number == 221 and answer(number) == 0):
                return
            registers[0] = answer(number)
        elif word & 0xFFE00000 in (0xD2800000, 0xD2A00000):  # movz
            registers[target] = (word >> 5 & 0xFFFF) << 16 * (word >> 21 & 3)
        elif word & 0xFFE00000 == 0xF2A00000:  # movk, second half
            registers[target] = registers[target] & ~0xFFFF0000 | (word >> 5 & 0xFFFF) << 16
        elif word & 0xFFE0FFE0 == 0xAA0003E0:  # mov
            registers[target] = registers[first]
        elif word & 0xFFF80000 == 0xB7F80000:  # tbnz #63
            place += 4 * (word >> 5 & 0x3FFF) - 4 if registers[target] < 0 else 0
        elif word & 0xFFC00000 == 0xF9400000:  # ldr
            registers[target] = STACK_WORDS[registers[second] + 8 * (word >> 10 & 0xFFF)]
        elif word & 0xFF000000 in (0x91000000, 0xD1000000):  # add and sub of a number
            amount = word >> 10 & 0xFFF
            registers[target] = registers[second] + (amount if word >> 24 == 0x91 else -amount)
        elif word & 0xFFE00000 == 0x8B000000:  # add, shifted
            registers[target] = registers[second] + (registers[first] << (word >> 10 & 63))
        elif word & 0xFFE00C00 == 0xF8000000:  # stur
            offset = word >> 12 & 0x1FF
            STACK_WORDS[registers[second] + offset - (512 if offset & 256 else 0)] = registers[target]
        else:
            raise AssertionError(f"an unexpected instruction: {word:08x}")
