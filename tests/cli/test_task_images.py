"""Suites whose tasks have images of their own, end to end: Harbor's layout, our own engine, and real agents."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from tests.cli.agent_experiment import INSTALLED, SOLVED, AgentDesk, handed_out, require_agent, used
from tests.cli.engines import records
from tests.conftest import Outweigh
from tests.engine.engine_fixtures import artifact, shell, toml_lines
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.model.failure import Status
from outweigh.plugins import load_adapter
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.model_server import ModelServer

TEST = """#!/bin/sh
reward=0
[ "$(cat /app/greeting.txt)" = "Hello, Ada!" ] && reward=1
echo $reward > /logs/verifier/reward.txt
"""
SOLVE = '#!/bin/sh\necho "$(cat /solution/word.txt), $(cat name.txt)!" > /app/greeting.txt\n'
WORK = 'echo "Hello, $(cat name.txt)!" > greeting.txt'


MARK = token_hex(8)
"""What the images of this process are recognised by."""


@contextmanager
def image_to_build_on(*programs: str) -> Iterator[str]:
    """A base image; leaving the context removes it with everything that was built on it."""
    with busybox_image(working_engine(), *programs) as name:
        yield f"localhost/{name}"
        for image in working_engine().run("images", "--quiet", f"--filter=label=bench={MARK}").out.split():
            working_engine().run("rmi", "--force", image)


@pytest.fixture(scope="module")
@needs("container")
def base() -> Iterator[str]:
    """A base image of one static program, without the C library that agents need."""
    require("container", load_adapter("sandbox", "container").missing())
    with image_to_build_on() as name:
        yield name


class Bench:
    """A suite of tasks in Harbor's layout."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder / "suite", folder / "store"

    def task(self, name: str, dockerfile: str | None, test: str = TEST, **environment: Any) -> Path:
        task = self.folder / "tasks" / name
        files = {
            "task.toml": toml_lines({"environment": environment} if environment else {}),
            "instruction.md": "Greet whom name.txt names.\n",
            "environment/name.txt": "Ada\n",
            "tests/test.sh": test,
            "solution/solve.sh": SOLVE,
            "solution/word.txt": "Hello\n",
        }
        if dockerfile is not None:
            files["environment/Dockerfile"] = dockerfile
        for path, content in files.items():
            (task / path).parent.mkdir(parents=True, exist_ok=True)
            (task / path).write_text(content)
        return task

    def suite(self, arms: dict[str, Any] | None = None, **settings: Any) -> None:
        suite = {
            "name": "bench",
            "tasks": ["tasks/*"],
            "baseline": "idle",
            "repeats": 1,
            "arms": {"idle": {"agent": "noop"}, "a": shell(WORK), **(arms or {})},
            **settings,
        }
        (self.folder / "suite.toml").write_text(toml_lines(suite))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def recipe(base: str, *lines: str) -> str:
    return "\n".join((f"FROM {base}", f"LABEL bench={MARK}", "WORKDIR /app", "COPY name.txt .", *lines, ""))


def test_a_plain_harbor_task_passes_preflight_and_runs_in_its_image(
    bench: Bench, base: str, outweigh: Outweigh
) -> None:
    bench.task("greet", recipe(base, "RUN echo of the image > /etc/system"), cpus=1, memory="512M", storage="1G")
    bench.suite({"a": shell(f"pwd; cat /etc/system; ls -A; {WORK}"), "solved": {"agent": "oracle"}})

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 0, ended.err
    runs = {run.trial.arm: run for run in records(bench.store)}
    assert [check.passed for check in runs["a"].checks or ()] == [True]
    assert [check.passed for check in runs["solved"].checks or ()] == [True]
    assert [check.passed for check in runs["idle"].checks or ()] == [False]
    with FolderRunStore.open(bench.store) as store:
        printed = artifact(store, runs["a"], "stdout.txt").decode().split()
        diff = artifact(store, runs["a"], "diff.patch").decode()
    assert printed == ["/app", "of", "the", "image", ".outweigh", "name.txt"]
    assert "+Hello, Ada!" in diff
    assert "name.txt" not in diff


