"""Every attempt of a hostile agent to get out of a container fails."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import HOST_PYTHON, PATH, a_request, busybox_image, python_folders, working_engine

from outweigh.ports.sandboxes import CompletedCommand, Sandbox
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.testing.sandbox_fixtures import COMMAND_TIMEOUT_SECONDS

SECRET = f"secret-{token_hex(8)}"


@pytest.fixture(scope="module")
@needs("container")
def provider() -> ContainerSandboxProvider:
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    return provider


@pytest.fixture(scope="module")
def image(provider: ContainerSandboxProvider) -> Iterator[str]:
    with busybox_image(working_engine()) as name:
        yield name


@pytest.fixture(scope="module")
def sandbox(
    provider: ContainerSandboxProvider, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A sandbox with limits, opened by a process with a secret in its environment."""
    os.environ["OUTWEIGH_TEST_SECRET"] = SECRET
    request = a_request(tmp_path_factory.mktemp("sandbox"), image, memory_mb=64, processes=40)
    with provider.open(request) as sandbox:
        yield sandbox
    del os.environ["OUTWEIGH_TEST_SECRET"]


def attempt(sandbox: Sandbox, script: str) -> CompletedCommand:
    return sandbox.exec(["sh", "-c", script], environment=PATH, timeout_seconds=COMMAND_TIMEOUT_SECONDS)


