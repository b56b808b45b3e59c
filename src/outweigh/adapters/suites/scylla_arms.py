"""Sub-tests of ProjectScylla as arms, each with the rank of its tier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from outweigh.adapters.suites.arms_draft import ArmsDraft, unnamed_arms
from outweigh.adapters.suites.naming import apart
from outweigh.adapters.suites.scylla_layer import Layer, layer_of, own_files
from outweigh.adapters.suites.scylla_subtest import Subtest, own_subtests, shared_subtests
from outweigh.adapters.suites.scylla_test import ReadTest
from outweigh.task.arm import ArmSpec
from outweigh.task.suite_draft import SuiteFile

_PLAIN = "plain"
_CLAUDE = "claude-code"
_SHARED = ("claude-code", "shared")


@dataclass(slots=True)
class _Sorting:
    """Sub-tests that become arms, and why the others do not."""

    arms: dict[str, tuple[Subtest, Layer]] = field(default_factory=dict)
    bare: list[str] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)
    of_winners: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)


def scylla_arms(tests: Sequence[ReadTest], agent: str, model: str | None) -> ArmsDraft:
    """One arm per set-up whose files are there; without any, two that hold the place of the user's own."""
    found = _sorted_out(tests, agent)
    if not found.arms:
        unnamed = unnamed_arms(agent, model)
        return replace(unnamed, notes=(*unnamed.notes, *_notes(found, agent)))
    specs = {name: _spec(name, subtest, layer, agent, model) for name, (subtest, layer) in found.arms.items()}
    baseline = next((name for name, (_, layer) in found.arms.items() if layer.is_bare), next(iter(specs)))
    if len(specs) == 1:
        baseline, specs = _PLAIN, {_PLAIN: ArmSpec(agent=agent, model=model, tier=0), **specs}
    return ArmsDraft(
        arms={baseline: specs[baseline], **specs},
        baseline=baseline,
        files=_files(found),
        notes=tuple(_notes(found, agent)),
    )


def _sorted_out(tests: Sequence[ReadTest], agent: str) -> _Sorting:
    shared = tests[0].source.resolve().parent.parent.parent.parent.joinpath(*_SHARED)
    tiers = {int(tier[1:]) for read in tests for tier in read.test.tiers}
    sorting = _Sorting()
    found = list(shared_subtests(shared)) or _of_all_tests(tests, sorting)
    wanted = sorted((each for each in found if not tiers or each.tier in tiers), key=lambda each: (each.tier, each.key))
    for name, subtest in zip(apart(subtest.arm for subtest in wanted), wanted, strict=True):
        layer = layer_of(subtest, shared, agent)
        sorting.missing += [f"{missing} ({name})" for missing in layer.missing]
        _sort_in(name, subtest, layer, sorting)
    return sorting


def _of_all_tests(tests: Sequence[ReadTest], sorting: _Sorting) -> list[Subtest]:
    """A sub-test that several tests have is the first one's; all arms are for all tasks."""
    found: dict[tuple[int, str], Subtest] = {}
    for read in tests:
        for subtest in own_subtests(read.source.parent):
            first = found.setdefault((subtest.tier, subtest.key), subtest)
            if first.content != subtest.content or own_files(first.folder) != own_files(subtest.folder):
                sorting.differing.append(f"{subtest.arm} of {read.test.id}")
    return list(found.values())


def _sort_in(name: str, subtest: Subtest, layer: Layer, sorting: _Sorting) -> None:
    twin = next((arm for arm, (_, other) in sorting.arms.items() if layer.same_as(other)), None)
    mode = subtest.content.system_prompt_mode
    if subtest.content.inherit_best_from:
        sorting.of_winners.append(name)
    elif mode == "none":
        sorting.silent.append(name)
    elif layer.is_bare and (twin is not None or mode != "default"):
        sorting.bare.append(name)
    elif twin is not None:
        sorting.twins.append(f"{name} (as {twin})")
    else:
        sorting.arms[name] = subtest, layer


def _spec(name: str, subtest: Subtest, layer: Layer, agent: str, model: str | None) -> ArmSpec:
    return ArmSpec(
        agent=agent,
        model=model,
        tier=subtest.tier,
        files=f"arms/{name}" if layer.files else None,
        skills=[f"skills/{skill}" for skill in layer.skills],
        mcp_servers=dict(layer.servers),
        environment=dict(layer.environment),
    )


def _files(found: _Sorting) -> dict[str, SuiteFile]:
    files: dict[str, SuiteFile] = {}
    for name, (_, layer) in found.arms.items():
        files |= {f"arms/{name}/{path}": file for path, file in layer.files.items()}
        files |= {f"skills/{skill}/{path}": file for skill, each in layer.skills.items() for path, file in each.items()}
    return files


def _notes(found: _Sorting, agent: str) -> Iterator[str]:
    for names, said in (
        (found.of_winners, "There is no arm for {}: what wins on lower tiers is known only afterwards."),
        (found.silent, "There is no arm for {}: agents keep their own system prompt here."),
        (found.bare, "There is no arm for {}: nothing that it would lay is here."),
        (found.twins, "One arm stands for what is laid twice: {}."),
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
    if any(path.startswith(".claude/") for layer in layers for path in layer.files) and agent != _CLAUDE:
        yield f"Sub-agents and settings lie in .claude, where only {_CLAUDE} looks."
    if layers:
        yield "The words that the harness adds to an instruction file (what to use, what not to push) are left out."
