import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.engines import until
from tests.prerequisites import require

from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.confined_files import ConfinedFiles, PathEscapeError
from outweigh.sandbox.leftover_processes import SANDBOX_MARK, kill_marked
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.sandbox_contract import SandboxContract
from outweigh.testing.sandbox_fixtures import a_sandbox_request, is_unchanging, run_shell


class TestLocal(SandboxContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self._path = tmp_path

    def provider(self) -> SandboxProvider:
        return LocalSandboxProvider()

    def is_isolated(self) -> bool:
        return False

    def folder(self) -> Path:
        return self._path


@pytest.mark.needs_bubblewrap
class TestBubblewrap(SandboxContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        self._path = tmp_path

    def provider(self) -> SandboxProvider:
        return BubblewrapSandboxProvider()

    def folder(self) -> Path:
        return self._path


@pytest.mark.parametrize(
    "provider",
    [LocalSandboxProvider(), pytest.param(BubblewrapSandboxProvider(), marks=pytest.mark.needs_bubblewrap)],
    ids=lambda provider: provider.name,
)
class TestEitherKind:
    @pytest.fixture(autouse=True)
    def _works(self, provider: SandboxProvider) -> None:
        if provider.name == "bubblewrap":
            require("bubblewrap", provider.missing())

    def test_an_image_is_refused_and_the_message_names_the_container_sandbox(
        self, provider: SandboxProvider, tmp_path: Path
    ) -> None:
        with (
            pytest.raises(SandboxError, match="container"),
            provider.open(replace(a_sandbox_request(tmp_path), image="debian:12")),
        ):
            pass

    @pytest.mark.needs_privileges
    def test_limits_of_memory_and_processes_are_enforced(self, provider: SandboxProvider, tmp_path: Path) -> None:
        require("privileges", BubblewrapSandboxProvider().limits_missing(64, 20))
        request = replace(a_sandbox_request(tmp_path), memory_mb=64, processes=20)

        with provider.open(request) as sandbox:
            greedy = run_shell(sandbox, "head -c 200m /dev/zero | tail -c 200m >/dev/null; echo survived")
            many = run_shell(sandbox, "for i in $(seq 40); do sleep 5 & done; echo all")

        assert b"Killed" in greedy.stderr or greedy.exit_code != 0
        assert b"all" not in many.stdout

    def test_sweeping_ends_everything_that_a_killed_engine_left_running(
        self, provider: SandboxProvider, tmp_path: Path
    ) -> None:
        engine = _engine_that_dies(type(provider).__name__, type(provider).__module__, tmp_path)
        beat = tmp_path / "workspace" / "beat"
        until(beat.exists)
        engine.kill()
        engine.wait()

        provider.sweep("orphan:")

        assert is_unchanging(beat)
        assert provider.sweep("orphan:") == []


def _engine_that_dies(name: str, module: str, folder: Path) -> "subprocess.Popen[bytes]":
    script = (
        f"import sys\nfrom pathlib import Path\nfrom {module} import {name}\n"
        "from outweigh.testing.sandbox_fixtures import DAEMON_SCRIPT, a_sandbox_request, run_shell\n"
        f"with {name}().open(a_sandbox_request(Path(sys.argv[1]), 'orphan:1')) as sandbox:\n"
        "    run_shell(sandbox, DAEMON_SCRIPT + ' sleep 60', 60)\n"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", script, str(folder)], env=environment)


def test_processes_that_left_their_group_are_found_by_their_mark() -> None:
    mark = f"test/{os.getpid()}"
    started = subprocess.run(
        ["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"],
        env={"PATH": os.environ["PATH"], SANDBOX_MARK: mark},
        capture_output=True,
        check=True,
    )

    assert int(started.stdout) in kill_marked(mark.__eq__)
    assert kill_marked(mark.__eq__) == []


def test_sweeping_spares_the_sweeper_and_its_parents() -> None:
    script = (
        "import os, subprocess, sys\nfrom outweigh.sandbox.leftover_processes import kill_marked\n"
        "print(kill_marked('own'.__eq__))"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), SANDBOX_MARK: "own"}

    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (0, b"[]\n")


class TestConfinedPaths:
    def test_a_link_that_stays_inside_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "file").write_bytes(b"content")
        (tmp_path / "relative").symlink_to("real")
        (tmp_path / "real" / "back").symlink_to("../relative/file")
        (tmp_path / "absolute").symlink_to("/ws/real/file")
        confined = ConfinedFiles(tmp_path, "/ws")

        assert {confined.read(path, 10) for path in ("relative/file", "real/back", "absolute")} == {b"content"}

    @pytest.mark.parametrize("target", ["/etc/hostname", "../x", "/ws/../etc/hostname", "sub/../../x", "/wsx/file"])
    def test_a_link_that_leads_outside_is_a_permission_error(self, tmp_path: Path, target: str) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "link").symlink_to(target)

        with pytest.raises(PathEscapeError) as refusal:
            ConfinedFiles(tmp_path, "/ws").read("link", 10)
        assert isinstance(refusal.value, PermissionError)

    @pytest.mark.parametrize("path", ["", ".", "/", "..", "a/../b", "nul\0"])
    def test_a_path_must_name_something_below(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(PathEscapeError):
            ConfinedFiles(tmp_path, "/ws").read(path, 10)

    def test_a_link_to_the_workspace_itself_is_not_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "self").symlink_to("/ws")

        assert ConfinedFiles(tmp_path, "/ws").read("self", 10) is None

    def test_a_folder_in_the_way_of_a_file_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "taken").mkdir()

        with pytest.raises(SandboxError, match="taken"):
            ConfinedFiles(tmp_path, "/ws").write("taken", b"", executable=False)
        assert [path.name for path in tmp_path.iterdir()] == ["taken"]

    def test_no_descriptor_is_left_open(self, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "out").symlink_to("/etc")
        before = len(list(Path("/proc/self/fd").iterdir()))

        for path in ("deep", "deep/out", "deep/absent/x"):
            try:
                ConfinedFiles(tmp_path, "/ws").read(path, 10)
            except PathEscapeError:
                continue

        assert len(list(Path("/proc/self/fd").iterdir())) == before
