"""Which tasks Harbor can run as they are meant, and how an arm's files get into them."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harbor_experiment import write_task
from tests.interop.harbor.arms import arm

from outweigh.engine.load_task import load_task, scored_by_script
from outweigh.errors import UsageError
from outweigh.interop.harbor.job_spec import (
    HarborTask,
    common_timeout,
    overlay_task_folder,
    supported_tasks,
    write_overlay_task,
)
from outweigh.model.arm import Arm, OverlayFile

HINT = b"try 42\n"
RUN = b"#!/bin/sh\n"


def fitting(*folders: Path, force_build: bool = False) -> Sequence[HarborTask]:
    tasks = [load_task(folder) for folder in folders]
    return supported_tasks(tasks, scored=[task.id for task in tasks if scored_by_script(task)], force_build=force_build)


def laying() -> tuple[Arm, dict[str, bytes]]:
    """An arm that adds a text file and a program."""
    contents = {sha256(content).hexdigest(): content for content in (HINT, RUN)}
    hint, run = contents
    overlay = (
        OverlayFile(path=".claude/hint.md", sha256=hint, executable=False),
        OverlayFile(path="run.sh", sha256=run, executable=True),
    )
    return arm(overlay=overlay), contents


def test_a_task_of_harbors_own_is_taken_as_it_is(tmp_path: Path) -> None:
    write_task(tmp_path / "one", environment={"workdir": "/srv"})

    (task,) = fitting(tmp_path / "one")

    assert task == HarborTask(
        id="one",
        folder=tmp_path / "one",
        workdir="/srv",
        own_image=False,
        stated_timeout_seconds=300.0,
        timeout_seconds=300.0,
    )
    assert overlay_task_folder(tmp_path / "copies", arm(), task) == tmp_path / "one"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"checks": [{"type": "file_exists", "name": "there", "path": "answer.txt"}]}, "no checks but tests/test.sh"),
        ({"workspace": {"type": "folder", "path": "tests"}}, "its workspace is not environment/"),
        ({"workspace": {"type": "git", "repository": ".", "commit": "HEAD"}}, "its workspace is not environment/"),
        ({"setup": ["make"]}, "Harbor has no setup"),
        ({"turns": [{"say": "Go on."}]}, "Harbor has no turns"),
        ({"checker": {"environment": {"A": "b"}}}, "Harbor has no setup"),
    ],
)
def test_a_task_that_means_more_than_harbor_knows_is_refused(
    tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    write_task(tmp_path / "one", metadata={"outweigh": settings})

    with pytest.raises(UsageError, match="one: ") as refusal:
        fitting(tmp_path / "one")

    assert reason in str(refusal.value)


def test_a_task_without_a_script_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "one")
    (tmp_path / "one" / "tests" / "test.sh").unlink()

    with pytest.raises(UsageError, match=r"no checks but tests/test\.sh"):
        fitting(tmp_path / "one")


def test_a_task_that_nobody_can_build_is_refused(tmp_path: Path) -> None:
    write_task(tmp_path / "one")
    (tmp_path / "one" / "environment" / "Dockerfile").unlink()

    with pytest.raises(UsageError, match="it has no environment/Dockerfile"):
        fitting(tmp_path / "one")


def test_all_reasons_are_counted_and_the_first_are_told(tmp_path: Path) -> None:
    for number in range(5):
        write_task(tmp_path / f"task-{number}")
        (tmp_path / f"task-{number}" / "environment" / "Dockerfile").unlink()

    with pytest.raises(UsageError, match=r"task-0: .* task-1: .* task-2: .*\(and 2 more\)"):
        fitting(*(tmp_path / f"task-{number}" for number in range(5)))


def test_files_of_an_arm_are_copied_in_by_the_last_lines_of_the_dockerfile(tmp_path: Path) -> None:
    write_task(tmp_path / "one")
    (task,) = fitting(tmp_path / "one")
    candidate, contents = laying()
    before = (tmp_path / "one" / "environment" / "Dockerfile").read_text()

    copy = overlay_task_folder(tmp_path / "copies", candidate, task)
    for _ in range(2):  # an earlier copy is no part of a later one
        write_overlay_task(copy, candidate, task, contents)

    built = copy / "environment"
    assert (built / "Dockerfile").read_text() == (
        f"{before}\nCOPY outweigh-overlay/ ./\nRUN rm -rf ./outweigh-overlay || true\n"
    )
    assert (built / "outweigh-overlay" / ".claude" / "hint.md").read_bytes() == HINT
    modes = [(built / "outweigh-overlay" / name).stat().st_mode & 0o777 for name in (".claude/hint.md", "run.sh")]
    assert modes == [0o644, 0o755]
    assert (copy / "instruction.md").read_text() == (tmp_path / "one" / "instruction.md").read_text()
    assert (tmp_path / "one" / "environment" / "Dockerfile").read_text() == before
    assert candidate.fingerprint[:16] in copy.parts


def test_files_go_where_the_task_says_that_agents_start(tmp_path: Path) -> None:
    write_task(tmp_path / "one", environment={"workdir": "/srv"})
    (task,) = fitting(tmp_path / "one")
    candidate, contents = laying()

    copy = overlay_task_folder(tmp_path / "copies", candidate, task)
    write_overlay_task(copy, candidate, task, contents)

    assert "\nCOPY outweigh-overlay/ /srv/\n" in (copy / "environment" / "Dockerfile").read_text()


@pytest.mark.parametrize("name", [".dockerignore", "Dockerfile.dockerignore"])
def test_no_list_of_ignored_files_takes_an_arms_files_away(tmp_path: Path, name: str) -> None:
    write_task(tmp_path / "one")
    (tmp_path / "one" / "environment" / name).write_text("**/*.md")
    (task,) = fitting(tmp_path / "one")
    candidate, contents = laying()

    copy = overlay_task_folder(tmp_path / "copies", candidate, task)
    write_overlay_task(copy, candidate, task, contents)

    ignored = (copy / "environment" / name).read_text().splitlines()
    assert ignored == ["**/*.md", "!outweigh-overlay", "!outweigh-overlay/**"], "the last line that fits decides"


def test_a_dockerfile_in_another_encoding_keeps_every_byte(tmp_path: Path) -> None:
    write_task(tmp_path / "one")
    before = "FROM scratch\n# Grüße".encode("latin-1")
    (tmp_path / "one" / "environment" / "Dockerfile").write_bytes(before)
    (task,) = fitting(tmp_path / "one")
    candidate, contents = laying()

    copy = overlay_task_folder(tmp_path / "copies", candidate, task)
    write_overlay_task(copy, candidate, task, contents)

    assert (copy / "environment" / "Dockerfile").read_bytes().startswith(before + b"\nCOPY ")


@pytest.mark.parametrize("workdir", ["/my app", "/srv;reboot", "/srv/$HOME", "/srv\nUSER root"])
def test_files_for_a_place_that_no_dockerfile_can_name_plainly_are_refused(tmp_path: Path, workdir: str) -> None:
    write_task(tmp_path / "one", environment={"workdir": workdir})
    (task,) = fitting(tmp_path / "one")

    assert overlay_task_folder(tmp_path / "copies", arm(), task) == task.folder
    with pytest.raises(UsageError, match="Give it a plain path"):
        overlay_task_folder(tmp_path / "copies", laying()[0], task)


@pytest.mark.parametrize("kind", ["image", "compose"])
def test_files_for_an_image_that_is_not_built_are_refused(tmp_path: Path, kind: str) -> None:
    write_task(tmp_path / "one", environment={"docker_image": "debian:12"} if kind == "image" else {})
    if kind == "compose":
        (tmp_path / "one" / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    (task,) = fitting(tmp_path / "one")
    candidate, _ = laying()

    assert overlay_task_folder(tmp_path / "copies", arm(), task) == task.folder
    with pytest.raises(UsageError, match="Harbor takes the image of task 'one' as it is"):
        overlay_task_folder(tmp_path / "copies", candidate, task)


def test_an_image_that_is_built_in_spite_of_its_name_can_hold_files(tmp_path: Path) -> None:
    write_task(tmp_path / "one", environment={"docker_image": "debian:12"})
    (task,) = fitting(tmp_path / "one", force_build=True)

    assert overlay_task_folder(tmp_path / "copies", laying()[0], task) != task.folder


def test_harbor_is_told_a_time_limit_only_where_tasks_do_not_state_theirs(tmp_path: Path) -> None:
    write_task(tmp_path / "stated")
    for name in ("silent", "silent-too"):
        write_task(tmp_path / name, agent={})
    stated, silent, too = fitting(*(tmp_path / name for name in ("stated", "silent", "silent-too")))

    assert common_timeout([stated], 1800.0) is None
    assert common_timeout([silent, too], 1800.0) == 1800.0
    assert common_timeout([stated, silent], 300.0) == 300.0
    with pytest.raises(UsageError, match="Write it down for silent"):
        common_timeout([stated, silent], 1800.0)
