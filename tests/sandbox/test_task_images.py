"""Claims about the image of a task: built once by its content, described, copied from, and run in."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from threading import Thread
from typing import Any

import pytest
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import a_request, busybox_image, working_engine

from outweigh.errors import UsageError
from outweigh.model.task_environment import TaskImage
from outweigh.ports.sandboxes import ReadyImage, path_inside
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.container_images import context_digest
from outweigh.testing.sandbox_fixtures import run_shell


@pytest.fixture(scope="module")
@needs("container")
def provider() -> ContainerSandboxProvider:
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    return provider


@pytest.fixture(scope="module")
def base(provider: ContainerSandboxProvider) -> Iterator[str]:
    with busybox_image(working_engine()) as name:
        yield f"localhost/{name}"


class Recipe:
    """The folder `environment` of a task; no other test builds the same."""

    def __init__(self, folder: Path, base: str, provider: ContainerSandboxProvider) -> None:
        self.folder, self._base, self._provider = folder / "environment", base, provider
        self.folder.mkdir()
        self.made: list[str] = []

    def write(self, *lines: str, **files: str) -> None:
        for name, content in files.items():
            (self.folder / name).write_text(content)
        (self.folder / "Dockerfile").write_text("\n".join((f"FROM {self._base}", f"LABEL test={token_hex(8)}", *lines)))

    def build(self, **settings: Any) -> ReadyImage:
        image = TaskImage(dockerfile=str(self.folder), **settings)
        ready = self._provider.prepare_image(image, network="none")
        self.made.append(ready.name)
        return ready

    def identity(self, image: ReadyImage) -> str:
        return working_engine().run("image", "inspect", "--format", "{{.Id}}", image.name).out


@pytest.fixture
def recipe(tmp_path: Path, base: str, provider: ContainerSandboxProvider) -> Iterator[Recipe]:
    recipe = Recipe(tmp_path, base, provider)
    yield recipe
    for name in recipe.made:
        working_engine().run("rmi", "--force", name)


def build_file(recipe: Recipe, ending: str) -> Path:
    """What a build leaves beside its image: its lock, or its output."""
    folder = Path(gettempdir()) / f"outweigh-builds-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"{context_digest(recipe.folder)[:32]}.{ending}"


class TestBuilding:
    def test_an_image_is_built_once_and_again_when_a_file_beside_its_dockerfile_changes(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app", "COPY name .", name="Ada")
        first = recipe.build()

        again = recipe.build()
        (recipe.folder / "name").write_text("Eve")
        changed = recipe.build()

        assert again == first
        assert recipe.identity(again) == recipe.identity(first)
        assert changed.name != first.name
        assert first.name.startswith("localhost/outweigh-task:")

    @pytest.mark.parametrize("change", ["name", "mode", "link"])
    def test_everything_beside_a_dockerfile_is_part_of_its_content(self, tmp_path: Path, change: str) -> None:
        (tmp_path / "Dockerfile").write_text("FROM scratch")
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "tool").write_text("tool")
        before = context_digest(tmp_path)

        if change == "name":
            (tmp_path / "sub" / "tool").rename(tmp_path / "sub" / "other")
        elif change == "mode":
            (tmp_path / "sub" / "tool").chmod(0o755)
        else:
            (tmp_path / "sub" / "link").symlink_to("tool")

        assert context_digest(tmp_path) != before

    def test_a_build_waits_for_another_one_of_the_same_content(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app")
        built: list[ReadyImage] = []
        thread = Thread(target=lambda: built.append(recipe.build()))

        with build_file(recipe, "lock").open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            thread.start()
            thread.join(1.0)
            waited = not built
        thread.join()

        assert waited
        assert [image.working_directory for image in built] == ["/app"]

    def test_a_build_that_fails_shows_its_last_lines_and_keeps_all_of_them(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app", "RUN echo the first line; echo no such package >&2; exit 7")

        with pytest.raises(UsageError, match=r"its image cannot be built: .*no such package") as refused:
            recipe.build()

        log = build_file(recipe, "log")
        assert f"The whole output is in {log}" in str(refused.value)
        assert "the first line" in log.read_text()
        assert "\n" not in str(refused.value)

    def test_a_build_that_takes_too_long_is_ended(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app", "RUN sleep 600")

        with pytest.raises(UsageError, match="was not built within 3 s"):
            recipe.build(build_timeout_seconds=3.0)

    def test_a_build_without_network_reaches_nothing(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app", 'RUN [ "$(ls /sys/class/net)" = lo ]')

        assert recipe.build().working_directory == "/app"

    def test_an_image_that_is_named_must_be_stored(self, provider: ContainerSandboxProvider) -> None:
        with pytest.raises(UsageError, match=r"pull docker\.io/library/no-such:1"):
            provider.prepare_image(TaskImage(name="docker.io/library/no-such:1"), network="none")


class TestWorkingDirectory:
    @pytest.mark.parametrize(("lines", "said"), [((), "is not stated"), (("WORKDIR /usr",), "is /usr")])
    def test_the_workspace_must_be_a_folder_of_its_own(self, recipe: Recipe, lines: tuple[str, ...], said: str) -> None:
        recipe.write(*lines)

        with pytest.raises(UsageError, match=f"working directory of its image {said}.*`WORKDIR /app`"):
            recipe.build()

    def test_what_the_task_says_goes_before_what_the_image_says(self, recipe: Recipe) -> None:
        recipe.write("WORKDIR /app")

        assert recipe.build(working_directory="/srv/site").working_directory == "/srv/site"
        assert recipe.build(working_directory="site").working_directory == "/app/site"

    def test_its_files_are_copied_and_belong_to_the_caller(
        self, recipe: Recipe, provider: ContainerSandboxProvider, tmp_path: Path
    ) -> None:
        recipe.write(
            "WORKDIR /app", "COPY name .", "RUN ln -s /etc/passwd link && chown 1234 name && chmod 400 name", name="Ada"
        )

        provider.copy_files(recipe.build(), tmp_path / "files")

        name = tmp_path / "files" / "name"
        assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["link", "name"]
        assert name.read_text() == "Ada"
        assert name.stat().st_uid == os.getuid()
        assert name.stat().st_mode & 0o600 == 0o600
        assert str((tmp_path / "files" / "link").readlink()) == "/etc/passwd"

    def test_one_that_the_image_does_not_have_is_empty(
        self, recipe: Recipe, provider: ContainerSandboxProvider, tmp_path: Path
    ) -> None:
        recipe.write("WORKDIR /app")

        provider.copy_files(recipe.build(working_directory="/elsewhere"), tmp_path / "files")

        assert list((tmp_path / "files").iterdir()) == []


class TestRunning:
    def test_the_workspace_is_at_the_working_directory_with_the_images_variables_and_system(
        self, recipe: Recipe, provider: ContainerSandboxProvider, tmp_path: Path
    ) -> None:
        recipe.write("WORKDIR /app", "ENV LEVEL=three HOME=/nowhere PATH=/bin:/extra", "RUN echo own > /etc/system")
        request = a_request(tmp_path, None, task_image=recipe.build(), cpus=64.0)

        with provider.open(request) as sandbox:
            done = run_shell(sandbox, 'pwd; echo "$LEVEL $HOME $PATH"; cat /etc/system; echo made > file')
            changed = run_shell(sandbox, "echo changed > /etc/system")
            override = run_shell(sandbox, 'echo "$LEVEL"', LEVEL="four")

        assert done.stdout.decode() == "/app\nthree /home/agent /bin:/extra\nown\n"
        assert (request.workspace / "file").read_text() == "made\n"
        assert b"Read-only" in changed.stderr
        assert override.stdout == b"four\n"

    def test_a_path_of_the_hosts_system_is_shown_beside_the_images_own(
        self, recipe: Recipe, provider: ContainerSandboxProvider, tmp_path: Path
    ) -> None:
        recipe.write("WORKDIR /app", "RUN mkdir -p /usr/share && echo own > /usr/share/file")
        request = a_request(tmp_path, None, task_image=recipe.build(), system_paths=("/usr/share/misc",))

        with provider.open(request) as sandbox:
            inside = path_inside(sandbox, "/usr/share/misc")
            shown = run_shell(sandbox, f"cat /usr/share/file; [ -d {inside} ] && echo there")

        assert shown.stdout == b"own\nthere\n"
        assert inside == "/outweigh/usr/share/misc"
        assert path_inside(sandbox, "/usr/share/miscellany") == "/usr/share/miscellany"
