"""Suite reader of ProjectScylla: its tests are tasks for judges, the sub-tests of its tiers are arms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.interop.scylla.subtests import (
    Subtest,
    SubtestSetup,
    collect_setup,
    read_own_files,
    read_own_subtests,
    read_shared_subtests,
)
from outweigh.interop.scylla.task_reader import TEST_FILE, ReadTest, draft_task, read_test
from outweigh.interop.suite_drafting import (
    ArmsDraft,
    draft_judging,
    make_unique,
    placeholder_arms,
    refuse_repeated_ids,
    slug,
)
from outweigh.interop.suite_files import has_keys, read_yaml
from outweigh.model.arm import ArmSpec
from outweigh.model.suite import LimitsSpec, SuiteSpec
from outweigh.ports.suites import DEFAULT_AGENT, DraftFile, SuiteDraft, SuiteOverrides

_PLAIN_ARM = "plain"
_CLAUDE_AGENT = "claude-code"
_SHARED_FOLDER = ("claude-code", "shared")


@dataclass(slots=True)
class _ArmSelection:
    """Sub-tests that become arms, and why others do not."""

    arms: dict[str, tuple[Subtest, SubtestSetup]] = field(default_factory=dict)
    bare: list[str] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)
    of_winners: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def draft_arms(tests: Sequence[ReadTest], agent: str, model: str | None) -> ArmsDraft:
    """One arm per set-up whose files exist; without any, two placeholders for the user's own."""
    found = _select_arms(tests, agent)
    if not found.arms:
        unnamed = placeholder_arms(agent, model)
        return replace(unnamed, notes=(*unnamed.notes, *_arm_notes(found, agent)))
    specs = {name: _arm_spec(name, subtest, layer, agent, model) for name, (subtest, layer) in found.arms.items()}
    baseline = next((name for name, (_, layer) in found.arms.items() if layer.is_empty), next(iter(specs)))
    if len(specs) == 1:
        baseline, specs = _PLAIN_ARM, {_PLAIN_ARM: ArmSpec(agent=agent, model=model, tier=0), **specs}
    return ArmsDraft(
        arms={baseline: specs[baseline], **specs},
        baseline=baseline,
        files=_arm_files(found),
        notes=tuple(_arm_notes(found, agent)),
    )


def _select_arms(tests: Sequence[ReadTest], agent: str) -> _ArmSelection:
    shared = tests[0].source.resolve().parent.parent.parent.parent.joinpath(*_SHARED_FOLDER)
    tiers = {int(tier[1:]) for read in tests for tier in read.test.tiers}
    sorting = _ArmSelection()
    found = list(read_shared_subtests(shared)) or _merge_tests(tests, sorting)
    wanted = sorted((each for each in found if not tiers or each.tier in tiers), key=lambda each: (each.tier, each.key))
    for name, subtest in zip(make_unique(subtest.arm for subtest in wanted), wanted, strict=True):
        layer = collect_setup(subtest, shared, agent)
        sorting.missing += [f"{missing} ({name})" for missing in layer.missing]
        _add_arm(name, subtest, layer, sorting)
    return sorting


def _merge_tests(tests: Sequence[ReadTest], sorting: _ArmSelection) -> list[Subtest]:
    """Merge the sub-tests of all tests; one that several tests have is the first test's."""
    found: dict[tuple[int, str], Subtest] = {}
    for read in tests:
        for subtest in read_own_subtests(read.source.parent):
            first = found.setdefault((subtest.tier, subtest.key), subtest)
            if first.content != subtest.content or read_own_files(first.folder) != read_own_files(subtest.folder):
                sorting.differing.append(f"{subtest.arm} of {read.test.id}")
    return list(found.values())


def _add_arm(name: str, subtest: Subtest, layer: SubtestSetup, sorting: _ArmSelection) -> None:
    twin = next((arm for arm, (_, other) in sorting.arms.items() if layer.same_as(other)), None)
    mode = subtest.content.system_prompt_mode
    if subtest.content.inherit_best_from:
        sorting.of_winners.append(name)
    elif mode == "none":
        sorting.silent.append(name)
    elif layer.is_empty and (twin is not None or mode != "default"):
        sorting.bare.append(name)
    elif twin is not None:
        sorting.twins.append(f"{name} (as {twin})")
    else:
        sorting.arms[name] = subtest, layer


def _arm_spec(name: str, subtest: Subtest, layer: SubtestSetup, agent: str, model: str | None) -> ArmSpec:
    return ArmSpec(
        agent=agent,
        model=model,
        tier=subtest.tier,
        files=f"arms/{name}" if layer.files else None,
        skills=[f"skills/{skill}" for skill in layer.skills],
        mcp_servers=dict(layer.servers),
        environment=dict(layer.environment),
    )