def test_a_check_that_writes_to_the_system_is_told_what_to_set(bench: Bench, base: str, outweigh: Outweigh) -> None:
    """The setting lets it write, into a layer of its own for every command: a check cannot prepare the next one."""
    task = bench.task("greet", recipe(base))
    checks = [
        {"type": "command", "name": "writes", "run": "[ -e greeting.txt ] && echo 1 > /etc/mark"},
        {"type": "command", "name": "anew", "run": "[ ! -e /etc/mark ]"},
    ]
    (task / "task.toml").write_text(toml_lines({"metadata": {"outweigh": {"checks": checks}}}))
    bench.suite()
    refused = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))
    bench.suite(sandbox={"writable_system": True})

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.folder / "other"))

    assert refused.code == 3
    assert "writable_system = true under [sandbox]" in " ".join(refused.err.split())
    assert ended.code == 0, ended.err
    (run,) = (run for run in records(bench.folder / "other") if run.trial.arm == "a")
    assert [check.passed for check in run.checks or ()] == [True, True]


def test_setup_and_services_work_in_the_image_of_a_task(bench: Bench, base: str, outweigh: Outweigh) -> None:
    fetch = "wget -q -O - http://127.0.0.1:8123/name.txt"
    task = bench.task("greet", recipe(base))
    service = {"name": "web", "run": "httpd -f -p 127.0.0.1:8123 -h /app", "ready": fetch}
    settings = {"setup": ["echo Eve > name.txt"], "services": [service], "environment": {"WORD": "Hello"}}
    check = {"type": "command", "name": "same", "run": f'[ "$(cat greeting.txt)" = "Hello, $({fetch})!" ]'}
    (task / "task.toml").write_text(toml_lines({"metadata": {"outweigh": {**settings, "checks": [check]}}}))
    (task / "solution" / "solve.sh").write_text(f'#!/bin/sh\necho "$WORD, $({fetch})!" > greeting.txt\n')
    bench.suite({"a": shell(f'echo "$WORD, $({fetch})!" > greeting.txt')})

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 0, ended.err
    (run,) = (run for run in records(bench.store) if run.trial.arm == "a")
    assert [check.passed for check in run.checks or ()] == [True]
    with FolderRunStore.open(bench.store) as store:
        diff = artifact(store, run, "diff.patch").decode()
    assert "+Hello, Eve!" in diff
    assert "name.txt" not in diff


def test_a_repository_in_the_image_keeps_its_history(bench: Bench, base: str, outweigh: Outweigh) -> None:
    dockerfile = recipe(base, "RUN mkdir .git && echo kept > .git/history")
    bench.task("greet", dockerfile)
    bench.suite({"a": shell(f"cat .git/history && {WORK}")})

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 0, ended.err
    (run,) = (run for run in records(bench.store) if run.trial.arm == "a")
    assert run.status is Status.COMPLETED
    with FolderRunStore.open(bench.store) as store:
        assert artifact(store, run, "stdout.txt") == b"kept\n"
        assert b"history" not in artifact(store, run, "diff.patch")


def test_an_image_that_does_not_build_ends_in_one_paragraph_before_anything_is_stored(
    bench: Bench, base: str, outweigh: Outweigh
) -> None:
    bench.task("greet", recipe(base, "RUN echo there is no such thing; exit 3"))
    bench.suite()

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 2
    *_, said = ended.err.strip().splitlines()
    assert said.startswith("outweigh: task 'greet': its image cannot be built: ")
    assert "there is no such thing" in said
    assert not bench.store.exists()


