"""Where checks run, in both isolating sandboxes: Harbor's paths, read-only tests, and nothing that an agent left."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.prerequisites import require
from tests.sandbox.container_fixtures import a_request, busybox_image, working_engine

from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.evaluate import CheckEvaluation, CheckSubject, evaluate_checks
from outweigh.engine.load_task import load_task
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider


@dataclass(frozen=True)
class Place:
    """A kind of sandbox, and a folder for a task and its workspace."""

    provider: SandboxProvider
    image: str | None
    folder: Path

    def check(self, **files: str) -> CheckEvaluation:
        """Evaluate the checks of a task with these files, named by path with `__` for a slash."""
        for name, content in {"instruction.md": "Do it.", **files}.items():
            path = self.folder / "task" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        task = load_task(self.folder / "task")
        request = CheckSandboxRequest(
            provider=self.provider,
            sandbox=a_request(self.folder / "own", self.image),
            folder=self.folder / "checks",
            tests=task.tests_folder,
        )
        with open_check_sandbox(request) as sandbox:
            return evaluate_checks(task, sandbox, CheckSubject(untouched=self.folder / "task", answer=None))


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
        pytest.param("container", marks=pytest.mark.needs_container),
    ]
)
def place(request: Any, tmp_path: Path) -> Iterator[Place]:
    if request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        yield Place(BubblewrapSandboxProvider(), None, tmp_path)
        return
    require("container", ContainerSandboxProvider().missing())
    with busybox_image(working_engine()) as image:
        yield Place(ContainerSandboxProvider(), image, tmp_path)


def commands(*scripts: str) -> str:
    lines = [f"{{ type = 'command', name = '{number}', run = '''{run}''' }}" for number, run in enumerate(scripts)]
    return f"[metadata.outweigh]\nchecks = [{', '.join(lines)}]\n"


def test_a_verifier_of_harbor_works_as_it_is(place: Place) -> None:
    script = "#!/bin/sh\n[ -e /tests/expected ] && mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt\n"

    (result,) = place.check(**{"task.toml": "", "tests__test.sh": script, "tests__expected": ""}).results

    assert (result.passed, result.detail) == (True, "reward 1, at least 1 passes")


def test_tests_can_be_read_and_not_written_and_reports_are_empty_at_the_start(place: Place) -> None:
    toml = commands(
        "test $OUTWEIGH_TESTS = /tests && test $OUTWEIGH_REPORTS = /logs/verifier && grep -q hidden /tests/note",
        "echo x > /tests/note || touch /tests/more || rm /tests/note || mkdir /tests/sub",
        "touch /logs/verifier/left /ws/left",
        'test -z "$(ls -A /logs/verifier)$(ls -A $HOME)" && test -e /ws/left && grep -q hidden /tests/note',
    )

    results = place.check(**{"task.toml": toml, "tests__note": "hidden\n"}).results

    assert [result.passed for result in results] == [True, False, True, True]
    assert (place.folder / "task/tests/note").read_text() == "hidden\n"
