"""Every attempt of an agent to get out of the bubblewrap sandbox fails.

No attempt would do harm if it succeeded: files that must not be writable are opened and never written to.
"""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.prerequisites import needs, require

from outweigh.ports.sandboxes import Mount, Sandbox, SandboxError
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import (
    DAEMON_SCRIPT,
    SHORT_TIMEOUT_SECONDS,
    WAIT_FOR_DAEMON,
    a_sandbox_request,
    is_unchanging,
    run_shell,
)

SECRET = "do-not-leak-4711"
_AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root owns what could be written here")


@pytest.fixture(autouse=True)
@needs("bubblewrap")
def _works() -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with BubblewrapSandboxProvider().open(a_sandbox_request(tmp_path / "own", "isolation:trial-of-arm-b")) as sandbox:
        yield sandbox


def _opens_for_writing(sandbox: Sandbox, path: str) -> bool:
    """Open a file for appending and close it without writing."""
    return run_shell(sandbox, f"(exec 3>>'{path}')").exit_code == 0


def test_a_secret_file_outside_cannot_be_read(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)

    done = run_shell(
        sandbox, f"cat {tmp_path}/secret; cat /proc/1/root{tmp_path}/secret; cat /proc/1/cwd{tmp_path}/secret"
    )

    assert done.exit_code != 0
    assert SECRET.encode() not in done.stdout


def test_home_and_data_folders_of_the_host_are_not_visible(sandbox: Sandbox) -> None:
    homes = {Path.home(), Path("/root"), Path("/var/lib"), Path("/srv"), Path("/opt"), Path("/sys")}

    assert [home for home in homes if run_shell(sandbox, f"ls {home}").exit_code == 0] == []
    assert run_shell(sandbox, "ls -A /home /home/agent /tmp /run /var/tmp").stdout.split() == [
        *(b"/home:", b"agent", b"/home/agent:", b"/run:", b"/tmp:", b"/var/tmp:")
    ]


def test_files_in_etc_that_only_root_may_read_are_covered(sandbox: Sandbox) -> None:
    done = run_shell(
        sandbox, "find /etc -type f ! -perm -o+r 2>/dev/null; cat /etc/shadow /etc/gshadow; ls /etc/ssl/private"
    )

    assert done.stdout == b""
    assert run_shell(sandbox, "cat /etc/passwd").stdout.startswith(b"root:")


def test_the_environment_of_the_engine_is_not_visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_SECRET", SECRET)
    with BubblewrapSandboxProvider().open(a_sandbox_request(tmp_path, "isolation:trial-of-arm-b")) as sandbox:
        seen = run_shell(sandbox, "env; cat /proc/*/environ /proc/*/task/*/environ /proc/*/cmdline", GIVEN="yes").stdout

    assert SECRET.encode() not in seen
    assert b"arm-b" not in seen
    assert str(tmp_path).encode() not in seen
    assert b"GIVEN=yes" in seen


def test_secrets_of_the_agent_appear_in_no_process_list(tmp_path: Path) -> None:
    request = a_sandbox_request(tmp_path)
    with BubblewrapSandboxProvider().open(request) as sandbox:
        thread = threading.Thread(target=run_shell, args=(sandbox, "touch started; sleep 20"), kwargs={"KEY": SECRET})
        thread.start()
        while not (request.workspace / "started").exists():
            thread.join(0.02)
        listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, check=True).stdout
        request.cancel.set()
        thread.join()

    assert SECRET.encode() not in listed


def test_another_sandbox_and_its_processes_are_not_visible(sandbox: Sandbox, tmp_path: Path) -> None:
    other = a_sandbox_request(tmp_path / "other")
    (other.workspace / "solution").write_text(SECRET)
    with BubblewrapSandboxProvider().open(other) as neighbour:
        thread = threading.Thread(target=run_shell, args=(neighbour, "touch started; sleep 20 # neighbour"))
        thread.start()
        while not (other.workspace / "started").exists():
            thread.join(0.02)
        seen = run_shell(sandbox, f"cat /proc/[0-9]*/cmdline; cat {other.workspace}/solution; ls {tmp_path}").stdout
        other.cancel.set()
        thread.join()

    assert b"neighbour" not in seen.replace(b"# neighbour;", b"")
    assert SECRET.encode() not in seen


