"""What a sandbox starts has a session keyring of its own, without the caller's keys."""

import ctypes
import platform
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest
from tests.prerequisites import require

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.session_keyring import run_with_new_keyring
from outweigh.testing.sandbox_fixtures import a_sandbox_request

_NUMBERS = {"x86_64": (248, 250), "aarch64": (217, 219)}
pytestmark = pytest.mark.skipif(platform.machine() not in _NUMBERS, reason="the calls have other numbers here")
_READ_KEY = """
import ctypes, sys
libc, number = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
content = ctypes.create_string_buffer(40)
SEARCH, READ, SESSION = 10, 11, -3
key = libc.syscall(number, SEARCH, SESSION, b"user", sys.argv[2].encode(), 0)
length = libc.syscall(number, READ, key, content, 40, 0) if key > 0 else -1
print(content.raw[:length].decode() if length > 0 else "no such key")
"""


@pytest.fixture
def key() -> str:
    """A key in the session keyring of this process."""
    libc, name = ctypes.CDLL(None, use_errno=True), "outweigh-test-key"
    added = libc.syscall(_NUMBERS[platform.machine()][0], b"user", name.encode(), b"secret", 6, -3)
    if added < 0:
        pytest.skip("this process may not keep keys")
    return name


def _read_key(name: str) -> str:
    arguments = [sys.executable, "-c", _READ_KEY, str(_NUMBERS[platform.machine()][1]), name]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()


def test_a_key_of_the_session_is_out_of_reach(key: str) -> None:
    assert _read_key(key) == "secret"
    assert run_with_new_keyring(lambda: _read_key(key), Event().set) == "no such key"


def test_the_caller_keeps_its_own_keyring(key: str) -> None:
    run_with_new_keyring(lambda: None, Event().set)

    assert _read_key(key) == "secret"


def test_an_error_of_the_work_reaches_the_caller_and_interrupts_nothing() -> None:
    interrupted = Event()

    def fail() -> None:
        raise ValueError("as it is")

    with pytest.raises(ValueError, match="as it is"):
        run_with_new_keyring(fail, interrupted.set)
    assert not interrupted.is_set()


@pytest.mark.needs_bubblewrap
def test_a_bubblewrap_sandbox_is_started_with_a_new_keyring(key: str, tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    seen: list[str] = []
    with BubblewrapSandboxProvider().open(a_sandbox_request(tmp_path)) as sandbox:
        # Output is passed on by the thread that started the sandbox, and its keyring is the one that was inherited.
        sandbox.exec(
            ["echo", "hello"], environment={}, timeout_seconds=60.0, on_output=lambda _: seen.append(_read_key(key))
        )

    assert seen == ["no such key"]
