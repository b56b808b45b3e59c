"""ProjectScylla's tests as a suite: tests are tasks for judges, sub-tests of its tiers are arms."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from outweigh.adapters.suites.foreign_table import is_table_with
from outweigh.adapters.suites.judged import rules_for
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.scylla_arms import scylla_arms
from outweigh.adapters.suites.scylla_test import TEST_FILE, ReadTest, read_test, task_draft
from outweigh.adapters.suites.source_files import read_yaml
from outweigh.errors import UsageError
from outweigh.ports.suites import DEFAULT_AGENT, SuiteWishes
from outweigh.task.suite import LimitsSpec, SuiteSpec
from outweigh.task.suite_draft import SuiteDraft

_PLACES = (TEST_FILE, f"*/{TEST_FILE}", f"tests/fixtures/tests/*/{TEST_FILE}")
_LEFT_OUT = (
    "Names, descriptions, languages and tags of tests are left out, and with them the builds that the harness runs "
    "by language to show them to its judge."
)


class Scylla:
    """A test is a commit to start from, a prompt and a rubric. It has no checks: whether a run passed, judges say."""

    name = "scylla"
    looks_for = f"a {TEST_FILE} with a source, a task and a validation, or a folder of such tests"

    def recognises(self, path: Path) -> bool:
        """By the three tables that every test has."""
        return any(_looks_like_a_test(source) for source in _sources(path))

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """The tests of a folder, by their ids, and the sub-tests that lie with them."""
        sources = _sources(path)
        if not sources:
            raise UsageError(f"{path} has no {TEST_FILE}, nor has a folder in it; name {self.looks_for}.")
        tests = sorted(map(read_test, sources), key=lambda read: (read.test.id, read.source))
        _refuse_repeated(tests)
        names = apart(folder_name(read.test.id, f"test-{number}") for number, read in enumerate(tests, start=1))
        drafts = [task_draft(read, name) for name, read in zip(names, tests, strict=True)]
        arms = scylla_arms(tests, wishes.agent or DEFAULT_AGENT, wishes.model)
        limits, limit_notes = _limits(tests)
        rules = rules_for([draft for draft, _ in drafts])
        return SuiteDraft(
            spec=SuiteSpec(
                name=folder_name(tests[0].test.id if len(tests) == 1 else path.resolve().name, self.name),
                tasks=["tasks/*"],
                arms=dict(arms.arms),
                baseline=arms.baseline,
                limits=limits,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=tuple(draft for draft, _ in drafts),
            files=arms.files,
            comments={**arms.comments, **rules.comments},
            notes=(*arms.notes, *limit_notes, _LEFT_OUT, *(note for _, notes in drafts for note in notes)),
        )


def _sources(path: Path) -> list[Path]:
    try:
        if path.is_file():
            return [path] if path.suffix in (".yaml", ".yml") else []
        return sorted({file for pattern in _PLACES for file in path.glob(pattern) if file.is_file()})
    except OSError:
        return []


def _looks_like_a_test(source: Path) -> bool:
    try:
        return is_table_with(read_yaml(source), "source", "task", "validation")
    except UsageError:
        return False


def _refuse_repeated(tests: Sequence[ReadTest]) -> None:
    for one, other in pairwise(tests):
        if one.test.id == other.test.id:
            raise UsageError(f"{other.source}: {one.test.id!r} is the id of {one.source} too; give each test its own.")


def _limits(tests: Sequence[ReadTest]) -> tuple[LimitsSpec, tuple[str, ...]]:
    """A suite has one purse for a run; tests with purses of their own share the largest."""
    stated = {read.test.id: read.overrides.max_cost_usd for read in tests if read.overrides.max_cost_usd is not None}
    if not stated:
        return LimitsSpec(), ()
    largest = max(stated.values())
    alike = len(set(stated.values())) == 1 and len(stated) == len(tests)
    said = f"max_cost_usd of single tests is left out: a run may cost ${largest:g}, the most that one of them allows."
    return LimitsSpec(budget_usd=largest), () if alike else (said,)
