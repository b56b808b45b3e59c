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
from tests.prerequisites import require
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
def provider() -> ContainerSandboxProvider:
    provider = ContainerSandboxProvider()
    require(provider.missing())
    return provider


@pytest.fixture(scope="module")
def engine(provider: ContainerSandboxProvider) -> ContainerEngine:
    return working_engine()


@pytest.fixture(scope="module")
def image(engine: ContainerEngine) -> Iterator[str]:
    with busybox_image(engine) as name:
        yield name


@pytest.fixture(scope="module")
def room(provider: ContainerSandboxProvider, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with provider.open(a_request(tmp_path_factory.mktemp("room"), image)) as sandbox:
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


def test_a_command_has_a_home_a_path_and_what_it_is_given(room: Sandbox) -> None:
    done = room.exec(
        ["env"], environment={"QUOTED": "it's $HOME\nand more", **PATH}, timeout_seconds=COMMAND_TIMEOUT_SECONDS
    )

    assert done.stdout == b"HOME=/home/agent\nPATH=/bin\nQUOTED=it's $HOME\nand more\n"


def test_a_word_that_no_process_can_be_given_is_refused(room: Sandbox) -> None:
    with pytest.raises(SandboxError, match="NUL"):
        room.exec(["echo", "a\0b"], environment=PATH, timeout_seconds=COMMAND_TIMEOUT_SECONDS)


def test_what_is_written_inside_belongs_to_the_caller_outside(room: Sandbox) -> None:
    shell(room, "mkdir made && echo 1 > made/file")

    assert (room.host_workspace / "made" / "file").stat().st_uid == os.getuid()
    assert room.read("made/file", 10) == b"1\n"


def test_a_secret_is_not_on_any_command_line_of_the_host(room: Sandbox) -> None:
    script = "echo begun; while ! [ -e seen ]; do sleep 0.1; done"
    lines: list[bytes] = []

    def look(_: bytes) -> None:
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(process.read_bytes())
            except OSError:
                continue
        (room.host_workspace / "seen").touch()

    done = room.exec(
        ["sh", "-c", script],
        environment={**PATH, "TOKEN": "tell-nobody"},
        timeout_seconds=COMMAND_TIMEOUT_SECONDS,
        listen=look,
    )

    assert done.exit_code == 0
    assert any(b"/run/outweigh/" in line for line in lines)
    assert not any(b"tell-nobody" in line for line in lines)


def test_a_timeout_ends_the_whole_tree_and_leaves_a_room_to_go_on_in(room: Sandbox) -> None:
    script = "trap '' TERM; setsid sleep 77 & (trap '' TERM; sleep 77) & echo begun; sleep 77"
    late = shell(room, script, seconds=SHORT_TIMEOUT_SECONDS)

    assert (late.ending, late.exit_code, late.stdout) == (CommandEnding.TIMED_OUT, None, b"begun\n")
    assert b"sleep 77" not in shell(room, "ps").stdout


def test_a_daemon_dies_with_the_command_that_left_it_behind(room: Sandbox) -> None:
    shell(room, f"{DAEMON_SCRIPT} setsid sleep 78 & {WAIT_FOR_DAEMON}")

    assert (room.host_workspace / "beat").stat().st_size > 0
    assert is_unchanging(room.host_workspace / "beat")
    assert b"sleep 78" not in shell(room, "ps").stdout


def test_nothing_remains_when_the_room_is_left(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    request = a_request(tmp_path, image)
    notes: list[Path] = []

    def use() -> None:
        with provider.open(request) as sandbox:
            notes.extend(_notes(engine, request.label))
            assert shell(sandbox, "setsid sleep 76 &").exit_code == 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()

    assert containers_of(engine, request.label) == []
    assert [folder.exists() for folder in notes] == [False]


_DOOMED = """
import sys
from pathlib import Path
from outweigh.sandbox.container import ContainerSandboxProvider
from tests.sandbox.container_fixtures import PATH, a_request
with ContainerSandboxProvider().open(a_request(Path(sys.argv[1]), sys.argv[2], label=sys.argv[3])) as sandbox:
    sandbox.exec(["sh", "-c", "touch begun; sleep 790"], environment=PATH, timeout_seconds=600)
"""


def test_what_a_killed_engine_left_behind_is_swept_by_its_label(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    label = f"doomed-{tmp_path.name}:task/arm/1#1"
    arguments = [sys.executable, "-c", _DOOMED, str(tmp_path), image, label]
    with subprocess.Popen(arguments, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) as doomed:
        _await((tmp_path / "workspace" / "begun").exists)
        doomed.send_signal(signal.SIGKILL)
    (notes,) = _notes(engine, label)

    assert provider.sweep("another-label") == []
    assert [label in found for found in provider.sweep(label.split(":", maxsplit=1)[0])] == [True]
    assert containers_of(engine, label) == []
    assert not notes.exists()
    _await(lambda: not _runs_on_host(b"sleep\x00790\x00"))


def test_an_image_that_is_not_stored_is_named_with_the_way_to_get_it(
    provider: ContainerSandboxProvider, engine: ContainerEngine, tmp_path: Path
) -> None:
    request = a_request(tmp_path, "outweigh-test:absent")

    with pytest.raises(UsageError, match="pull outweigh-test:absent"), provider.open(request):
        pass

    assert containers_of(engine, request.label) == []


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"image": None}, "needs an image"),
        ({"image": "rootfs:relative"}, "full path of a folder"),
        ({"image": "dockerfile:/no/such/folder"}, "not a folder"),
        ({"image": "any", "read_only": ("/no/such/tools",)}, "/no/such/tools"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(
    provider: ContainerSandboxProvider, tmp_path: Path, fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint), provider.open(a_request(tmp_path, **{"image": None, **fields})):
        pass


def test_a_folder_can_be_the_root_and_stays_as_it_was(
    provider: ContainerSandboxProvider, engine: ContainerEngine, tmp_path: Path
) -> None:
    if engine.name != "podman":
        require("a folder as root needs podman")
    root = tmp_path / "root"
    with tarfile.open(fileobj=BytesIO(busybox_archive())) as tar:
        tar.extractall(root, filter="tar")
    before = sorted(root.rglob("*"))

    with provider.open(a_request(tmp_path, f"rootfs:{root}")) as sandbox:
        assert shell(sandbox, "echo rooted").stdout == b"rooted\n"

    assert sorted(root.rglob("*")) == before


def test_a_dockerfile_is_built_and_its_own_start_program_is_not_used(
    provider: ContainerSandboxProvider, engine: ContainerEngine, image: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    (recipe / "tool").write_text("built in")
    (recipe / "Dockerfile").write_text(f'FROM localhost/{image}\nCOPY tool /tool\nENTRYPOINT ["/bin/false"]\n')

    request = a_request(tmp_path, f"dockerfile:{recipe}")
    with provider.open(request) as sandbox:
        built = engine.ask("inspect", "--format", "{{.Image}}", *containers_of(engine, request.label)).out
        assert shell(sandbox, "cat /tool").stdout == b"built in"
    engine.ask("rmi", "--force", built)


def test_without_an_engine_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    nowhere = ContainerSandboxProvider()

    assert "apt-get install podman" in str(nowhere.missing())
    assert nowhere.sweep("") == []
    with pytest.raises(SandboxError, match="podman: not installed"), nowhere.open(a_request(tmp_path, "any")):
        pass


def _notes(engine: ContainerEngine, label: str) -> list[Path]:
    found = containers_of(engine, label)
    return [
        Path(engine.ask("inspect", "--format", '{{index .Config.Labels "outweigh.notes"}}', container).out)
        for container in found
    ]


def _runs_on_host(words: bytes) -> bool:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if process.read_bytes() == words:
                return True
        except OSError:
            continue
    return False


def _await(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + COMMAND_TIMEOUT_SECONDS
    while not condition():
        assert monotonic() < deadline, "waited in vain"
        sleep(0.05)
