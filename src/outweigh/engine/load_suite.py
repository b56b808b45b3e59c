"""Loads a suite with everything it names: tasks, arms and overlay files, where its judges are, and what it tells them.

Refuses arms that are identical without saying so. Reads files; runs nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from outweigh.engine.compose_parts import SuiteParts
from outweigh.engine.expand_designs import ExpandedSuite, expand_designs
from outweigh.engine.inherited_arms import refuse_bad_inheritance
from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.engine.load_task import load_task, task_folders
from outweigh.engine.load_triggers import load_triggers
from outweigh.engine.tree_digest import paths_below
from outweigh.errors import UsageError, quote_names
from outweigh.model.agent_files import AgentFileLocations, file_locations_of
from outweigh.model.arm import Arm, ArmOrigin, ArmSpec
from outweigh.model.parse import check_arms, inherit, parse_suite_document
from outweigh.model.parts import MadeDesign
from outweigh.model.source_document import SourceDocument
from outweigh.model.suite import (
    DEFAULT_REPEATS,
    LADDER_REPEATS,
    SUITE_FILE,
    GatewaySpec,
    JudgeSpec,
    PolicySpec,
    SuiteSpec,
)
from outweigh.model.task import Task
from outweigh.ports.workspaces import Revisions

SHOWN_TASKS = 10


def refuse_duplicate_arms(
    arms: Mapping[str, Arm], specs: Mapping[str, ArmSpec], source: str, *, made: Collection[str] = ()
) -> None:
    """Refuse identical arms that are not linked by `same_as`, and linked arms that are not identical.

    Arms that are built on the best of different tiers are not identical, even where they add the same to it. `made` are
    the arms of designs, in which the suite cannot write `same_as`.
    """
    for name, spec in specs.items():
        if spec.same_as is not None:
            _refuse_false_same_as(name, spec.same_as, arms, source)
    for one, other in combinations(arms, 2):
        twins = arms[one].fingerprint == arms[other].fingerprint
        if twins and _control_root(one, specs) != _control_root(other, specs):
            way_out = (
                "Their parts bring the same; leave one of those out of the design."
                if other in made
                else f"If that is meant as a control, write same_as = {one!r} in arms.{other}."
            )
            raise UsageError(
                f"{source}: arms {one!r} and {other!r} are the same in everything but their names, so comparing them "
                f"says nothing. {way_out}"
            )


def _refuse_false_same_as(name: str, model: str, arms: Mapping[str, Arm], source: str) -> None:
    if name == model:
        raise UsageError(f"{source}: arms.{name}.same_as names the arm itself; name another arm, or leave it out.")
    if arms[name].fingerprint != arms[model].fingerprint:
        differing = [field for field in Arm.__struct_fields__ if _differ(arms[name], arms[model], field)]
        raise UsageError(
            f"{source}: arms.{name} says it is the same as {model!r}, but they differ in {', '.join(differing)}. "
            "Make them equal, or leave same_as out."
        )


def _differ(one: Arm, other: Arm, field: str) -> bool:
    return field not in ("name", "tier", "provider_name") and bool(getattr(one, field) != getattr(other, field))


def _control_root(name: str, specs: Mapping[str, ArmSpec]) -> str:
    """The last arm of a chain of `same_as`; arms that name each other in a circle share one."""
    seen = [name]
    while (following := specs[seen[-1]].same_as) is not None:
        if following in seen:
            return min(seen[seen.index(following) :])
        seen.append(following)
    return seen[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSuite:
    """Everything an experiment is made of. `overlays` holds the content of every overlay file, by its hash.

    `origins` says which commit an arm from git comes from; `notes` are shown to readers of the results. `tasks` are
    those that are run: without the ones in quarantine, which `spec` names. `designs` are those that made arms of parts,
    and `arm_repeats` the repeats of arms whose design has its own, by the arm's name in the suite. `inheriting` are the
    arms that are not in `arms` yet, because the arm that each is built on is not chosen (engine/inherited_arms.py),
    with their tiers.
    """

    spec: SuiteSpec
    folder: Path
    tasks: tuple[Task, ...]
    arms: Mapping[str, Arm]
    overlays: Mapping[str, bytes]
    origins: Mapping[str, ArmOrigin]
    notes: tuple[str, ...] = ()
    designs: tuple[MadeDesign, ...] = ()
    arm_repeats: Mapping[str, int] = field(default_factory=dict)
    inheriting: Mapping[str, int | None] = field(default_factory=dict)
    arm_files: ArmFiles | None = field(default=None, compare=False, repr=False)

    @property
    def tiers(self) -> dict[str, int | None]:
        """The tier of every arm, in the order of the suite; arms that are not chosen for yet come last."""
        return {**{name: arm.tier for name, arm in self.arms.items()}, **self.inheriting}


LocationFinder = Callable[[str], AgentFileLocations]
"""Says where the agent of this name reads its files."""

PolicyCheck = Callable[[PolicySpec], None]
"""Raises a UsageError for a policy that does not exist, or has no such gate or margin."""


def load_suite(
    path: Path,
    revisions: Revisions | None = None,
    *,
    check_policy: PolicyCheck,
    locations_of: LocationFinder = file_locations_of,
) -> LoadedSuite:
    """Read a suite file, or the `suite.toml` of a folder. Mistakes in it are found here, before any run.

    The engine decides nothing, so whoever calls it brings the check of the suite's policy. It loads no adapters, so
    the caller also says where agents of other packages read their files.
    """
    file = suite_path(path)
    document = SourceDocument(_read(file), str(file))
    spec = parse_suite_document(document)
    with document.locating_errors():
        expanded = _expand(spec, document)
        suite = _load(expanded, file, revisions, check_policy, locations_of)
        refuse_duplicate_arms(suite.arms, expanded.spec.arms, str(file), made=expanded.made)
    return suite


def load_baseline_at_refs(
    path: Path,
    revisions: Revisions,
    refs: Mapping[str, str | None],
    *,
    check_policy: PolicyCheck,
    locations_of: LocationFinder = file_locations_of,
) -> LoadedSuite:
    """The suite's baseline arm with the configuration of each of these git refs, and no other arm.

    Without a ref, it is as the suite has it.

    The resulting arms may be identical; the caller checks whether there is anything to compare.
    """
    file = suite_path(path)
    document = SourceDocument(_read(file), str(file))
    spec = parse_suite_document(document, fewest_arms=1)
    with document.locating_errors():
        spec = _expand(spec, document).spec
        model = msgspec.structs.replace(inherit(spec.baseline, spec.arms), tier=None, same_as=None)
        arms = {name: msgspec.structs.replace(model, from_git=ref or model.from_git) for name, ref in refs.items()}
        versions = msgspec.structs.replace(spec, arms=arms, baseline=next(iter(refs)), designs=[])
        return _load(ExpandedSuite(spec=versions), file, revisions, check_policy, locations_of)


def _expand(spec: SuiteSpec, document: SourceDocument) -> ExpandedSuite:
    expanded = expand_designs(spec, document.source)
    if spec.designs:
        check_arms(expanded.spec, document)
    return expanded


def suite_path(path: Path) -> Path:
    """The suite file at a path, which may be its folder."""
    return path / SUITE_FILE if path.is_dir() else path


def _load(
    expanded: ExpandedSuite,
    file: Path,
    revisions: Revisions | None,
    check_policy: PolicyCheck,
    locations_of: LocationFinder,
) -> LoadedSuite:
    spec = expanded.spec
    _refuse_bad_policy(spec.policy, str(file), check_policy)
    folder = (file.parent / spec.folder).resolve()
    if not folder.is_dir():
        raise UsageError(f"{file}: folder: there is no folder {spec.folder!r}; the suite's paths are relative to it.")
    files = ArmFiles(folder, revisions, locations_of)
    parts = SuiteParts(spec.parts, files, str(file)) if spec.parts else None
    refuse_bad_inheritance(spec, files, str(file))
    inheriting = {name: arm.tier for name, arm in spec.arms.items() if arm.inherit is not None}
    known = [name for name in spec.arms if name not in inheriting]
    arms = {name: load_arm(name, spec.arms, files, str(file), spec.providers, parts) for name in known}
    tasks = _tasks(spec, folder, str(file))
    judges = [_locate_judge(judge, spec.gateway) for judge in spec.judges]
    spec = msgspec.structs.replace(spec, judges=judges)
    chosen = () if spec.chosen is None else (spec.chosen.describe(len(tasks)),)
    return LoadedSuite(
        spec=spec,
        folder=folder,
        tasks=tasks,
        arms=arms,
        overlays=files.contents,
        origins=files.origins,
        notes=(*chosen, *expanded.notes),
        designs=expanded.designs,
        arm_repeats=expanded.repeats,
        inheriting=inheriting,
        arm_files=files,
    )


def _locate_judge(judge: JudgeSpec, gateway: GatewaySpec) -> JudgeSpec:
    """A judge without an address of its own is asked where [gateway] sends requests of its kind, with that key.

    Where the suite leaves a provider as it is, the backend's own defaults are right.
    """
    stated, default = (
        {"anthropic": each.anthropic, "openai-compatible": each.openai}.get(judge.backend)
        for each in (gateway, GatewaySpec())
    )
    if stated is None or stated == default or "base_url" in judge.options:
        return judge
    address = _BACKEND_ADDRESSES[judge.backend](stated.url.rstrip("/"))
    return msgspec.structs.replace(judge, options={"base_url": address, "key": stated.key, **judge.options})


_VERSION = re.compile(r"/v\d+\w*(?=/|$)")

_BACKEND_ADDRESSES: Mapping[str, Callable[[str], str]] = {
    # Anthropic's SDK adds the version to the address that it is given.
    "anthropic": lambda url: re.sub(r"/v\d+\w*$", "", url),
    "openai-compatible": lambda url: url if _VERSION.search(urlsplit(url).path) else f"{url}/v1",
}
"""A provider's address in the form in which the judge backend expects it."""


