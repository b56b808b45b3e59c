"""The program `confine`, by which a check starts the code under test: it enters a Landlock domain of its own and then
executes its arguments. From inside the domain a program can neither signal nor trace processes outside of it, such as
the shell or the script that checks its result, nor use their open files; whatever it starts is in the domain, too.

It must run in any image, without an interpreter or a library, so it is a static program of a few system calls, and
its machine code is put together here. Where Landlock refuses, it says so and executes nothing.
"""

import ctypes
import platform
import struct
from collections.abc import Sequence
from functools import cache

from outweigh.sandbox.seccomp import FilterArchitecture, machine_architecture

# From this version on, a domain can keep signals inside (Linux 6.12).
NEEDED_LANDLOCK_VERSION = 6
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same on every architecture
_ASK_VERSION = 1
_SET_NO_NEW_PRIVILEGES = 38
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 1 | 2
# No file and no port is restricted, only the scope.
_RULESET = struct.pack("<QQQ", 0, 0, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
_MESSAGE = b"confine: this kernel cannot confine programs\n"
# A shell looks the program up in PATH, and exits with 127 where there is none.
_SHELL = (b"/bin/sh\0", b"-c\0", b'[ $# -gt 0 ] && exec "$@"\0', b"sh\0")
_STANDARD_ERROR, _EXIT_CODE = 2, 126
_BASE, _HEADER_BYTES = 0x400000, 64 + 56


def landlock_missing() -> str | None:
    """Why programs cannot be confined on this machine; None when they can."""
    if platform.system() != "Linux":
        return "programs are confined by Landlock, which only Linux has"
    architecture = machine_architecture()
    if architecture is None:
        return "no program that confines others is known for this processor"
    version = landlock_version()
    if version >= NEEDED_LANDLOCK_VERSION:
        return None
    found = f"version {version} of Landlock" if version else "no Landlock"
    return f"the kernel has {found}, and version {NEEDED_LANDLOCK_VERSION} is needed (Linux 6.12)"


@cache
def landlock_version() -> int:
    """The version of Landlock that this kernel offers; 0 for none."""
    system = ctypes.CDLL(None, use_errno=True)
    return max(0, int(system.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), _ASK_VERSION)))


def confine_program(architecture: FilterArchitecture) -> bytes:
    """The program as a file."""
    assembler = _X86Code() if architecture.name == "x86_64" else _ArmCode()
    # The addresses of data are known only when the length of the code is; the length does not depend on them.
    code = _code(assembler, 0)
    return _elf_header(assembler.machine, len(code)) + _code(assembler, _BASE + _HEADER_BYTES + len(code)) + _data()


def _data() -> bytes:
    return _RULESET + _MESSAGE + b"".join(_SHELL)


def _code(assembler: "_X86Code | _ArmCode", data: int) -> bytes:
    numbers = assembler.numbers
    failing = assembler.call(numbers["write"], _STANDARD_ERROR, data + len(_RULESET), len(_MESSAGE))
    failing += assembler.call(numbers["exit_group"], _EXIT_CODE)
    strings = data + len(_RULESET) + len(_MESSAGE)
    shell = [strings + sum(map(len, _SHELL[:place])) for place in range(len(_SHELL))]
    code = assembler.execute_shell(numbers["execve"], shell) + failing
    for step in reversed(
        (
            assembler.call(_CREATE_RULESET, data, len(_RULESET), 0),
            assembler.keep_result,
            assembler.call(numbers["prctl"], _SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
            assembler.call_with_kept(_RESTRICT_SELF, 0),
            assembler.call_with_kept(numbers["close"]),
        )
    ):
        checked = step if step == assembler.keep_result else step + assembler.skip_if_failed(len(code) - len(failing))
        code = checked + code
    return code


def _elf_header(machine: int, code_bytes: int) -> bytes:
    """A file that is loaded as it is, readable and executable, and started right after its headers."""
    size = _HEADER_BYTES + code_bytes + len(_data())
    entry = _BASE + _HEADER_BYTES
    identification = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9)
    header = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, entry, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return identification + header + segment


# Where the words of the shell go, from the top of the stack: the last one to where the program's name was.
_SHELL_OFFSETS = (-16, -8, 0, 8)


