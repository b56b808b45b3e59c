"""Every call of the table is really refused in both isolated sandboxes, and what programs need still works."""

import json
import platform

import pytest
from tests.sandbox.container_fixtures import HOST_PYTHON, PATH

from outweigh.ports.sandboxes import CompletedCommand, Sandbox
from outweigh.sandbox.denied_calls import DENIED_CALLS, CallCondition
from outweigh.sandbox.seccomp import UNFILTERED_IN_CONTAINERS, machine_architecture
from outweigh.testing.sandbox_fixtures import COMMAND_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(machine_architecture() is None, reason="no filter is known for this processor")
_BAD_ARGUMENT = {
    CallCondition.ALWAYS: 0,
    CallCondition.NEW_NAMESPACE: 0x10000000,
    CallCondition.OTHER_FAMILY: 40,
    CallCondition.OTHER_PROCESS: 1,
}
_TRY_CALLS = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for name, (number, argument) in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, (argument, 0, 0, 0, 0, 0)))
    if done == 0 and name in ("clone", "clone3"):
        os._exit(0)
    answers[name] = ctypes.get_errno() if done < 0 else 0
print(json.dumps(answers))
"""
_CALL_BY_32_BIT_NUMBER = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print("done")
"""


def run_python(sandbox: Sandbox, script: str, *arguments: str) -> CompletedCommand:
    inside = HOST_PYTHON if _is_container(sandbox) else "/usr/bin/python3"
    command = [inside, "-Ic", script, *arguments]
    return sandbox.exec(command, environment=PATH, timeout_seconds=COMMAND_TIMEOUT_SECONDS)


def test_every_call_of_the_table_is_refused_with_its_error(sandbox: Sandbox) -> None:
    calls = {
        call.name: (number, _BAD_ARGUMENT[call.condition])
        for call in DENIED_CALLS
        if (number := getattr(call, platform.machine())) is not None
    }
    done = run_python(sandbox, _TRY_CALLS, json.dumps(calls))

    expected = {call.name: call.error for call in DENIED_CALLS if call.name in calls}
    unknown = UNFILTERED_IN_CONTAINERS if _is_container(sandbox) else ()
    answers = json.loads(done.stdout)
    assert {name: answers[name] for name in answers if name not in unknown} == {
        name: error for name, error in expected.items() if name not in unknown
    }


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the call is written for this processor")
def test_a_program_that_calls_by_32_bit_numbers_is_ended(sandbox: Sandbox) -> None:
    done = run_python(sandbox, _CALL_BY_32_BIT_NUMBER)

    assert done.exit_code == 128 + 31  # SIGSYS
    assert done.stdout == b""


def test_threads_processes_sockets_and_limits_of_its_own_work(sandbox: Sandbox) -> None:
    script = """
import multiprocessing, resource, socket, subprocess, threading
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))
"""
    done = run_python(sandbox, script)

    assert done.stdout.splitlines() == [b"thread", b"child", b"[1, 2]", b"(0, 0)"], done.stderr


def test_no_other_family_of_sockets_can_be_opened(sandbox: Sandbox) -> None:
    script = """
import errno, socket
for family in range(46):
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        print(family)
    except OSError as fault:
        if fault.errno != errno.EAFNOSUPPORT: print(family, fault)
"""
    assert run_python(sandbox, script).stdout.split() == [b"1", b"2", b"10", b"16"]


def _is_container(sandbox: Sandbox) -> bool:
    return type(sandbox).__name__ == "ContainerSandbox"