def test_files_of_the_host_are_not_visible(sandbox: Sandbox, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.write_text(SECRET)
    done = attempt(sandbox, f"cat {hidden} {Path.home()}/.profile /etc/shadow /etc/machine-id; ls -A {Path.home()}")

    assert done.exit_code != 0
    assert done.stdout == b""


def test_a_search_of_everything_finds_no_secret(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "hidden").write_text(SECRET)
    pattern = f"[s]{SECRET[1:]}"  # so that the search does not find itself
    places = "/dev/shm /etc /home /run /tmp /var /ws /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
    done = attempt(sandbox, f"grep -rl '{pattern}' {places} 2> /dev/null")

    assert (done.exit_code, done.stdout) == (1, b"")


def test_names_of_the_host_are_not_visible(sandbox: Sandbox) -> None:
    assert attempt(sandbox, "cat /etc/hosts").stdout == b"127.0.0.1 localhost\n::1 localhost\n"
    assert attempt(sandbox, "hostname").stdout.strip().decode() != socket.gethostname()


def test_the_only_network_interface_is_the_loopback_of_the_container(sandbox: Sandbox) -> None:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = listener.getsockname()[1]
        done = attempt(sandbox, f"nc -w 1 127.0.0.1 {port} < /dev/null || nc -w 1 192.0.2.1 80 < /dev/null")
        listener.setblocking(False)

        assert done.exit_code != 0
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert attempt(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").stdout == b"lo\n"


def test_two_containers_do_not_see_each_other(
    provider: ContainerSandboxProvider, image: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    request = a_request(tmp_path, image)
    with provider.open(request) as other:
        other.write("answer", SECRET.encode())
        attempt(other, f"echo {SECRET} > /tmp/answer")
        done = attempt(sandbox, f"cat {tmp_path}/workspace/answer /tmp/answer; ls /ws/answer")

    assert done.stdout == b""


def test_there_are_no_capabilities_and_none_can_be_gained(sandbox: Sandbox) -> None:
    status = attempt(sandbox, "grep -E '^(Cap(Prm|Eff|Bnd)|NoNewPrivs)' /proc/self/status").stdout.split()

    assert status[1::2] == [b"0" * 16] * 3 + [b"1"]


def test_the_isolation_cannot_be_changed(sandbox: Sandbox) -> None:
    attempts = (
        "mount -t tmpfs none /tmp",
        "mknod /tmp/disk b 8 0",
        "touch /bin/planted",
        "echo 0 > /proc/sys/kernel/core_pattern",
        "echo 1 > /sys/fs/cgroup/memory/memory.limit_in_bytes",
        "touch /run/outweigh/planted",
        "chroot /ws /bin/sh",
    )
    codes = attempt(sandbox, "".join(f"({deed})\necho $?\n" for deed in attempts)).stdout.split()

    assert len(codes) == len(attempts)
    assert not {b"0", b"127"} & set(codes)


_BREAK_ISOLATION = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
NEWUSER, NEWNS, READ_ONLY, REMOUNT, BIND = 0x10000000, 0x20000, 1, 32, 4096
print("inner", libc.unshare(NEWUSER | NEWNS))
for target in (b"/", b"/run/outweigh", b"/proc/sys"):
    print("remount", libc.mount(None, target, None, REMOUNT | BIND, None))
    print("umount", libc.umount2(target, 0))
print("mknod", libc.mknod(b"/tmp/disk", 0o60600, os.makedev(8, 0)))
for path in ("/bin/planted", "/run/outweigh/planted", "/proc/sys/kernel/core_pattern"):
    try:
        open(path, "w")
        print("wrote", 0)
    except OSError:
        print("wrote", -1)
"""


def test_a_nested_namespace_does_not_break_the_isolation(
    provider: ContainerSandboxProvider, image: str, tmp_path: Path
) -> None:
    with provider.open(a_request(tmp_path, image, read_only=python_folders())) as sandbox:
        done = sandbox.exec(
            [HOST_PYTHON, "-Ic", _BREAK_ISOLATION], environment=PATH, timeout_seconds=COMMAND_TIMEOUT_SECONDS
        )

    tried = [line.split() for line in done.stdout.decode().splitlines()]
    assert len(tried) == 11
    assert {code for deed, code in tried if deed != "inner"} == {"-1"}


def test_a_container_cannot_be_ended_from_inside(sandbox: Sandbox) -> None:
    attempt(sandbox, "kill -9 1; kill -TERM 1; kill -STOP 1; kill -9 -1")

    assert attempt(sandbox, "echo still here").stdout == b"still here\n"


def test_tools_of_the_host_are_visible_but_read_only(
    provider: ContainerSandboxProvider, image: str, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool").write_text("as it was")
    with provider.open(a_request(tmp_path, image, read_only=(str(tools),))) as sandbox:
        done = attempt(sandbox, f"cat {tools}/tool; echo changed > {tools}/tool")

    assert (done.exit_code, done.stdout) == (1, b"as it was")
    assert (tools / "tool").read_text() == "as it was"


@pytest.mark.parametrize(
    "hog",
    [
        "head -c 200m /dev/zero | tail",
        "dd if=/dev/zero of=/dev/shm/x bs=1M count=60 && dd if=/dev/zero of=/tmp/x bs=1M count=60",
    ],
)
def test_exceeding_the_memory_limit_ends_the_command_and_not_the_container(sandbox: Sandbox, hog: str) -> None:
    hogged = attempt(sandbox, hog)

    assert hogged.exit_code != 0
    assert not Path("oom").exists()  # podman's monitor leaves one where it was started
    assert not Path("/oom").exists()
    assert attempt(sandbox, "rm -f /tmp/x /dev/shm/x; echo still here").stdout == b"still here\n"


def test_processes_beyond_the_limit_are_refused_and_the_next_command_can_start(sandbox: Sandbox) -> None:
    crowd = attempt(sandbox, "for i in $(seq 100); do sleep 80 & done; echo all")

    assert b"all" not in crowd.stdout
    assert b"fork" in crowd.stderr
    assert attempt(sandbox, "ps | grep -c '[s]leep 80'").stdout == b"0\n"


def test_every_folder_in_memory_is_bounded_by_the_disk_limit(
    provider: ContainerSandboxProvider, image: str, tmp_path: Path
) -> None:
    fill = "for folder in /tmp /var/tmp /run /dev/shm; do head -c 30m /dev/zero >$folder/x; stat -c %s $folder/x; done"
    with provider.open(a_request(tmp_path, image, disk_mb=10)) as sandbox:
        sizes = attempt(sandbox, fill).stdout.split()

    assert sizes == [b"10485760"] * 4
