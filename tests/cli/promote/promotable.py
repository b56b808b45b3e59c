"""A repository with a remote, a better configuration on a branch, and a store with the evidence for it."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from shutil import copytree
from typing import Any

from tests.cli.two_sides import Project
from tests.engine.engine_fixtures import toml_lines
from tests.loopback_forge import LoopbackForge
from tests.repositories import Repository

from outweigh.app.suite_selection import load_two_revisions, read_suite
from outweigh.engine.load_suite import LoadedSuite
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.store.run_store import FolderRunStore
from outweigh.store.write_experiment import write_experiment
from outweigh.testing.builders import a_run

REMOTE = "git@github.com:team/config.git"
TASKS, REPEATS = 12, 5
BEFORE: dict[str, str | None] = {
    "CLAUDE.md": "Think before you write.\n",
    ".claude/skills/old/SKILL.md": "An old skill.\n",
}
AFTER: dict[str, str | None] = {
    "CLAUDE.md": "The answer is 42.\n",
    ".claude/skills/new/SKILL.md": "A new skill.\n",
    ".claude/skills/old/SKILL.md": None,
    "src/other.py": "print('no configuration')\n",
}


class Promotable:
    """`main` on the remote, `better` here, and a store in which `head` beats `base`."""

    def __init__(self, project: Project, bare: Path) -> None:
        self.project, self.bare = project, bare
        self.repository, self.store = project.repository, project.store

    @classmethod
    def made_in(cls, folder: Path, tasks: int = TASKS) -> "Promotable":
        project = Project(folder, tasks=tasks, repeats=REPEATS, policy={"gates": ["pass_rate"]})
        project.repository.commit({**BEFORE, **_different_tasks(project.suite)})
        change = cls(project, _remote(folder, project.repository))
        project.repository.git("push", "--quiet", "origin", "main")
        project.branch("better", AFTER)
        project.repository.git("checkout", "--quiet", "main")
        return change

    def copied(self, folder: Path) -> "Promotable":
        """The same in another folder, to do anything to."""
        old = self.store.parent
        copytree(old, folder, symlinks=True, dirs_exist_ok=True)
        project = copy(self.project)
        project.repository = copy(self.repository)
        project.repository.folder = folder / "project"
        project.suite, project.store = folder / "project" / "evals", folder / "store"
        project.repository.git("config", "core.sshCommand", str(folder / "ssh"))
        return Promotable(project, folder / self.bare.relative_to(old))

    def test(self, head: str = "better", **facts: Any) -> "Promotable":
        """Evidence for a branch against `main`, as if it had been run."""
        with load_two_revisions(self.project.suite, "main", head, None) as suite:
            write_evidence(self.store, suite, **facts)
        return self

    def test_arms(self, arms: Mapping[str, Mapping[str, Any]]) -> None:
        """Evidence for two arms of Claude Code that the suite itself configures."""
        file = self.project.suite / "suite.toml"
        kept = [line for line in file.read_text().splitlines() if not line.startswith(('"arms"', '"baseline"'))]
        specs = {name: {"agent": "claude-code", **spec} for name, spec in arms.items()}
        file.write_text("\n".join((*kept, toml_lines({"baseline": next(iter(arms)), "arms": specs}))))
        write_evidence(self.store, read_suite(str(file)))

    def words(self, *more: str) -> list[str]:
        return [str(self.store), "--repo", str(self.repository.folder), *more]

    def remote(self, *arguments: str) -> str:
        """What git says in the bare repository."""
        return self.repository.git("--git-dir", str(self.bare), *arguments)

    def branches(self) -> list[str]:
        return self.remote("for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def move_base(self, files: Mapping[str, str | None]) -> None:
        """Somebody else merges something into the remote's main branch."""
        self.repository.git("checkout", "--quiet", "main")
        self.repository.commit(files)
        self.repository.git("push", "--quiet", "origin", "main")

    def hook(self, name: str, script: str) -> None:
        """Something that the remote does when a branch is pushed."""
        hook = self.bare / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)

    def untouched(self) -> bool:
        """Nothing new on the remote, and nothing at all of ours in the user's repository."""
        ours = self.repository.git("for-each-ref", "--format=%(refname:short)").split()
        changed = self.repository.git("status", "--porcelain")
        return (self.branches(), ours, changed) == (["main"], ["better", "main"], "")

    def execute(self, forge: LoopbackForge, *more: str) -> list[str]:
        """A whole command line."""
        return ["promote", *self.words("--execute", "--api", forge.url, *more)]


def write_evidence(
    store: Path,
    suite: LoadedSuite,
    *,
    kinds: Sequence[AgentKind] = (AgentKind.REAL, AgentKind.REAL),
    passes: Sequence[bool] = (False, True),
    tasks: int = TASKS,
    repeats: int = REPEATS,
    **fields: Any,
) -> None:
    """A store as `outweigh run` leaves it; the arms' agents and outcomes in the suite's order."""
    with FolderRunStore.open(store) as target:
        write_experiment(store, suite.spec, suite.tasks, suite.arms, origins=suite.origins)
        for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
            target.keep(content)
        transcript = target.keep(b"what was said")
        for arm, kind, passed in zip(suite.arms.values(), kinds, passes, strict=True):
            agent = AgentIdentity(kind=kind, name="shell", version="1", model=None)
            known = {"arm_fingerprint": arm.fingerprint, "artifacts": {"transcript": transcript}, "agent": agent}
            for record in _runs(suite, arm.name, tasks, repeats, passed=passed, **(known | fields)):
                target.append(record)


def _runs(suite: LoadedSuite, arm: str, tasks: int, repeats: int, *, passed: bool, **fields: Any) -> list[RunRecord]:
    return [
        a_run(task.id, arm, repeat, passed=passed, task_checksum=task.checksum, **fields)
        for task in suite.tasks[:tasks]
        for repeat in range(1, repeats + 1)
    ]


def _different_tasks(suite: Path) -> dict[str, str]:
    """Tasks of one content are one task, and those of one family are hardly more."""
    place = suite.relative_to(suite.parent)
    files: dict[str, str] = {}
    for task in sorted(suite.glob("task-*")):
        files[f"{place}/{task.name}/environment/question.txt"] = f"6 x 7 for {task.name}\n"
        settings = (task / "task.toml").read_text().replace('"answers"', f'"{task.name}"')
        files[f"{place}/{task.name}/task.toml"] = settings
    return files


def edit_experiment(store: Path, **words: Any) -> None:
    """Change what a store says about itself."""
    file = store / "experiment.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **words}))


def _remote(folder: Path, repository: Repository) -> Path:
    """A bare repository that is reached as one on github.com would be, by a program in place of ssh."""
    bare = folder / "remotes" / "team" / "config.git"
    bare.mkdir(parents=True)
    repository.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    program = folder / "ssh"
    program.write_text('#!/bin/sh\ncd "$(dirname "$0")/remotes" && shift && eval "exec $*"\n')
    program.chmod(0o755)
    settings = {
        "remote.origin.url": REMOTE,
        "core.sshCommand": str(program),
        "ssh.variant": "simple",
        "user.name": "Ada",
        "user.email": "ada@example.org",
    }
    for name, value in settings.items():
        repository.git("config", name, value)
    return bare
