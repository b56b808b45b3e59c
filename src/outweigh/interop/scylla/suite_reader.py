"""Suite reader of ProjectScylla: its tests are tasks for judges, the sub-tests of its tiers are arms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.interop.scylla.subtest_setup import SubtestSetup, collect_setup, read_own_files
from outweigh.interop.scylla.subtests import (
    Subtest,
    UnreadSubtest,
    read_own_subtests,
    read_shared_subtests,
    read_tier_names,
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
from outweigh.model.tiers import InheritSpec, TierSpec
from outweigh.ports.suites import DEFAULT_AGENT, DraftFile, SuiteDraft, SuiteOverrides
from outweigh.report.formatting import count_of

_PLAIN_ARM = "plain"
_CLAUDE_AGENT = "claude-code"
_SHARED_FOLDER = ("claude-code", "shared")


@dataclass(slots=True)
class _ArmSelection:
    """Sub-tests that become arms, and why others do not."""

    arms: dict[str, tuple[Subtest, SubtestSetup]] = field(default_factory=dict)
    unread: dict[str, UsageError] = field(default_factory=dict)
    bare: list[str] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)
    of_winners: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    tier_names: dict[int, str] = field(default_factory=dict)

    def built_on(self, name: str) -> tuple[int, ...]:
        """The tiers that an arm is built on, without those that have no arm."""
        present = {subtest.tier for subtest, _ in self.arms.values()}
        return tuple(tier for tier in self.arms[name][0].built_on if tier in present)


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredArms(ArmsDraft):
    """Arms with the names of their tiers."""

    tiers: Mapping[str, TierSpec] = field(default_factory=dict)


def draft_arms(tests: Sequence[ReadTest], agent: str, model: str | None) -> TieredArms:
    """One arm per set-up whose files exist; without any that adds something, two placeholders for the user's own."""
    found = _select_arms(tests, agent)
    if all(_is_plain(name, found) for name in found.arms):
        unnamed = placeholder_arms(agent, model)
        return TieredArms(
            arms=unnamed.arms,
            baseline=unnamed.baseline,
            comments=unnamed.comments,
            notes=(*unnamed.notes, *_arm_notes(found, agent)),
        )
    specs = {name: _arm_spec(name, found, agent, model) for name in found.arms}
    baseline = next((name for name in specs if _is_plain(name, found)), next(iter(specs)))
    if len(specs) == 1 or specs[baseline].inherit is not None:
        baseline, specs = _PLAIN_ARM, {_PLAIN_ARM: ArmSpec(agent=agent, model=model, tier=0), **specs}
    present = {spec.tier for spec in specs.values()}
    return TieredArms(
        arms={baseline: specs[baseline], **specs},
        baseline=baseline,
        files=_arm_files(found),
        notes=tuple(_arm_notes(found, agent)),
        tiers={str(tier): TierSpec(name=name) for tier, name in sorted(found.tier_names.items()) if tier in present},
    )


def _select_arms(tests: Sequence[ReadTest], agent: str) -> _ArmSelection:
    shared = tests[0].source.resolve().parent.parent.parent.parent.joinpath(*_SHARED_FOLDER)
    tiers = {int(tier[1:]) for read in tests for tier in read.test.tiers}
    sorting = _ArmSelection(tier_names=read_tier_names(shared))
    found = _readable(read_shared_subtests(shared), sorting) or _merge_tests(tests, sorting)
    if not found and sorting.unread:
        raise next(iter(sorting.unread.values()))
    wanted = sorted((each for each in found if not tiers or each.tier in tiers), key=lambda each: (each.tier, each.key))
    for name, subtest in zip(make_unique(subtest.arm for subtest in wanted), wanted, strict=True):
        try:
            layer = collect_setup(subtest, shared, agent)
        except UsageError as fault:
            sorting.unread[name] = fault
            continue
        sorting.missing += [f"{missing} ({name})" for missing in layer.missing]
        _add_arm(name, subtest, layer, sorting)
    return sorting


def _readable(subtests: Iterable[Subtest | UnreadSubtest], sorting: _ArmSelection) -> list[Subtest]:
    """Those that can be used; the others are kept with the reason."""
    found = []
    for each in subtests:
        if isinstance(each, UnreadSubtest):
            sorting.unread[each.arm] = each.fault
        else:
            found.append(each)
    return found


