"""Suite reader of the A/B harness (format `agent-ab`): tasks on the git repository that the suite file is in.

Arms are the options of the harness's run script. The commit that is checked out is read from git's own files,
because a suite reader starts no program.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_drafting import FULL_COMMIT_HASH, ArmsDraft, make_unique, slug
from outweigh.interop.suite_files import (
    ForeignTable,
    NonBlankText,
    convert_table,
    has_keys,
    looks_like_json,
    read_json,
    read_suite_file,
    read_text,
    resolve_within,
)
from outweigh.model.arm import ArmSpec
from outweigh.model.base import Repeats, SafeName, Seconds
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import CommandCheck, GitSource, TaskSettings
from outweigh.ports.suites import DraftFile, SuiteDraft, SuiteOverrides, TaskDraft

_REF = re.compile(r"ref: (refs/[^\s~^:?*\[\\]+)")
_GITDIR_PREFIX = "gitdir: "


def find_repository(path: Path) -> Path | None:
    """The git working copy that contains a path."""
    return next((folder for folder in path.resolve().parents if (folder / ".git").exists()), None)


def read_head_commit(repository: Path) -> str:
    """The full hash of the commit that is checked out; UsageError if there is none, or git stores it in another way."""
    try:
        folder = _git_folder(repository)
        said = read_text(folder / "HEAD").strip()
        named = _REF.fullmatch(said)
        found = said if named is None else _resolve_ref(named[1], folder)
    except UsageError:
        found = ""
    if not FULL_COMMIT_HASH.fullmatch(found):
        raise UsageError(
            f"{repository / '.git'} does not say which commit is checked out. Commit something there first, so that "
            "tasks have a state to start from."
        )
    return found


def _git_folder(repository: Path) -> Path:
    """The `.git` folder; in a linked work tree, `.git` is a file that names it."""
    place = repository / ".git"
    return place if place.is_dir() else repository / read_text(place).strip().removeprefix(_GITDIR_PREFIX)


def _resolve_ref(ref: str, folder: Path) -> str:
    """The hash of a ref, from its own file or from the packed refs; git allows no `..` in names."""
    if ".." in ref:
        return ""
    shared = folder / read_text(folder / "commondir").strip() if (folder / "commondir").is_file() else folder
    for place in (folder, shared):
        if (place / ref).is_file():
            return read_text(place / ref).strip()
    lines = (line.partition(" ") for line in read_text(shared / "packed-refs").splitlines())
    return next((commit for commit, _, name in lines if name == ref), "")


_CHECK_NAME = "acceptance"


class AbTask(ForeignTable, frozen=True, kw_only=True):
    """A task. `prompt_file` is a path within the repository; bash runs the acceptance command there."""

    id: NonBlankText
    prompt_file: Annotated[str, Meta(min_length=1, max_length=1000)]
    acceptance_command: NonBlankText
    setup_commands: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    timeout_seconds: Seconds = 1800.0
    tags: list[str] = []  # noqa: RUF012


def ab_task_draft(task: AbTask, name: str, origin: GitSource, source: Path) -> TaskDraft:
    """The task in our format; bash runs the acceptance command, as in the harness."""
    prompt = _prompt(task, Path(origin.repository), source)
    return TaskDraft(
        name=name,
        instruction=f"{prompt}\n\n{_announce_command(task.acceptance_command)}\n",
        settings=TaskSettings(
            checks=[CommandCheck(name=_CHECK_NAME, run=["bash", "-c", task.acceptance_command])],
            workspace=origin,
            timeout_seconds=task.timeout_seconds,
        ),
    )


def _prompt(task: AbTask, repository: Path, source: Path) -> str:
    where = f"{source}: prompt_file of {task.id!r}"
    stated = Path(task.prompt_file)
    inside = str(stated.relative_to(repository)) if stated.is_relative_to(repository) else task.prompt_file
    text = read_text(resolve_within(repository, inside, where)).strip()
    if not text or "\0" in text:
        raise UsageError(f"{where}: {task.prompt_file} holds no text; write down there what the agent is asked to do.")
    return text


def _announce_command(command: str) -> str:
    """The sentence that tells the agent its acceptance command, which prompts of this harness rely on."""
    lines = "\n".join(f"    {line}" for line in command.splitlines())
    return f"The work is accepted when this command passes:\n\n{lines}"


def ab_task_notes(tasks: Sequence[AbTask], origin: GitSource) -> Iterator[str]:
    """Notes for the user on the tasks that were read."""
    yield (
        f"All tasks start from commit {origin.commit[:12]} of {origin.repository}, which was checked out when the "
        "suite was read. To run it elsewhere, write the repository's address into each task.toml."
    )
    yield (
        "The agent is told the acceptance command, as the harness tells it. What its run script says besides is no "
        "part of the suite."
    )
    for task in tasks:
        if commands := [command for command in task.setup_commands if command.strip()]:
            yield (
                f"The setup of {task.id!r} ({quote_names(commands)}) is not run: a workspace is a commit as it is. Run "
                "it in the repository, commit what it leaves, and name that commit in the task."
            )
    if any(task.tags for task in tasks):
        yield "Tags of tasks are left out; `family` of a task is for those that belong together."


_AGENT = "opencode"
_DEFAULT_ARMS = ("without_skelly", "with_skelly")
_WITH, _WITHOUT = "with_", "without_"
_CONTEXT_FILES = (
    "AGENTS.md",
    "CONTEXT.md",
    "CLAUDE.md",
    ".cursor/rules/{tool}-context.mdc",
    ".{tool}/skills/{tool}.md",
)
"""What the harness copies into the workspace of the arm with the tool, if the repository has it."""


class RunConfig(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The options of a run that its folder records and a suite needs."""

    arms: list[SafeName] = []  # noqa: RUF012 - msgspec copies defaults
    repeats: Repeats | None = None
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    agent: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