def test_processes_of_the_host_are_not_listed_inside(sandbox: Sandbox) -> None:
    listed = run_shell(sandbox, "cd /proc; ls -d [0-9]* | wc -l").stdout

    assert int(listed) < 8


def test_a_process_of_the_host_cannot_be_killed(sandbox: Sandbox) -> None:
    with subprocess.Popen(["sleep", "60"]) as victim:
        done = run_shell(sandbox, f"kill -9 {victim.pid} && echo killed; kill -0 {os.getpid()} && echo seen")

        assert victim.poll() is None
        victim.kill()
    assert done.stdout == b""


def test_the_network_of_the_host_cannot_be_reached(sandbox: Sandbox) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"

        done = run_shell(sandbox, f'/usr/bin/python3 -c "{connect}" || exec bash -c ": </dev/tcp/127.0.0.1/{port}"')

    assert done.exit_code != 0
    assert b"efused" in done.stderr


def test_the_only_network_interface_is_the_loopback(sandbox: Sandbox) -> None:
    interfaces = run_shell(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1").stdout.split()

    assert interfaces == [b"lo"]


def test_abstract_sockets_of_the_host_are_not_visible(sandbox: Sandbox) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(f"\0outweigh-{os.getpid()}")
        server.listen()

        listed = run_shell(sandbox, "cat /proc/net/unix").stdout

    assert f"@outweigh-{os.getpid()}".encode() not in listed


@pytest.mark.parametrize("path", ["/usr/x", "/usr/bin/env", "/etc/x", "/etc/passwd", "/x", "/home/x", "/bin/sh"])
def test_the_system_cannot_be_written(sandbox: Sandbox, path: str) -> None:
    assert not _opens_for_writing(sandbox, path)
    assert run_shell(sandbox, f"mkdir -p {path}.d; chmod 777 {path}").exit_code != 0


@_AS_ROOT
def test_no_setting_of_the_kernel_can_be_written(sandbox: Sandbox) -> None:
    offered = "find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -print 2>/dev/null"
    opened = run_shell(sandbox, f"{offered} | while read -r file; do (exec 3>>$file) 2>/dev/null && echo $file; done")

    assert opened.stdout == b""
    for path in ("sys/kernel/core_pattern", "sys/kernel/hostname", "sysrq-trigger"):
        assert not _opens_for_writing(sandbox, f"/proc/{path}")


def test_there_are_no_capabilities_and_no_nested_namespaces(sandbox: Sandbox) -> None:
    held = run_shell(sandbox, "grep -E '^Cap(Eff|Prm|Bnd|Inh|Amb)' /proc/self/status | cut -f2").stdout.split()

    assert held == [b"0" * 16] * 5
    assert run_shell(sandbox, "unshare --user --map-root-user true").exit_code != 0
    assert run_shell(sandbox, "umount /proc/sys || mount -o remount,rw / || chroot / true").exit_code != 0


def test_only_harmless_devices_exist(sandbox: Sandbox) -> None:
    devices = run_shell(sandbox, "find /dev -type b -o -type c -not -path '/dev/pts/*'").stdout.split()

    assert {Path(device.decode()).name for device in devices} <= {"null", "zero", "full", "random", "urandom", "tty"}


def test_the_keys_of_the_host_are_not_listed(sandbox: Sandbox) -> None:
    assert run_shell(sandbox, "cat /proc/keys /proc/key-users").stdout == b""


def test_no_file_of_proc_can_be_written_not_even_by_its_own_process(sandbox: Sandbox) -> None:
    for name in ("mem", "oom_score_adj", "comm", "task/self/mem", "clear_refs"):
        assert not _opens_for_writing(sandbox, f"/proc/self/{name}")
    assert run_shell(sandbox, "echo seen >/dev/stdout; echo seen >/proc/self/fd/1").stdout == b"seen\nseen\n"


def test_every_folder_in_memory_is_bounded_by_the_disk_limit(tmp_path: Path) -> None:
    request = replace(a_sandbox_request(tmp_path), disk_mb=10)
    fill = "head -c 30m /dev/zero >{folder}/big; stat -c %s {folder}/big; rm -f {folder}/big"
    with BubblewrapSandboxProvider().open(request) as sandbox:
        for folder in ("/tmp", "/var/tmp", "/run", "/dev/shm"):
            assert run_shell(sandbox, fill.format(folder=folder)).stdout == b"10485760\n", folder


def test_nothing_is_writable_but_workspace_home_and_bounded_folders(sandbox: Sandbox) -> None:
    folders = run_shell(
        sandbox, r"find / \( -path '/proc/[0-9]*' -o -path /dev/pts \) -prune -o -writable -type d -print 2>/dev/null"
    ).stdout

    assert {folder.decode() for folder in folders.split()} == {
        *("/ws", "/home/agent", "/tmp", "/var/tmp", "/run", "/dev/shm")
    }
    assert b"ead-only" in run_shell(sandbox, "touch /dev/file").stderr


def test_without_a_disk_limit_folders_in_memory_hold_a_gibibyte_each(sandbox: Sandbox) -> None:
    sizes = run_shell(sandbox, "df -k --output=size /tmp /var/tmp /run /dev/shm | tail -n +2").stdout.split()

    assert sizes == [b"1048576"] * 4


def test_the_mount_of_a_read_only_folder_tells_no_path_of_the_host(tmp_path: Path) -> None:
    request = a_sandbox_request(tmp_path / "own")
    (tmp_path / "secret-place").mkdir()
    mount = Mount(source=tmp_path / "secret-place", target="/tests", writable=False)
    with BubblewrapSandboxProvider().open(replace(request, mounts=(mount,))) as sandbox:
        mounts = run_shell(sandbox, "cat /proc/self/mountinfo /proc/self/mounts /proc/mounts").stdout

    assert b" /tests ro," in mounts
    assert b"secret-place" not in mounts


def test_a_daemon_dies_with_the_command_that_started_it(sandbox: Sandbox) -> None:
    run_shell(sandbox, f"env -i PATH=$PATH {DAEMON_SCRIPT} {WAIT_FOR_DAEMON}")

    assert (sandbox.host_workspace / "beat").stat().st_size > 0
    assert is_unchanging(sandbox.host_workspace / "beat")


def test_a_daemon_that_closes_everything_dies_at_a_timeout(sandbox: Sandbox) -> None:
    script = f"({DAEMON_SCRIPT}) & exec >&- 2>&-; trap '' TERM HUP INT; while :; do sleep 0.1; done"
    run_shell(sandbox, script, SHORT_TIMEOUT_SECONDS)

    assert is_unchanging(sandbox.host_workspace / "beat")


@pytest.fixture
def tools() -> Iterator[Path]:
    """A folder that may be mounted into a sandbox; the usual temporary folder may be below /dev, which may not."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_a_tool_chain_is_mounted_at_its_own_path_and_read_only(tmp_path: Path, tools: Path) -> None:
    (tools / "compiler").write_text("#!/bin/sh\necho compiled\n")
    (tools / "compiler").chmod(0o755)
    request = replace(a_sandbox_request(tmp_path / "own"), read_only=(str(tools),))
    with BubblewrapSandboxProvider().open(request) as sandbox:
        assert run_shell(sandbox, f"{tools}/compiler").stdout == b"compiled\n"
        assert not _opens_for_writing(sandbox, f"{tools}/compiler")


@pytest.mark.parametrize(
    ("named", "reason"),
    [("/no/such/folder", "exists"), ("relative", "absolute"), ("/", "workspaces"), ("/proc/sys", "outside")],
)
def test_a_tool_chain_that_would_break_the_isolation_is_refused(tmp_path: Path, named: str, reason: str) -> None:
    with (
        BubblewrapSandboxProvider().open(replace(a_sandbox_request(tmp_path), read_only=(named,))) as sandbox,
        pytest.raises(SandboxError, match=reason),
    ):
        run_shell(sandbox, "true")


def test_a_sandbox_that_cannot_be_built_is_an_error_of_the_sandbox_and_not_of_the_command(tmp_path: Path) -> None:
    request = a_sandbox_request(tmp_path)
    request.workspace.rmdir()

    with BubblewrapSandboxProvider().open(request) as sandbox, pytest.raises(SandboxError, match="could not build"):
        run_shell(sandbox, "true")