def _refuse_bad_policy(policy: PolicySpec, source: str, check_policy: PolicyCheck) -> None:
    try:
        check_policy(policy)
    except UsageError as error:
        raise UsageError(f"{source}: [policy] {error}") from None


def _tasks(spec: SuiteSpec, folder: Path, source: str) -> tuple[Task, ...]:
    found: dict[str, str] = {}
    tasks: list[Task] = []
    named = [(str(place), load_task(place)) for place in task_folders(spec.tasks, folder, source)]
    cases = load_triggers(spec.triggers, folder, source)
    for place, task in (*named, *(("a trigger case of the suite", case) for case in cases)):
        if task.id in found:
            raise UsageError(
                f"{place} and {found[task.id]} are both called {task.id!r}. "
                "Records are told apart by the task's name; give one of them another, under [task] in its task.toml."
            )
        found[task.id] = place
        tasks.append(_without(task, spec.workspaces.without))
    return _without_quarantined(tasks, [each.task for each in spec.quarantine], source)


def _without_quarantined(tasks: Sequence[Task], set_aside: Sequence[str], source: str) -> tuple[Task, ...]:
    """The tasks that are run. A name that no task has is refused: it would set nothing aside, and no one would know."""
    names = [task.id for task in tasks]
    for name in set_aside:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the tasks are {quote_names(names, SHOWN_TASKS)}."
            raise UsageError(f"{source}: quarantine.task is {name!r}, which is no task of the suite; {hint}")
    left = tuple(task for task in tasks if task.id not in set_aside)
    if not left:
        raise UsageError(
            f"{source}: quarantine sets all {len(tasks)} tasks aside, so there is nothing to run. Take some out of it, "
            "or add tasks."
        )
    return left