def agent_ab_arms(repository: Path, config: RunConfig, overrides: SuiteOverrides) -> ArmsDraft:
    """The arms, each with the files that the harness would copy, and a sentence in place of the harness's own
    prompt.
    """
    names = tuple(dict.fromkeys(config.arms))
    names = names if len(names) > 1 else _DEFAULT_ARMS
    baseline = next((name for name in names if name.startswith(_WITHOUT)), names[0])
    agent = overrides.agent or _AGENT
    model = overrides.model or config.model
    files = {name: _context_files(repository, name) for name in names}
    flags = ["--agent", config.agent] if config.agent is not None and agent == _AGENT else []
    return ArmsDraft(
        arms={
            name: ArmSpec(
                agent=agent,
                model=model,
                files=f"arms/{name}" if files[name] else None,
                extra_prompt=_arm_instruction(name),
                flags=flags,
            )
            for name in (baseline, *(name for name in names if name != baseline))
        },
        baseline=baseline,
        files={f"arms/{name}/{path}": file for name in names for path, file in files[name].items()},
        comments={
            f"arms.{name}": "The run script tells this arm something in words of its own; put them in extra_prompt."
            for name in names
        },
        notes=tuple(_arm_notes(agent, model, files)),
    )


def _context_files(repository: Path, name: str) -> dict[str, DraftFile]:
    if not name.startswith(_WITH):
        return {}
    paths = [path.format(tool=name.removeprefix(_WITH)) for path in _CONTEXT_FILES]
    places = {path: resolve_within(repository, path, f"arm {name!r}") for path in paths}
    return {path: read_suite_file(place) for path, place in places.items() if place.is_file()}


def _arm_instruction(name: str) -> str:
    for prefix, said in ((_WITHOUT, "Do not use {}, nor any file that it made."), (_WITH, "Use {} for this.")):
        if name.startswith(prefix) and name != prefix:
            return said.format(name.removeprefix(prefix))
    return f"This is the arm {name}."


