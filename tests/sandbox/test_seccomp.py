"""The filter refuses every call of the table on both architectures and lets the others through.

The BPF program is run by a small interpreter that is written from the kernel's documentation of classic BPF, and the
profile of containers by another, so that both are compared with the table and with each other.
"""

import errno
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.sandbox.denied_calls import DENIED_CALLS, CallCondition, DeniedCall, denied_calls_table
from outweigh.sandbox.seccomp import (
    ARCHITECTURES,
    FilterArchitecture,
    container_profile,
    filter_program,
)

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
I386, ARM = 0x40000003, 0x40000028
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "sandboxes.md"
each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)


def run_filter(program: bytes, number: int, architecture: int, *arguments: int) -> int:
    """What the kernel would answer: classic BPF over `struct seccomp_data`."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *([0] * (6 - len(arguments))))
    instructions = list(struct.iter_unpack("<HBBI", program))
    place, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = instructions[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            assert value % 4 == 0
            (accumulator,) = struct.unpack_from("<I", data, value)
            continue
        tests: dict[int, Callable[[int, int], bool]] = {
            0x15: int.__eq__,
            0x35: int.__ge__,
            0x45: lambda left, right: bool(left & right),
        }
        place += if_true if tests[code](accumulator, value) else if_false


def number_on(call: DeniedCall, architecture: FilterArchitecture) -> int | None:
    number: int | None = getattr(call, architecture.name)
    return number


def known_calls(architecture: FilterArchitecture) -> Iterator[tuple[DeniedCall, int]]:
    for call in DENIED_CALLS:
        number = number_on(call, architecture)
        if number is not None:
            yield call, number


BAD_ARGUMENTS: Mapping[CallCondition, tuple[int, ...]] = {
    CallCondition.ALWAYS: (0, 1, 2**32 - 1),
    CallCondition.NEW_NAMESPACE: (
        *(0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000),
        *(0x10000000 | 17, 0x7E020000, 0x10020011),
    ),
    CallCondition.OTHER_FAMILY: (0, 3, 5, 9, 11, 15, 17, 31, 38, 40, 2**31, 2**32 - 1),
    CallCondition.OTHER_PROCESS: (1, 2, 4711, 2**32 - 1),
}
GOOD_ARGUMENTS: Mapping[CallCondition, tuple[int, ...]] = {
    CallCondition.ALWAYS: (),
    # What fork, vfork and a new thread of glibc ask for.
    CallCondition.NEW_NAMESPACE: (0, 17, 0x1200011, 0x4111, 0x3D0F00),
    CallCondition.OTHER_FAMILY: (1, 2, 10, 16),
    CallCondition.OTHER_PROCESS: (0,),
}


@each_architecture
def test_every_call_of_the_table_gets_its_error_and_no_more_than_it(architecture: FilterArchitecture) -> None:
    program = filter_program(architecture)
    for call, number in known_calls(architecture):
        for argument in BAD_ARGUMENTS[call.condition]:
            assert run_filter(program, number, architecture.audit_number, argument) == ERROR | call.error, call.name
        for argument in GOOD_ARGUMENTS[call.condition]:
            assert run_filter(program, number, architecture.audit_number, argument) == ALLOW, call.name


@each_architecture
def test_a_time_namespace_is_refused_to_unshare_and_its_bits_are_a_signal_in_clone(
    architecture: FilterArchitecture,
) -> None:
    program = filter_program(architecture)
    numbers = {call.name: number for call, number in known_calls(architecture)}

    assert run_filter(program, numbers["unshare"], architecture.audit_number, 0x80) == ERROR | errno.EPERM
    assert run_filter(program, numbers["clone"], architecture.audit_number, 0x80) == ALLOW


@each_architecture
@given(number=st.integers(0, 600), argument=st.integers(0, 2**64 - 1))
def test_a_call_that_is_not_in_the_table_is_allowed(
    architecture: FilterArchitecture, number: int, argument: int
) -> None:
    if number not in {denied for _, denied in known_calls(architecture)}:
        assert run_filter(filter_program(architecture), number, architecture.audit_number, argument) == ALLOW


@each_architecture
@given(number=st.integers(0, 600))
def test_a_call_of_another_architecture_ends_the_program(architecture: FilterArchitecture, number: int) -> None:
    others = {I386, ARM, *(other.audit_number for other in ARCHITECTURES.values())} - {architecture.audit_number}
    for other in others:
        assert run_filter(filter_program(architecture), number, other) == KILL


@given(number=st.integers(0, 600))
def test_calls_of_the_x32_interface_do_not_exist(number: int) -> None:
    architecture = ARCHITECTURES["x86_64"]
    answer = run_filter(filter_program(architecture), 0x40000000 + number, architecture.audit_number)

    assert answer == ERROR | errno.ENOSYS


@each_architecture
@given(argument=st.integers(0, 2**32 - 1))
def test_the_profile_of_containers_gives_the_same_answers_as_the_filter(
    architecture: FilterArchitecture, argument: int
) -> None:
    program, profile = filter_program(architecture), json.loads(container_profile(architecture))
    for call, number in known_calls(architecture):
        expected = run_filter(program, number, architecture.audit_number, argument)
        assert run_profile(profile, call.name, argument) == expected, call.name


def run_profile(profile: Mapping[str, Any], name: str, argument: int) -> int:
    """What an engine would answer: the first rule whose conditions all hold, else the default."""
    compare: dict[str, Callable[[int, int, int], bool]] = {
        "SCMP_CMP_EQ": lambda given, value, _: given == value,
        "SCMP_CMP_NE": lambda given, value, _: given != value,
        "SCMP_CMP_GT": lambda given, value, _: given > value,
        "SCMP_CMP_MASKED_EQ": lambda given, mask, value: given & mask == value,
    }
    for rule in profile["syscalls"]:
        assert rule["action"] == "SCMP_ACT_ERRNO"
        assert len(rule["args"]) <= 1  # engines read two conditions on one argument as alternatives
        holds = (compare[one["op"]](argument, one["value"], one["valueTwo"]) for one in rule["args"])
        if name in rule["names"] and all(holds):
            return ERROR | int(rule["errnoRet"])
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    return ALLOW


@each_architecture
def test_the_profile_names_one_architecture_so_that_others_are_refused(architecture: FilterArchitecture) -> None:
    assert json.loads(container_profile(architecture))["architectures"] == [architecture.profile_name]


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_are_those_of_the_kernel(name: str, header: str) -> None:
    if not Path(header).exists():
        pytest.skip("no kernel headers are installed")
    text = Path(header).read_text()
    kernel = {match[1]: int(match[2]) for match in re.finditer(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    for call in DENIED_CALLS:
        number = getattr(call, name)
        if call.name in kernel or number is None:  # headers may be older than the call
            assert kernel.get(call.name) == number, call.name


def test_calls_are_listed_once() -> None:
    for name in ARCHITECTURES:
        numbers = [getattr(call, name) for call in DENIED_CALLS if getattr(call, name) is not None]
        assert len(set(numbers)) == len(numbers)
    assert len({call.name for call in DENIED_CALLS}) == len(DENIED_CALLS)


def test_the_documentation_shows_the_table() -> None:
    assert denied_calls_table() in DOCUMENT.read_text()