def test_tasks_that_only_harbor_can_run_are_named_with_the_way_to_run_them(
    bench: Bench, base: str, outweigh: Outweigh
) -> None:
    task = bench.task("greet", recipe(base))
    (task / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    bench.suite()

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 2
    assert "task 'greet' cannot be run by outweigh's own engine" in ended.err
    assert "docker-compose.yaml" in ended.err
    assert "--executor harbor" in ended.err


def test_a_task_without_an_image_among_others_is_refused(bench: Bench, base: str, outweigh: Outweigh) -> None:
    bench.task("greet", recipe(base))
    bench.task("plain", None)
    bench.suite()

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 2
    assert "task 'plain' has none" in ended.err.replace("\n", " ")


def test_a_program_that_the_image_has_no_libraries_for_is_named_before_anything_is_paid(
    bench: Bench, base: str, outweigh: Outweigh
) -> None:
    node = shutil.which("node") or "/bin/bash"
    bench.task("greet", recipe(base))
    bench.suite(
        {"a": {"agent": "claude-code", "options": {"program": node}}},
        gateway={"anthropic": {"url": "http://127.0.0.1:9", "key": ""}},
    )

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))

    assert ended.code == 2
    assert "the program of agent 'claude-code' does not start in the image of task 'greet'" in ended.err
    assert "in_image = true" in ended.err
    assert not bench.store.exists()


def test_where_no_engine_works_auto_says_what_is_missing(
    bench: Bench, outweigh_process: Outweigh, tmp_path: Path
) -> None:
    bench.task("greet", "FROM scratch\nWORKDIR /app\n")
    bench.suite()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git") or "/usr/bin/git")

    ended = outweigh_process(
        *("run", "-c", str(bench.folder), "-o", str(bench.store)), environment={"PATH": str(programs)}
    )

    assert ended.code == 2
    said = " ".join(ended.err.split())
    assert "task 'greet' has an image of its own, and the container sandbox does not work here" in said
    assert "apt-get install podman" in said
    assert "task_images = false" in said


@pytest.mark.needs_bubblewrap
def test_a_store_that_was_begun_without_images_is_not_mixed_with_runs_in_them(
    bench: Bench, base: str, outweigh: Outweigh
) -> None:
    """Without its image, a task starts from the files beside its Dockerfile, as it did before images were used."""
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    bench.task(
        "greet", recipe(base), "#!/bin/sh\n[ -e greeting.txt ] && r=1\necho ${r:-0} > /logs/verifier/reward.txt\n"
    )
    (bench.folder / "tasks" / "greet" / "solution" / "solve.sh").write_text("#!/bin/sh\ntouch greeting.txt\n")
    bench.suite({"a": shell("ls -A; touch greeting.txt")}, sandbox={"task_images": False})
    begun = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store))
    bench.suite({"a": shell("ls -A; touch greeting.txt")})

    ended = outweigh("run", "-c", str(bench.folder), "-o", str(bench.store), "-k", "2")

    assert begun.code == 0, begun.err
    assert ended.code == 2
    assert 'set kind = "bubblewrap" under [sandbox]' in " ".join(ended.err.split())


@pytest.mark.parametrize(
    ("agent", "program", "model"), [("claude-code", "claude", "claude-sonnet-4-5"), ("codex", "codex", "gpt-5")]
)
@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
@pytest.mark.needs_container
def test_a_real_agent_of_this_machine_works_in_the_image_of_a_task(
    tmp_path: Path, agent: str, program: str, model: str
) -> None:
    """Codex is a Node script with a binary of its own; the image has no Node."""
    require_agent(program)
    require("container", load_adapter("sandbox", "container").missing())
    desk = AgentDesk(tmp_path, model)
    needed = [str((INSTALLED / name).resolve()) for name in ("claude", "node") if (INSTALLED / name).exists()]
    with image_to_build_on(*needed) as image, ModelServer(SOLVED) as server:
        desk.write(server, {"plain": {"agent": agent, "model": model}}, sandbox={"build_network": "none"})
        dockerfile = desk.suite / "task-1" / "environment" / "Dockerfile"
        dockerfile.write_text(f"FROM {image}\nLABEL bench={MARK}\nWORKDIR /app\nCOPY question.txt .\n")
        ended = desk.run(CONTAINERS_CONF=os.environ.get("CONTAINERS_CONF", ""))
        totals = server.totals()

    assert ended.code == 0, ended.err
    (run,) = (run for run in desk.records() if run.trial.arm == "plain")
    assert run.status is Status.COMPLETED, run.status_detail
    assert [check.passed for check in run.checks or ()] == [True]
    assert used([run]) == handed_out(totals)
    assert totals.requests >= 2