def _arm_notes(agent: str, model: str | None, files: dict[str, dict[str, DraftFile]]) -> Iterator[str]:
    if agent != _AGENT:
        yield f"The harness is for {_AGENT}, and the arms have {agent}; `-a {_AGENT}` makes them as they were."
    elif model is None:
        yield f"No model is named, and {_AGENT} needs one with its provider: write `model` into the arms, or use -m."
    yield (
        "What its run script says to an arm, and what it runs to prepare one, is no part of the suite. extra_prompt of "
        "each arm holds the place of those words."
    )
    laid = sorted({path for each in files.values() for path in each})
    if laid:
        yield (
            f"Arms that have the tool get {quote_names(laid)} as in the working copy. The harness takes that from the "
            "others: name a commit without it in the tasks, or all arms will see it."
        )


_CONFIG_FILE = "config.json"
_POLICY_NOTE = (
    "The harness decides by three gates: `--policy gates` is that rule. This suite has the usual one, `evidence`."
)


class AbSuite(ForeignTable, frozen=True, kw_only=True):
    """A suite file."""

    tasks: Annotated[list[AbTask], Meta(min_length=1)]
    suite_id: NonBlankText | None = None
    description: str = ""


class AgentAbSuiteReader:
    """The acceptance command becomes a required check, the repository's commit the workspace of every task.

    Arms and repeats are options of the harness's run script; the folder of a run records them, and they are read from
    there.
    """

    name = "agent-ab"
    looks_for = "a suite file with tasks that have a prompt_file and an acceptance_command, in its git repository"

    def recognises(self, path: Path) -> bool:
        """Whether a file has tasks with the keys of this format."""
        return bool(_suite_candidates(path))

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read one suite file, or the only one in a folder."""
        source = _single_suite_file(path)
        suite = convert_table(read_json(source), AbSuite, source)
        repository = _suite_repository(source)
        commit = read_head_commit(repository)
        config = _read_config(source.parent / _CONFIG_FILE)
        arms = agent_ab_arms(repository, config, overrides)
        _refuse_repeated(suite.tasks, source)
        names = make_unique(slug(task.id, f"task-{number}") for number, task in enumerate(suite.tasks, start=1))
        origin = GitSource(repository=str(repository), commit=commit)
        return SuiteDraft(
            spec=SuiteSpec(
                name=slug(suite.suite_id or source.stem, self.name),
                tasks=["tasks/*"],
                arms=dict(arms.arms),
                baseline=arms.baseline,
                repeats=config.repeats,
            ),
            tasks=tuple(
                ab_task_draft(task, name, origin, source) for name, task in zip(names, suite.tasks, strict=True)
            ),
            files=arms.files,
            comments={"": suite.description, **arms.comments},
            notes=(*ab_task_notes(suite.tasks, origin), *arms.notes, _POLICY_NOTE),
        )


def _looks_like_a_suite(value: object) -> bool:
    tasks = value.get("tasks") if isinstance(value, dict) else None
    return isinstance(tasks, list) and any(
        has_keys(task, key) for task in tasks for key in ("prompt_file", "acceptance_command")
    )


def _suite_candidates(path: Path) -> list[Path]:
    """A file, or the suites of a folder by the harness's naming convention, without its template."""
    try:
        files = [path] if path.is_file() else sorted(path.glob("suite*.json"))
    except OSError:
        return []
    return [file for file in files if ".template." not in file.name and looks_like_json(file, _looks_like_a_suite)]


def _single_suite_file(path: Path) -> Path:
    if path.is_file():
        return path
    found = _suite_candidates(path)
    if len(found) != 1:
        names = f"several suites ({quote_names([file.name for file in found])})" if found else "no suite"
        raise UsageError(f"{path} holds {names}; name {'one of them' if found else AgentAbSuiteReader.looks_for}.")
    return found[0]


def _suite_repository(source: Path) -> Path:
    repository = find_repository(source)
    if repository is None:
        raise UsageError(
            f"{source} is not in a git repository, and its tasks refer to its repository. Put it back there."
        )
    return repository


def _read_config(path: Path) -> RunConfig:
    """The options of a run, if the path is the folder of one."""
    if not looks_like_json(path, lambda value: has_keys(value, "arms", "repeats")):
        return RunConfig()
    return convert_table(read_json(path), RunConfig, path)


def _refuse_repeated(tasks: Sequence[AbTask], source: Path) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UsageError(f"{source}: two tasks have the id {task.id!r}; results are told apart by it.")
        seen.add(task.id)