def _arm_files(found: _ArmSelection) -> dict[str, DraftFile]:
    files: dict[str, DraftFile] = {}
    for name, (_, layer) in found.arms.items():
        files |= {f"arms/{name}/{path}": file for path, file in layer.files.items()}
        files |= {f"skills/{skill}/{path}": file for skill, each in layer.skills.items() for path, file in each.items()}
    return files


def _arm_notes(found: _ArmSelection, agent: str) -> Iterator[str]:
    for names, said in (
        (found.of_winners, "There is no arm for {}: what wins on lower tiers is known only afterwards."),
        (found.silent, "There is no arm for {}: agents keep their own system prompt here."),
        (found.bare, "There is no arm for {}: its files are not here."),
        (found.twins, "One arm is kept of those with the same files: {}."),
        (found.missing, "Left out, since the folder that the tests share does not have it: {}."),
        (found.differing, "Tests do not agree about a sub-test, and the first one's is taken; not taken: {}."),
    ):
        if names:
            yield said.format(", ".join(names))
    layers = [layer for _, layer in found.arms.values()]
    if any(subtest.content.extends_previous for subtest, _ in found.arms.values()):
        yield "Sub-tests that extend the tier below have what their own file says, and nothing of that tier's winner."
    if any(layer.servers for layer in layers):
        yield "Tool servers are packages of npm, as the harness has it. A sandbox fetches nothing: install them."
    if any(path.startswith(".claude/") for layer in layers for path in layer.files) and agent != _CLAUDE_AGENT:
        yield f"Sub-agents and settings are in .claude, where only {_CLAUDE_AGENT} looks."
    if layers:
        yield "The words that the harness adds to an instruction file (what to use, what not to push) are left out."


_TEST_GLOBS = (TEST_FILE, f"*/{TEST_FILE}", f"tests/fixtures/tests/*/{TEST_FILE}")
_LEFT_OUT_NOTE = (
    "Names, descriptions, languages and tags of tests are left out, and with them the builds that the harness runs "
    "by language to show them to its judge."
)


class ScyllaSuiteReader:
    """Reads a test as a commit to start from, a prompt and a rubric. It has no checks: judges decide."""

    name = "scylla"
    looks_for = f"a {TEST_FILE} with a source, a task and a validation, or a folder of such tests"

    def recognises(self, path: Path) -> bool:
        """Whether a file has the three tables that every test has."""
        return any(_looks_like_a_test(source) for source in _test_files(path))

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read the tests of a folder, in order of their ids, and the sub-tests beside them."""
        sources = _test_files(path)
        if not sources:
            raise UsageError(f"{path} has no {TEST_FILE}, nor has a folder in it; name {self.looks_for}.")
        tests = sorted(map(read_test, sources), key=lambda read: (read.test.id, read.source))
        refuse_repeated_ids([(read.test.id, read.source) for read in tests], "test")
        names = make_unique(slug(read.test.id, f"test-{number}") for number, read in enumerate(tests, start=1))
        drafts = [draft_task(read, name) for name, read in zip(names, tests, strict=True)]
        arms = draft_arms(tests, overrides.agent or DEFAULT_AGENT, overrides.model)
        limits, limit_notes = _limits(tests)
        rules = draft_judging([draft for draft, _ in drafts])
        return SuiteDraft(
            spec=SuiteSpec(
                name=slug(tests[0].test.id if len(tests) == 1 else path.resolve().name, self.name),
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
            notes=(*arms.notes, *limit_notes, _LEFT_OUT_NOTE, *(note for _, notes in drafts for note in notes)),
        )


def _test_files(path: Path) -> list[Path]:
    try:
        if path.is_file():
            return [path] if path.suffix in (".yaml", ".yml") else []
        return sorted({file for pattern in _TEST_GLOBS for file in path.glob(pattern) if file.is_file()})
    except OSError:
        return []


def _looks_like_a_test(source: Path) -> bool:
    try:
        return has_keys(read_yaml(source), "source", "task", "validation")
    except UsageError:
        return False


def _limits(tests: Sequence[ReadTest]) -> tuple[LimitsSpec, tuple[str, ...]]:
    """The limits of a run. A suite has one budget per run, so tests with different budgets share the largest."""
    stated = {read.test.id: read.overrides.max_cost_usd for read in tests if read.overrides.max_cost_usd is not None}
    if not stated:
        return LimitsSpec(), ()
    largest = max(stated.values())
    alike = len(set(stated.values())) == 1 and len(stated) == len(tests)
    said = f"max_cost_usd of single tests is left out: a run may cost ${largest:g}, the most that one of them allows."
    return LimitsSpec(budget_usd=largest), () if alike else (said,)
