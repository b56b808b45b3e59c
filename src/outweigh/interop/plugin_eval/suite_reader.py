"""Suite reader of `claude plugin eval`: a plugin with its evals, and the same agent without and with it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from outweigh.errors import UsageError, quote_names
from outweigh.interop.plugin_eval.case_files import (
    DEFAULT_RUNS,
    DEFAULT_SECONDS,
    DEFAULT_TURNS,
    GRADER_FOLDER,
    MOCK_FOLDER,
    MOST_RUNS,
    MOST_SECONDS,
    MOST_TURNS,
    EvalCase,
    PluginLocation,
    file_of_case,
    find_plugin,
    read_cases,
)
from outweigh.interop.plugin_eval.grader_checks import CaseGrading, read_graders, validated
from outweigh.interop.plugin_eval.mock_servers import read_mocks
from outweigh.interop.plugin_eval.result_document import WITH_ARM, WITHOUT_ARM
from outweigh.interop.suite_drafting import DEFAULT_JUDGE, draft_judging, make_unique, slug
from outweigh.interop.suite_files import read_suite_file, read_tree
from outweigh.model.agent_files import file_locations_of
from outweigh.model.arm import ArmSpec
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings
from outweigh.model.task_environment import SetupCommand
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_names, as_str
from outweigh.ports.suites import DEFAULT_AGENT, WORKSPACE_FOLDER, DraftFile, SuiteDraft, SuiteOverrides, TaskDraft

GATED_TOOLS = ("Bash", "Write", "Edit", "NotebookEdit", "WebFetch", "WebSearch")
"""Tools that its agents have only where a case allows them."""

_JUDGE = replace(DEFAULT_JUDGE, passes=3, consensus="majority")
_SCAFFOLD_FOLDER = ".scaffold"
_SCAFFOLD_SECONDS = 120.0
_NOT_SCAFFOLD = frozenset({"case.yaml", "prompt.md", GRADER_FOLDER, MOCK_FOLDER})
_UNREAD_EXECUTION = ("artifact_publish", "growthbook_overrides", "append_system_prompt")


class PluginEvalSuiteReader:
    """Reads a case as a task; graders become checks, and criteria for judges where a model was asked."""

    name = "plugin-eval"
    looks_for = "a plugin of Claude Code with evals/*/case.yaml or prompt.md"

    def recognises(self, path: Path) -> bool:
        """Whether a path is a plugin with cases, or the folder of its cases."""
        try:
            return path.is_dir() and find_plugin(path) is not None
        except (OSError, ValueError, UsageError):
            return False

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read every case, and copy the plugin without its evals."""
        agent = overrides.agent or DEFAULT_AGENT
        if file_locations_of(agent).plugin_flag is None:
            raise UsageError(f"{agent} does not load plugins of Claude Code; leave -a out, or name claude-code.")
        place = find_plugin(path)
        if place is None:
            raise UsageError(f"{path} has no cases: neither evals/*/case.yaml nor evals/*/prompt.md. Write some.")
        cases, left_out = _readable(place)
        name = slug(place.name, "plugin")
        names = make_unique(slug(case.name, "case") for case in cases)
        named = dict(zip(names, cases, strict=True))
        graded = {task: read_graders(case) for task, case in named.items()}
        drafts = tuple(_task(task, case, graded[task]) for task, case in named.items())
        rules = draft_judging(drafts, _JUDGE)
        plugin = {
            f"plugins/{name}/{inside}": file
            for inside, file in read_tree(place.plugin, without=_is_part_of(place.evals, place.plugin)).items()
        }
        if not plugin:
            raise UsageError(f"{place.plugin} has nothing but evals; name the folder of the plugin itself.")
        mocks = read_mocks(place.evals, {path.removeprefix(f"plugins/{name}/"): plugin[path] for path in plugin})
        return SuiteDraft(
            spec=SuiteSpec(
                name=name,
                tasks=["tasks/*"],
                arms=_arms(name, agent, overrides.model or _only_model(cases), cases),
                baseline=WITHOUT_ARM,
                repeats=max(map(_runs, cases)),
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files=plugin | {f"plugins/{name}/{inside}": file for inside, file in mocks.files.items()},
            comments={**_comments(name, len(cases)), **rules.comments},
            notes=(*left_out, *rules.notes, *_notes(named, graded), *_mock_notes(named), *mocks.notes),
        )


def _readable(place: PluginLocation) -> tuple[list[EvalCase], list[str]]:
    found = list(read_cases(place))
    cases = [each for each in found if isinstance(each, EvalCase) and not each.context.get("history_file")]
    notes = [each for each in found if isinstance(each, str)]
    resumed = [each.name for each in found if isinstance(each, EvalCase) and each.context.get("history_file")]
    if resumed:
        notes.append(f"{quote_names(resumed)} go on with a session (`history_file`), so they were left out.")
    if not cases:
        raise UsageError(f"{place.evals}: none of its cases can be run. {' '.join(notes[:3])} Fix them there.")
    return cases, notes


def _is_part_of(evals: Path, plugin: Path) -> Callable[[PurePosixPath], bool]:
    inside = PurePosixPath(evals.relative_to(plugin).as_posix())
    return lambda path: path == inside


def _task(name: str, case: EvalCase, grading: CaseGrading) -> TaskDraft:
    files, setup = _scaffold(case)
    seconds = as_amount(case.execution.get("timeout_seconds")) or DEFAULT_SECONDS
    settings = TaskSettings(
        checks=grading.checks,
        rubric=grading.rubric,
        timeout_seconds=float(min(seconds, MOST_SECONDS)),
        setup=setup,
        environment=_environment(case),
    )
    return TaskDraft(
        name=name,
        instruction=case.prompt,
        settings=validated(settings),
        files={**files, **_added_folders(case)},
    )


def _scaffold(case: EvalCase) -> tuple[dict[str, DraftFile], list[str | SetupCommand]]:
    """The script that fills the workspace, with the files of the case around it; they are gone before the agent."""
    stated = as_str(case.context.get("scaffold_script"))
    if not stated:
        return {}, []
    script = file_of_case(case, stated, "scaffold_script")
    inside = script.relative_to(case.folder.resolve()).as_posix()
    around = read_tree(case.folder, without=lambda path: path.parts[0] in _NOT_SCAFFOLD)
    files = {**around, inside: read_suite_file(script)}
    command = f"bash {_SCAFFOLD_FOLDER}/'{inside}' && rm -rf {_SCAFFOLD_FOLDER}"
    return (
        {f"{WORKSPACE_FOLDER}/{_SCAFFOLD_FOLDER}/{path}": file for path, file in files.items()},
        [SetupCommand(run=command, timeout_seconds=_SCAFFOLD_SECONDS)],
    )


def _added_folders(case: EvalCase) -> dict[str, DraftFile]:
    found: dict[str, DraftFile] = {}
    for stated in as_names(case.context.get("add_dirs")) or ():
        folder = file_of_case(case, stated, "add_dirs")
        if not folder.is_dir():
            raise UsageError(f"{case.folder}: add_dirs: there is no folder {stated!r}.")
        for path, file in read_tree(folder).items():
            found[f"{WORKSPACE_FOLDER}/{folder.name}/{path}"] = file
    return found


def _environment(case: EvalCase) -> dict[str, str]:
    stated = as_dict(case.execution.get("env"))
    return {name: value for name, value in stated.items() if isinstance(value, str) and name.isidentifier()}


def _arms(name: str, agent: str, model: str | None, cases: Sequence[EvalCase]) -> dict[str, ArmSpec]:
    allowed = {tool for case in cases for tool in _allowed(case)}
    refused = set.intersection(*(set(_refused(case)) for case in cases))
    withheld = [tool for tool in GATED_TOOLS if tool not in allowed] + sorted(refused - set(GATED_TOOLS))
    return {
        WITHOUT_ARM: ArmSpec(
            agent=agent,
            model=model,
            flags=[f"--disallowedTools={','.join(withheld)}"] if withheld else [],
            options={"max_turns": max(map(_turns, cases))},
        ),
        WITH_ARM: ArmSpec(extends=WITHOUT_ARM, plugins=[f"plugins/{name}"]),
    }


def _allowed(case: EvalCase) -> list[str]:
    """The tools that a case allows, without the patterns of their arguments."""
    return [tool.partition("(")[0] for tool in as_names(case.execution.get("allowed_tools")) or ()]


def _refused(case: EvalCase) -> list[str]:
    named = as_names(case.execution.get("disallowed_tools")) or ()
    return [tool for tool in named if tool.replace("_", "").isalnum()]


def _runs(case: EvalCase) -> int:
    return min(as_count(case.table.get("runs")) or DEFAULT_RUNS, MOST_RUNS)


def _turns(case: EvalCase) -> int:
    return min(as_count(case.execution.get("max_turns")) or DEFAULT_TURNS, MOST_TURNS)


def _only_model(cases: Sequence[EvalCase]) -> str | None:
    models = {as_str(case.execution.get("model")) for case in cases}
    return models.pop() if len(models) == 1 else None


def _comments(name: str, cases: int) -> dict[str, str]:
    return {
        "": f"Does the plugin {name} make a difference? The same agent without it and with it, on "
        f"{'one case' if cases == 1 else f'{cases} cases'} of its author, in random order.",
        "repeats": "Runs of every case in every arm. A verdict takes at least 6 cases, and a better pass rate alone is "
        "called improved from 7 on; `outweigh plan -c` says what can be seen.",
        f"arms.{WITH_ARM}": "The only difference: a copy of the plugin, without its evals. For pull requests of the "
        "plugin's repository, name its own folder instead.",
    }


def _notes(named: Mapping[str, EvalCase], graded: Mapping[str, CaseGrading]) -> Iterator[str]:
    for task, grading in graded.items():
        yield from (f"{task}: {note}" for note in grading.notes)
        if not grading.checks and grading.rubric is None:
            yield f"{task}: nothing is left to grade it by; write checks for it."
    yield from _differing(named, "runs", _runs)
    yield from _differing(named, "max_turns", _turns)
    models = {as_str(case.execution.get("model")) for case in named.values()}
    if len(models) > 1:
        yield f"The cases name different models ({quote_names(sorted(filter(None, models)))}); name one with -m."
    tools = {tool for case in named.values() for tool in _allowed(case)} & set(GATED_TOOLS)
    fewer = [task for task, case in named.items() if not tools <= set(_allowed(case))]
    if fewer:
        allowed = quote_names(sorted(tools))
        yield f"{quote_names(fewer)} allow fewer tools than others; here every case may use {allowed}."
    for key in _UNREAD_EXECUTION:
        if having := [task for task, case in named.items() if case.execution.get(key) is not None]:
            yield f"`{key}` of {quote_names(having)} has no counterpart in a suite."
    if having := [task for task, case in named.items() if as_list(case.table.get("plugins"))]:
        yield f"`plugins` of {quote_names(having)} names further plugins; add them to both arms."
    tagged: dict[str, list[str]] = {}
    for task, case in named.items():
        for tag in as_names(case.table.get("tags")) or ():
            tagged.setdefault(tag, []).append(task)
    for tag, tasks in sorted(tagged.items()):
        yield f"The tag {tag!r} is on {quote_names(tasks)}; a suite has no tags, and `tasks` selects folders."
    unnamed = [
        task
        for task, case in named.items()
        if (case.folder / "scaffold.sh").is_file() and not case.context.get("scaffold_script")
    ]
    if unnamed:
        yield f"{quote_names(unnamed)} have a scaffold.sh that no `scaffold_script` names, so it is not run."
    if any(grading.rubric is not None for grading in graded.values()):
        yield (
            "`claude plugin eval` asks its judge three times and takes the majority, and so does the judge here; but "
            "its score is kept apart from the checks."
        )


def _differing(named: Mapping[str, EvalCase], key: str, read_count: Callable[[EvalCase], int]) -> Iterator[str]:
    found = {task: read_count(case) for task, case in named.items()}
    most = max(found.values())
    if fewer := [task for task, value in found.items() if value < most]:
        yield f"`{key}` is the same for all cases of a suite, so it is {most} for {quote_names(fewer)}, too."


def _mock_notes(named: Mapping[str, EvalCase]) -> Iterator[str]:
    if having := [task for task, case in named.items() if (case.folder / MOCK_FOLDER).is_dir()]:
        yield f"Mocks of a single case ({quote_names(having)}) were left out; those below `evals` are for all cases."