def _merge_tests(tests: Sequence[ReadTest], sorting: _ArmSelection) -> list[Subtest]:
    """Merge the sub-tests of all tests; one that several tests have is the first test's."""
    found: dict[tuple[int, str], Subtest] = {}
    for read in tests:
        for subtest in _readable(read_own_subtests(read.source.parent), sorting):
            first = found.setdefault((subtest.tier, subtest.key), subtest)
            if first.content != subtest.content or read_own_files(first.folder) != read_own_files(subtest.folder):
                sorting.differing.append(f"{subtest.arm} of {read.test.id}")
    return list(found.values())


def _add_arm(name: str, subtest: Subtest, layer: SubtestSetup, sorting: _ArmSelection) -> None:
    twin = next((arm for arm in sorting.arms if _is_twin(subtest, layer, sorting.arms[arm])), None)
    mode, named = subtest.content.system_prompt_mode, bool(subtest.content.inherit_best_from)
    if named and not {each.tier for each, _ in sorting.arms.values()}.intersection(subtest.built_on):
        sorting.of_winners.append(name)
    elif mode == "none":
        sorting.silent.append(name)
    elif layer.is_empty and not named and (twin is not None or mode != "default"):
        sorting.bare.append(name)
    elif twin is not None:
        sorting.twins.append(f"{name} (as {twin})")
    else:
        sorting.arms[name] = subtest, layer


def _is_twin(subtest: Subtest, layer: SubtestSetup, other: tuple[Subtest, SubtestSetup]) -> bool:
    """Whether an agent would find the same set-up: the same files, on top of the same tiers' best."""
    return subtest.built_on == other[0].built_on and layer.same_as(other[1])


def _is_plain(name: str, found: _ArmSelection) -> bool:
    return found.arms[name][1].is_empty and not found.built_on(name)


def _arm_spec(name: str, found: _ArmSelection, agent: str, model: str | None) -> ArmSpec:
    (subtest, layer), tiers = found.arms[name], found.built_on(name)
    return ArmSpec(
        agent=agent,
        model=model,
        tier=subtest.tier,
        inherit=InheritSpec(best_of=list(tiers), by="median-judge") if tiers else None,
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
    yield from (f"There is no arm for {name}: {fault}" for name, fault in found.unread.items())
    for names, said in (
        (found.of_winners, "There is no arm for {}: the tiers whose best it inherits have no arm."),
        (found.silent, "There is no arm for {}: agents keep their own system prompt here."),
        (found.bare, "There is no arm for {}: its files are not here."),
        (found.twins, "One arm is kept of those with the same files: {}."),
        (found.missing, "Left out, since the folder that the tests share does not have it: {}."),
        (found.differing, "Tests do not agree about a sub-test, and the first one's is taken; not taken: {}."),
    ):
        if names:
            yield said.format(", ".join(names))
    yield from _inheritance_notes(found)
    layers = [layer for _, layer in found.arms.values()]
    if served := [f"{server} ({name})" for name, (_, layer) in found.arms.items() for server in layer.servers]:
        yield (
            f"Tool servers are packages of npm, as the harness has it: {', '.join(served)}. A sandbox fetches nothing: "
            "install them."
        )
    if any(path.startswith(".claude/") for layer in layers for path in layer.files) and agent != _CLAUDE_AGENT:
        yield f"Sub-agents and settings are in .claude, where only {_CLAUDE_AGENT} looks."
    if layers:
        yield "The words that the harness adds to an instruction file (what to use, what not to push) are left out."


def _inheritance_notes(found: _ArmSelection) -> Iterator[str]:
    inheriting = {name: tiers for name in found.arms if (tiers := found.built_on(name))}
    if inheriting:
        yield (
            f"{count_of(len(inheriting), 'arm')} inherit the best arm of lower tiers, by the median of their judges' "
            "scores and, within .05 of it, the fewest tokens, as the harness chooses. Unlike there, the runs that "
            "choose are not those that are reported; `held_out = false` changes that."
        )
    if several := [name for name, tiers in inheriting.items() if len(tiers) > 1]:
        yield (
            f"The harness merges the best of each tier that a sub-test names; here an arm is built on the one best "
            f"arm of all of them: {', '.join(several)}."
        )


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
                tiers=dict(arms.tiers),
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
