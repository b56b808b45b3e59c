"""A small repository, its last commit as a candidate, and everything that a proof needs, in real sandboxes."""

import ast
import shutil
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.repositories import Repository

from outweigh.engine.checks.test_reports.reported_test import TestOutcome
from outweigh.mining.candidate import Candidate, CandidateKind
from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.proof_bench import ProofContext
from outweigh.mining.repository import open_history
from outweigh.mining.runners.runner import ReadFile, Runner
from outweigh.mining.time_limits import GreenTimes, ProofLimits
from outweigh.model.suite import SandboxSpec
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

Files = Mapping[str, str | None]
USUAL_LIMITS = ProofLimits()
_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


@dataclass(frozen=True)
class SmallHistory:
    """A repository whose last commit is the change."""

    repository: Repository
    base: str
    fix: str

    def candidate(self, message: str = "Fix it", **changes: object) -> Candidate:
        """The last commit; files below `tests` or `test` are tests."""
        listed = self.repository.git("diff", "--name-status", "--no-renames", self.base, self.fix).splitlines()
        paths = {line.split("\t")[1]: line[0] for line in listed}
        tests = {path for path in paths if path.startswith(("tests/", "test/"))}
        settings: dict[str, object] = {
            "base": self.base,
            "fix": self.fix,
            "commits": (self.fix,),
            "kind": CandidateKind.COMMIT,
            "date": datetime(2026, 1, 2, tzinfo=UTC),
            "message": message,
            "source_files": tuple(sorted(path for path in paths if path not in tests and paths[path] != "D")),
            "test_files": tuple(sorted(path for path in tests if paths[path] != "D")),
            "deleted_tests": tuple(sorted(path for path in tests if paths[path] == "D")),
            "source_lines": 2,
            **changes,
        }
        return Candidate(**settings)  # type: ignore[arg-type]


def make_history(folder: Path, before: Files, after: Files) -> SmallHistory:
    repository = Repository(folder)
    base = repository.commit(before)
    return SmallHistory(repository=repository, base=base, fix=repository.commit(after))


class PytestRunner:
    """pytest, as far as small tests need it."""

    name = "pytest"
    report_format = "junit"
    compiled_beside: str | None = None
    shows_progress = True

    def detect(self, _files: Sequence[str], _read: ReadFile) -> bool:
        return True

    def is_test_file(self, path: str) -> bool:
        return path.startswith("tests/")

    def command(self, files: Sequence[str], report: str) -> str:
        tests = " ".join(path for path in files if Path(path).name.startswith("test_"))
        return f'python -m pytest -q --junitxml="{report}" {tests}'

    def read_report(self, report: bytes) -> Mapping[str, TestOutcome]:
        raise NotImplementedError

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        if not Path(path).name.startswith("test_"):
            return frozenset()
        earlier = _test_functions(before or b"")
        return frozenset(name for name, text in _test_functions(after).items() if earlier.get(name) != text)

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        module, _, name = reported.partition("::")
        return module == path.removesuffix(".py").replace("/", ".") and function in (None, name.partition("[")[0])


def _test_functions(content: bytes) -> dict[str, str]:
    found = (node for node in ast.parse(content).body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.dump(node) for node in found if node.name.startswith("test_")}


def install_pytest(folder: Path) -> InstalledDependencies:
    """A virtual environment with pytest alone, as dependencies that are installed already."""
    venv.create(folder, symlinks=True)
    (target,) = folder.glob("lib/python*/site-packages")
    packages = Path(pytest.__file__).parents[1]
    shutil.copy2(packages / "py.py", target)
    for name in _PACKAGES:
        shutil.copytree(packages / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    return InstalledDependencies(
        key=folder.name, folder=folder, variables={"PATH": "/opt/dependencies/bin:/usr/bin:/bin"}
    )


@contextmanager
def open_proofs(
    history: SmallHistory,
    scratch: Path,
    dependencies: InstalledDependencies | None,
    runner: Runner | None = None,
    limits: ProofLimits = USUAL_LIMITS,
    sandboxes: SandboxProvider | None = None,
    read_only: Sequence[str] = (),
    green_times: GreenTimes | None = None,
) -> Iterator[ProofContext]:
    """What proofs of a history need."""
    scratch.mkdir(exist_ok=True)
    with open_history(history.repository.folder) as opened:
        yield ProofContext(
            history=opened,
            sandboxes=sandboxes or BubblewrapSandboxProvider(),
            sandbox=SandboxSpec(read_only=[sys.base_prefix, *read_only]),
            scratch=scratch,
            label="tests",
            find_runner=lambda _: runner or PytestRunner(),
            install=lambda _candidate, _base: dependencies,
            limits=limits,
            green_times=green_times or GreenTimes(),
        )
