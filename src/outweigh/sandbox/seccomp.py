"""The filter of system calls, in the two forms that sandboxes take: a BPF program for `bwrap --seccomp`, and a JSON
profile for `--security-opt seccomp=` of podman and docker. Both are made from the table of denied calls.

A program for another architecture of the same processor (32-bit, or x32 on x86) has call numbers of its own. It is
ended, or its calls do not exist; otherwise it could make every call of the table by another number.
"""

import errno
import json
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from outweigh.sandbox.denied_calls import (
    DENIED_CALLS,
    SOCKET_FAMILIES,
    CallCondition,
    DeniedCall,
    namespace_flags,
)


@dataclass(frozen=True, slots=True)
class FilterArchitecture:
    """An architecture: its name in the table, in the kernel's audit numbers, and in profiles of containers."""

    name: str
    audit_number: int
    profile_name: str
    x32_bit: int | None


ARCHITECTURES = {
    "x86_64": FilterArchitecture("x86_64", 0xC000003E, "SCMP_ARCH_X86_64", 0x40000000),
    "aarch64": FilterArchitecture("aarch64", 0xC00000B7, "SCMP_ARCH_AARCH64", None),
}


def machine_architecture() -> FilterArchitecture | None:
    """The architecture of this machine; None where no filter is known for it."""
    machine = platform.machine()
    return ARCHITECTURES.get("aarch64" if machine == "arm64" else machine)  # as macOS says


# Offsets in the kernel's `struct seccomp_data`; both architectures are little-endian, and the low half of an argument
# comes first. The kernel itself looks at the low half of all arguments that are compared here.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _JUMP_IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_INSTRUCTION = struct.Struct("<HBBI")
_NEXT = ""


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One instruction; jumps name labels, and the empty label is the next instruction."""

    code: int
    value: int
    if_true: str = _NEXT
    if_false: str = _NEXT
    label: str = _NEXT


def filter_program(architecture: FilterArchitecture) -> bytes:
    """The BPF program as the kernel takes it."""
    instructions = list(_instructions(architecture))
    places = {instruction.label: place for place, instruction in enumerate(instructions) if instruction.label}

    def distance(place: int, label: str) -> int:
        return places[label] - place - 1 if label else 0

    return b"".join(
        _INSTRUCTION.pack(
            instruction.code,
            distance(place, instruction.if_true),  # a distance of more than 255 cannot be packed
            distance(place, instruction.if_false),
            instruction.value,
        )
        for place, instruction in enumerate(instructions)
    )


def _instructions(architecture: FilterArchitecture) -> Iterator[_Instruction]:
    yield _Instruction(_LOAD, _ARCHITECTURE)
    yield _Instruction(_JUMP_IF_EQUAL, architecture.audit_number, if_false="kill")
    yield _Instruction(_LOAD, _NUMBER)
    if architecture.x32_bit is not None:
        yield _Instruction(_JUMP_IF_AT_LEAST, architecture.x32_bit, if_true=_error_label(errno.ENOSYS))
    calls = [(call, number) for call in DENIED_CALLS if (number := _number(call, architecture)) is not None]
    for call, number in calls:
        always = call.condition is CallCondition.ALWAYS
        yield _Instruction(_JUMP_IF_EQUAL, number, if_true=_error_label(call.error) if always else call.name)
    yield _Instruction(_RETURN, _ALLOW)
    for call, _ in calls:
        if call.condition is not CallCondition.ALWAYS:
            yield from _argument_instructions(call)
    for error in sorted({errno.ENOSYS, *(call.error for call in DENIED_CALLS)}):
        yield _Instruction(_RETURN, _ERROR | error, label=_error_label(error))
    yield _Instruction(_RETURN, _ALLOW, label="allow")
    yield _Instruction(_RETURN, _KILL, label="kill")


def _argument_instructions(call: DeniedCall) -> Iterator[_Instruction]:
    refuse = _error_label(call.error)
    yield _Instruction(_LOAD, _FIRST_ARGUMENT, label=call.name)
    if call.condition is CallCondition.NEW_NAMESPACE:
        yield _Instruction(_JUMP_IF_ANY_BIT, sum(namespace_flags(call.name)), if_true=refuse, if_false="allow")
    elif call.condition is CallCondition.OTHER_PROCESS:
        yield _Instruction(_JUMP_IF_EQUAL, 0, if_true="allow", if_false=refuse)
    else:
        *families, last = SOCKET_FAMILIES
        for family in families:
            yield _Instruction(_JUMP_IF_EQUAL, family, if_true="allow")
        yield _Instruction(_JUMP_IF_EQUAL, last, if_true="allow", if_false=refuse)


def _error_label(error: int) -> str:
    return f"error {error}"


def _number(call: DeniedCall, architecture: FilterArchitecture) -> int | None:
    return call.x86_64 if architecture.name == "x86_64" else call.aarch64


# libseccomp, which the engines use, does not know these calls before version 2.6; the engines then leave them out.
UNFILTERED_IN_CONTAINERS = ("statmount", "listmount", "open_tree_attr")


def container_profile(architecture: FilterArchitecture) -> bytes:
    """The profile in the form of the container engines, which refuses the same calls with the same errors."""
    rules = [
        {"names": [call.name], "action": "SCMP_ACT_ERRNO", "errnoRet": call.error, "args": arguments}
        for call in DENIED_CALLS
        if _number(call, architecture) is not None
        for arguments in _argument_rules(call)
    ]
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [architecture.profile_name], "syscalls": rules}
    return json.dumps(profile, indent=1).encode()


def _argument_rules(call: DeniedCall) -> list[list[dict[str, int | str]]]:
    """The conditions under which a call is refused. Each is a rule of its own: two conditions on one argument, or a
    list of accepted values, is more than the engines' format can say.
    """
    match call.condition:
        case CallCondition.ALWAYS:
            return [[]]
        case CallCondition.NEW_NAMESPACE:
            return [[_compare("SCMP_CMP_MASKED_EQ", flag, flag)] for flag in namespace_flags(call.name)]
        case CallCondition.OTHER_PROCESS:
            return [[_compare("SCMP_CMP_NE", 0)]]
        case CallCondition.OTHER_FAMILY:
            others = set(range(max(SOCKET_FAMILIES))) - set(SOCKET_FAMILIES)
            exact = [[_compare("SCMP_CMP_EQ", family)] for family in sorted(others)]
            return [*exact, [_compare("SCMP_CMP_GT", max(SOCKET_FAMILIES))]]


def _compare(operation: str, value: int, second_value: int = 0) -> dict[str, int | str]:
    return {"index": 0, "value": value, "valueTwo": second_value, "op": operation}
