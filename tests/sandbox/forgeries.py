"""Programs that a check starts and that try to make the check pass by reaching into the process that decides.

Each is run by a shell line that fails afterwards, so an exit code of 0 is a forged result. All use only the standard
library of a system's Python.
"""

from outweigh.ports.sandboxes import CompletedCommand, Sandbox
from outweigh.testing.sandbox_fixtures import run_shell

_PREAMBLE = """
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
is_x86 = platform.machine() == "x86_64"
parent = os.getppid()
# exit_group(0)
code = bytes.fromhex("31ffb8e70000000f05" if is_x86 else "000080d2c80b80d2010000d4")

def call(number, *arguments):
    done = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done

def where():
    # The parent waits in a system call; the instruction after it is the last field.
    return int(open(f"/proc/{parent}/syscall").read().split()[-1], 16)
"""

FORGERIES = {
    "writing to /proc/PPID/mem": """
place = where()
memory = os.open(f"/proc/{parent}/mem", os.O_RDWR)
os.pwrite(memory, code, place)
""",
    "writing through /proc/PPID/task": """
place = where()
memory = os.open(f"/proc/{parent}/task/{parent}/mem", os.O_RDWR)
os.pwrite(memory, code, place)
""",
    "ptrace": """
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
place = where()
if libc.ptrace(16, parent, None, None) < 0:
    raise OSError(ctypes.get_errno(), "PTRACE_ATTACH")
os.waitpid(parent, 0x40000000)
for offset in range(0, len(code), 8):
    word = code[offset:offset + 8].ljust(8, b"\\x90")
    libc.ptrace(4, parent, place + offset, struct.unpack("<Q", word)[0])
libc.ptrace(17, parent, None, None)
""",
    "pidfd_getfd on the event descriptor of process 1": """
pidfd = call(434, 1, 0)
for number in range(3, 64):
    try:
        taken = call(438, pidfd, number, 0)
    except OSError:
        continue
    if "eventfd" in os.readlink(f"/proc/self/fd/{taken}"):
        os.write(taken, struct.pack("<Q", 1))
        import time; time.sleep(3)
""",
    "writing to the memory of process 1": """
parent = 1
place = where()
memory = os.open("/proc/1/mem", os.O_RDWR)
os.pwrite(memory, code, place)
""",
}


def forgery_script(name: str) -> str:
    """The program of a forgery."""
    return _PREAMBLE + FORGERIES[name]


def forge(sandbox: Sandbox, name: str, prefix: str = "", python: str = "/usr/bin/python3") -> CompletedCommand:
    """Run a shell line that starts the forgery and then fails; exit code 7 means that the forgery failed."""
    sandbox.write("forge.py", forgery_script(name).encode())
    return run_shell(sandbox, f"{prefix} {python} forge.py; sleep 0.2; exit 7", PATH="/bin:/usr/bin")