def _without(task: Task, paths: Sequence[str]) -> Task:
    """The task with a workspace that lacks these paths: another task, with results of its own."""
    if not paths:
        return task
    left_out = tuple(sorted(set(paths)))
    identity = msgspec.json.encode({"task": task.checksum, "without": left_out})
    return msgspec.structs.replace(task, without=left_out, checksum=sha256(identity).hexdigest())


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"There is no suite at {file}. Name a suite file, or a folder with a {SUITE_FILE}.") from None
    except OSError as fault:
        raise UsageError(f"{file} cannot be read: {fault.strerror}.") from None


def effective_repeats(suite: LoadedSuite) -> int:
    """The suite's repeats, or the default: more for a ladder, whose steps are small."""
    if suite.spec.repeats is not None:
        return suite.spec.repeats
    return LADDER_REPEATS if any(tier is not None for tier in suite.tiers.values()) else DEFAULT_REPEATS


def repeats_by_arm(suite: LoadedSuite, requested: int | None = None) -> dict[str, int]:
    """How often every arm is run: as requested for all, else as its design, its tier or the suite says."""
    if requested is not None:
        return dict.fromkeys(suite.tiers, requested)
    usual = effective_repeats(suite)
    of_tier = {tier: settings.repeats for tier, settings in suite.spec.tiers.items()}
    return {name: suite.arm_repeats.get(name) or of_tier.get(str(tier)) or usual for name, tier in suite.tiers.items()}


SOLUTION_FILE_LIMIT = 200_000


def tasks_with_rubric(suite: LoadedSuite) -> tuple[Task, ...]:
    """The tasks that have a rubric; a suite with judges must have one."""
    tasks = tuple(task for task in suite.tasks if task.rubric is not None)
    if suite.spec.judges and not tasks:
        raise UsageError(
            f"{suite.spec.name} has [[judges]], and none of its tasks has a rubric for them. Write one under "
            "[metadata.outweigh.rubric] of a task.toml, or leave the judges out."
        )
    return tasks


def solution_text(task: Task) -> str | None:
    """The files of the task's solution; None where there are none or judges may not see them."""
    if not task.reveal_solution or task.solution_folder is None:
        return None
    root = Path(task.solution_folder)
    files = (path for path in paths_below(root) if path.is_file() and not path.is_symlink())
    return "\n\n".join(f"{path.relative_to(root).as_posix()}:\n{_file_text(path)}" for path in files)


def identifying_names(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Names that would tell a judge which arm it sees: arms, models, skills, MCP servers and overlay paths."""
    return tuple(sorted({name for arm in arms for name in _arm_names(arm) if name}))


def _arm_names(arm: Arm) -> Iterator[str]:
    # A version of an arm is told by the arm's own name as well: `with-skill@2` by `with-skill`.
    yield from (arm.name, arm.name.rpartition("@")[0], arm.model or "")
    yield from arm.skills
    yield from arm.mcp_servers
    yield from (file.path for file in arm.overlay)


def _file_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(SOLUTION_FILE_LIMIT).decode(errors="backslashreplace")
