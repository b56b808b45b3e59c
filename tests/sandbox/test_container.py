import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import (
    PATH,
    a_request,
    busybox_archive,
    busybox_image,
    containers_of,
    working_engine,
)

from outweigh.errors import UsageError
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.testing.sandbox_contract import SandboxContract
from outweigh.testing.sandbox_fixtures import (
    COMMAND_TIMEOUT_SECONDS,
    DAEMON_SCRIPT,
    SHORT_TIMEOUT_SECONDS,
    WAIT_FOR_DAEMON,
    is_unchanging,
)


@pytest.fixture(scope="module")
@needs("container")
def provider() -> ContainerSandboxProvider:
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    return provider


@pytest.fixture(scope="module")
def engine(provider: ContainerSandboxProvider) -> ContainerEngine:
    return working_engine()


@pytest.fixture(scope="module")
def image(engine: ContainerEngine) -> Iterator[str]:
    with busybox_image(engine) as name:
        yield name


@pytest.fixture(scope="module")
def sandbox(
    provider: ContainerSandboxProvider, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    with provider.open(a_request(tmp_path_factory.mktemp("sandbox"), image)) as sandbox:
        yield sandbox


def shell(
    sandbox: Sandbox, script: str, *, seconds: float = COMMAND_TIMEOUT_SECONDS, **environment: str
) -> CompletedCommand:
    return sandbox.exec(["sh", "-c", script], environment={**PATH, **environment}, timeout_seconds=seconds)


class TestContainer(SandboxContract):
    @pytest.fixture(autouse=True)
    def _set_up(self, provider: ContainerSandboxProvider, image: str, tmp_path: Path) -> None:
        self.sandboxes, self.image, self.tmp_path = provider, image, tmp_path

    def provider(self) -> SandboxProvider:
        return self.sandboxes

    def folder(self) -> Path:
        return self.tmp_path

    def request(self) -> SandboxRequest:
        return replace(super().request(), image=self.image)


def test_a_command_gets_a_home_a_path_and_its_environment(sandbox: Sandbox) -> None:
    done = sandbox.exec(
        ["env"], environment={"QUOTED": "it's $HOME\nand more", **PATH}, timeout_seconds=COMMAND_TIMEOUT_SECONDS
    )

    assert done.stdout == b"HOME=/home/agent\nPATH=/bin\nQUOTED=it's $HOME\nand more\n"


def test_an_argument_with_a_nul_byte_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="NUL"):
        sandbox.exec(["echo", "a\0b"], environment=PATH, timeout_seconds=COMMAND_TIMEOUT_SECONDS)


def test_files_written_inside_belong_to_the_caller(sandbox: Sandbox) -> None:
    shell(sandbox, "mkdir made && echo 1 > made/file")

    assert (sandbox.host_workspace / "made" / "file").stat().st_uid == os.getuid()
    assert sandbox.read("made/file", 10) == b"1\n"


def test_a_secret_is_not_on_any_command_line_of_the_host(sandbox: Sandbox) -> None:
    script = "echo begun; while ! [ -e seen ]; do sleep 0.1; done"
    lines: list[bytes] = []

    def look(_: bytes) -> None:
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(process.read_bytes())
            except OSError:
                continue
        (sandbox.host_workspace / "seen").touch()

    done = sandbox.exec(
        ["sh", "-c", script],
        environment={**PATH, "TOKEN": "tell-nobody"},
        timeout_seconds=COMMAND_TIMEOUT_SECONDS,
        on_output=look,
    )

    assert done.exit_code == 0
    assert any(b"/run/outweigh/" in line for line in lines)
    assert not any(b"tell-nobody" in line for line in lines)


def test_a_timeout_kills_the_whole_tree_and_the_sandbox_stays_usable(sandbox: Sandbox) -> None:
    script = "trap '' TERM; setsid sleep 77 & (trap '' TERM; sleep 77) & echo begun; sleep 77"
    late = shell(sandbox, script, seconds=SHORT_TIMEOUT_SECONDS)

    assert (late.ending, late.exit_code, late.stdout) == (CommandEnding.TIMED_OUT, None, b"begun\n")
    assert b"sleep 77" not in shell(sandbox, "ps").stdout


def test_a_daemon_dies_with_the_command_that_started_it(sandbox: Sandbox) -> None:
    shell(sandbox, f"{DAEMON_SCRIPT} setsid sleep 78 & {WAIT_FOR_DAEMON}")

    assert (sandbox.host_workspace / "beat").stat().st_size > 0
    assert is_unchanging(sandbox.host_workspace / "beat")
    assert b"sleep 78" not in shell(sandbox, "ps").stdout