class _X86Code:
    """Machine code of x86_64. Arguments are below 2**32, so that 32-bit moves, which clear the upper half, will do."""

    machine = 62
    numbers = {"write": 1, "close": 3, "execve": 59, "prctl": 157, "exit_group": 231}  # noqa: RUF012 - a constant
    keep_result = bytes.fromhex("89c3")  # mov ebx, eax
    _SYSTEM_CALL = bytes.fromhex("0f05")
    # mov edi / esi / edx / r10d / r8d, followed by a number
    _MOVES = tuple(map(bytes.fromhex, ("bf", "be", "ba", "41ba", "41b8")))

    def call(self, number: int, *arguments: int) -> bytes:
        return self._moves(self._MOVES, arguments) + self._make_call(number)

    def call_with_kept(self, number: int, *arguments: int) -> bytes:
        """A call whose first argument is the result that was kept."""
        keep_to_first = bytes.fromhex("89df")  # mov edi, ebx
        return keep_to_first + self._moves(self._MOVES[1:], arguments) + self._make_call(number)

    def skip_if_failed(self, distance: int) -> bytes:
        return bytes.fromhex("4885c00f88") + struct.pack("<i", distance)  # test rax, rax; js

    def execute_shell(self, number: int, shell: Sequence[int]) -> bytes:
        """The stack holds the count of arguments, the program's name, the arguments, a zero, and the environment.

        The words of the shell are put in front of the arguments, over the count and the name.
        """
        environment = bytes.fromhex("488b1c24488d54dc10")  # mov rbx, [rsp]; lea rdx, [rsp + rbx * 8 + 16]
        stores = b"".join(
            b"\xb8" + struct.pack("<I", word) + bytes.fromhex("48894424") + struct.pack("<b", offset)
            for word, offset in zip(shell, _SHELL_OFFSETS, strict=True)  # mov eax, word; mov [rsp + offset], rax
        )
        arguments = bytes.fromhex("488d7424f0")  # lea rsi, [rsp - 16]
        program = self._moves(self._MOVES, shell[:1])
        return environment + stores + arguments + program + self._make_call(number)

    def _make_call(self, number: int) -> bytes:
        return b"\xb8" + struct.pack("<I", number) + self._SYSTEM_CALL  # mov eax, number

    @staticmethod
    def _moves(moves: Sequence[bytes], values: Sequence[int]) -> bytes:
        return b"".join(move + struct.pack("<I", value) for move, value in zip(moves, values, strict=False))


class _ArmCode:
    """Machine code of aarch64: instructions of four bytes."""

    machine = 183
    numbers = {"write": 64, "close": 57, "execve": 221, "prctl": 167, "exit_group": 94}  # noqa: RUF012 - a constant
    keep_result = struct.pack("<I", 0xAA0003F3)  # mov x19, x0
    _NUMBER_REGISTER = 8

    def call(self, number: int, *arguments: int) -> bytes:
        return self._moves(0, arguments) + self._make_call(number)

    def call_with_kept(self, number: int, *arguments: int) -> bytes:
        """A call whose first argument is the result that was kept."""
        keep_to_first = struct.pack("<I", 0xAA1303E0)  # mov x0, x19
        return keep_to_first + self._moves(1, arguments) + self._make_call(number)

    def skip_if_failed(self, distance: int) -> bytes:
        return struct.pack("<I", 0xB7F80000 | (distance // 4 + 1) << 5)  # tbnz x0, #63

    def execute_shell(self, number: int, shell: Sequence[int]) -> bytes:
        """As on x86_64: the words of the shell come in front of the arguments."""
        # ldr x9, [sp]; add x11, sp, #16; add x2, x11, x9, lsl #3
        environment = struct.pack("<3I", 0xF94003E9, 0x910043EB, 0x8B090D62)
        stores = b"".join(
            self._move(10, word) + struct.pack("<I", 0xF80003EA | (offset & 0x1FF) << 12)
            for word, offset in zip(shell, _SHELL_OFFSETS, strict=True)  # stur x10, [sp, #offset]
        )
        arguments = struct.pack("<I", 0xD10043E1)  # sub x1, sp, #16
        return environment + stores + arguments + self._move(0, shell[0]) + self._make_call(number)

    def _make_call(self, number: int) -> bytes:
        return self._move(self._NUMBER_REGISTER, number) + struct.pack("<I", 0xD4000001)  # svc #0

    def _moves(self, first: int, values: Sequence[int]) -> bytes:
        return b"".join(self._move(register, value) for register, value in enumerate(values, first))

    @staticmethod
    def _move(register: int, value: int) -> bytes:
        low, high = value & 0xFFFF, value >> 16
        return struct.pack("<II", 0xD2800000 | low << 5 | register, 0xF2A00000 | high << 5 | register)  # movz, movk