def test_nothing_remains_when_the_sandbox_is_closed(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    request = a_request(tmp_path, image)
    scripts: list[Path] = []

    def use() -> None:
        with provider.open(request) as sandbox:
            scripts.extend(_script_folders(engine, request.label))
            assert shell(sandbox, "setsid sleep 76 &").exit_code == 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()

    assert containers_of(engine, request.label) == []
    assert [folder.exists() for folder in scripts] == [False]


_KILLED_ENGINE = """
import sys
from pathlib import Path
from outweigh.sandbox.container import ContainerSandboxProvider
from tests.sandbox.container_fixtures import PATH, a_request
with ContainerSandboxProvider().open(a_request(Path(sys.argv[1]), sys.argv[2], label=sys.argv[3])) as sandbox:
    sandbox.exec(["sh", "-c", "touch begun; sleep 790"], environment=PATH, timeout_seconds=600)
"""


def test_containers_of_a_killed_engine_are_swept_by_their_label(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    label = f"killed-{tmp_path.name}:task/arm/1#1"
    arguments = [sys.executable, "-c", _KILLED_ENGINE, str(tmp_path), image, label]
    with subprocess.Popen(arguments, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as killed:
        _await((tmp_path / "workspace" / "begun").exists)
        killed.send_signal(signal.SIGKILL)
    (scripts,) = _script_folders(engine, label)

    assert provider.sweep("another-label") == []
    assert [label in found for found in provider.sweep(label.split(":", maxsplit=1)[0])] == [True]
    assert containers_of(engine, label) == []
    assert not scripts.exists()
    _await(lambda: not _runs_on_host(b"sleep\x00790\x00"))


def test_for_a_missing_image_the_message_says_how_to_pull_it(
    provider: ContainerSandboxProvider, engine: ContainerEngine, tmp_path: Path
) -> None:
    request = a_request(tmp_path, "outweigh-test:absent")

    with pytest.raises(UsageError, match="pull outweigh-test:absent"), provider.open(request):
        pass

    assert containers_of(engine, request.label) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image": None}, "needs an image"),
        ({"image": "rootfs:relative"}, "full path of a folder"),
        ({"image": "dockerfile:/no/such/folder"}, "not a folder"),
        ({"image": "any", "read_only": ("/no/such/tools",)}, "/no/such/tools"),
    ],
)
def test_an_impossible_request_is_refused_before_anything_starts(
    provider: ContainerSandboxProvider, tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message), provider.open(a_request(tmp_path, **{"image": None, **fields})):
        pass


def test_a_folder_can_be_the_root_and_is_not_changed(
    provider: ContainerSandboxProvider, engine: ContainerEngine, tmp_path: Path
) -> None:
    if engine.name != "podman":
        require("container", "a folder as root needs podman")
    root = tmp_path / "root"
    with tarfile.open(fileobj=BytesIO(busybox_archive())) as tar:
        tar.extractall(root, filter="tar")
    before = sorted(root.rglob("*"))

    with provider.open(a_request(tmp_path, f"rootfs:{root}")) as sandbox:
        assert shell(sandbox, "echo rooted").stdout == b"rooted\n"

    assert sorted(root.rglob("*")) == before


def test_a_dockerfile_is_built_and_its_entry_point_is_not_used(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    (recipe / "tool").write_text("built in")
    (recipe / "Dockerfile").write_text(f'FROM localhost/{image}\nCOPY tool /tool\nENTRYPOINT ["/bin/false"]\n')

    request = a_request(tmp_path, f"dockerfile:{recipe}")
    with provider.open(request) as sandbox:
        built = engine.run("inspect", "--format", "{{.Image}}", *containers_of(engine, request.label)).out
        assert shell(sandbox, "cat /tool").stdout == b"built in"
    engine.run("rmi", "--force", built)


def test_without_an_engine_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nowhere = ContainerSandboxProvider()

    assert "apt-get install podman" in str(nowhere.missing())
    assert nowhere.sweep("") == []
    with pytest.raises(SandboxError, match="podman: not installed"), nowhere.open(a_request(tmp_path, "any")):
        pass


def _script_folders(engine: ContainerEngine, label: str) -> list[Path]:
    found = containers_of(engine, label)
    return [
        Path(engine.run("inspect", "--format", '{{index .Config.Labels "outweigh.notes"}}', container).out)
        for container in found
    ]


def _runs_on_host(command_line: bytes) -> bool:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if process.read_bytes() == command_line:
                return True
        except OSError:
            continue
    return False


def _await(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + COMMAND_TIMEOUT_SECONDS
    while not condition():
        assert monotonic() < deadline, "waited in vain"
        sleep(0.05)
