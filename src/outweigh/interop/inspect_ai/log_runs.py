"""Runs from Inspect's logs: which arm each log is of, which logs repeat others, and the runs of their samples."""

from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from outweigh.errors import EvidenceError
from outweigh.interop.arm_settings import Settings, name_configurations, varying_settings
from outweigh.interop.imported_run import fingerprint, stable_id
from outweigh.interop.inspect_ai.log_reader import InspectLog, SampleSummary, open_inspect_log, summarize_sample
from outweigh.interop.inspect_ai.sample_reader import LogContext, sample_runs
from outweigh.model.run_record import TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name
from outweigh.ports.importers import ImportNotes, ImportRequest

_ARM_SETTINGS = ("model", "model_args", "model_roles", "solver", "solver_args")
_RUNNING_SETTINGS = frozenset(
    {"max_connections", "adaptive_connections", "max_retries", "timeout", "attempt_timeout", "batch", "cache"}
)
"""How requests are sent, which changes no answer."""

_RANDOM_KEYS = frozenset({"instance"})
"""Ids that tools draw anew for every log."""

_OWN_PREFIX = "outweigh "


@dataclass(frozen=True, kw_only=True)
class _Log:
    """A log to be read, and its header; without slots, because it caches properties."""

    path: Path
    header: Mapping[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        """The evaluation: its task, model and solver."""
        return as_dict(self.header.get("eval"))

    @property
    def task(self) -> str:
        """The task's name; its samples are the tasks of a comparison."""
        return as_name(self.spec.get("task")) or "task"

    @property
    def arm(self) -> str:
        """Model and solver, as far as they are named; in a log that outweigh exported, the solver alone is the arm."""
        ours = (as_name(as_dict(self.spec.get("metadata")).get("written_by")) or "").startswith(_OWN_PREFIX)
        parts = (None if ours else as_name(self.spec.get("model")), as_name(self.spec.get("solver")))
        return stable_id(" ".join(part for part in parts if part) or "inspect")

    @cached_property
    def own_settings(self) -> dict[str, Any]:
        """What is under test whatever the task is: the model and the solver with their settings."""
        found = {key: self.spec.get(key) for key in _ARM_SETTINGS} | _prefixed(
            "", _answer_settings(self.spec.get("model_generate_config"))
        )
        return {key: value for key, value in found.items() if value not in (None, {}, [])}

    @cached_property
    def task_settings(self) -> dict[str, Any]:
        """What a task sets, or somebody sets for a task: its arguments, and the solver's steps and configuration."""
        plan = as_dict(self.header.get("plan"))
        steps = _without_random_ids([*as_list(plan.get("steps")), as_dict(plan.get("finish"))])
        return {
            **_prefixed("task_args", as_dict(self.spec.get("task_args"))),
            **_prefixed("config", _answer_settings(plan.get("config"))),
            "plan": "+".join(as_name(as_dict(step).get("solver")) or "step" for step in steps if step),
            "steps": fingerprint(steps),
        }

    @cached_property
    def asked(self) -> list[Hashable]:
        """What the log asked: its samples as far as it lists them, else its task."""
        listed = as_list(as_dict(self.spec.get("dataset")).get("sample_ids"))
        return [(self.task, each) for each in listed if isinstance(each, str | int)] or [(self.task, None)]

    @property
    def run(self) -> str:
        """The id of one execution of one task."""
        known = as_name(self.spec.get("eval_id"))
        return known or stable_id(self.spec.get("run_id"), self.spec.get("task_id"))

    @cached_property
    def scorers(self) -> list[str]:
        """The scorers, with Inspect's headline scorer first."""
        results = as_dict(self.header.get("results"))
        found = [
            as_dict(results.get("headline")).get("scorer"),
            *(as_dict(each).get("scorer") for each in as_list(results.get("scores"))),
            *(as_dict(each).get("name") for each in as_list(self.spec.get("scorers"))),
        ]
        return list(dict.fromkeys(each for each in map(as_name, found) if each))

    @property
    def score_parts(self) -> list[tuple[str, str]]:
        """Scorers that give several values, each with the name of a value."""
        scores = map(as_dict, as_list(as_dict(self.header.get("results")).get("scores")))
        named = [(as_name(each.get("scorer")), as_name(each.get("name"))) for each in scores]
        return list(dict.fromkeys((scorer, part) for scorer, part in named if scorer and part and scorer != part))


def read_single_log(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of one log, which is opened once."""
    with open_inspect_log(request.path, notes) as opened:
        yield from _all_runs([_Log(path=request.path, header=opened.header)], opened, request, notes)


def read_logs(files: Iterable[Path], request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of many logs.

    All headers are read first, so that arms with the same name and different configurations are told apart.
    """
    yield from _all_runs(_without_retried(_headers(files, notes), notes), None, request, notes)


def _all_runs(
    logs: list[_Log], opened: InspectLog | None, request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    """The runs log by log; a single log is passed in opened."""
    arms = _arms(logs, notes)
    if request.arm is not None:
        arms = {path: _Arm(request.arm, arm.fingerprint) for path, arm in arms.items()}
    repeats: Counter[tuple[str, str]] = Counter()
    again = Counter((log.task, arms[log.path].name) for log in logs)
    for log in sorted(logs, key=lambda each: str(each.spec.get("created"))):
        arm = arms[log.path]
        key = (log.task, arm.name)
        evaluation = LogContext(
            task=log.task,
            arm=arm.name,
            repeats_before=repeats[key] if again[key] > 1 else None,
            arm_fingerprint=arm.fingerprint,
            run=log.run,
            solver=as_name(log.spec.get("solver")),
            model=as_name(log.spec.get("model")),
            scorer=_scorer(log, request, notes),
        )
        with nullcontext(opened) if opened is not None else open_inspect_log(log.path, notes) as source:
            read = yield from _runs(source, evaluation, request, notes)
        repeats[key] += as_count(as_dict(log.spec.get("config")).get("epochs")) or 1
        _report_log(log, source, evaluation, read, notes)


def _headers(files: Iterable[Path], notes: ImportNotes) -> list[_Log]:
    found = []
    for file in files:
        with open_inspect_log(file, notes) as opened:
            found.append(_Log(path=file, header=opened.header))
    return found


def _without_retried(logs: list[_Log], notes: ImportNotes) -> list[_Log]:
    """The logs without those that were retried: the later log with the same task id has their samples again."""
    chosen: dict[object, _Log] = {}
    for log in logs:
        key = as_name(log.spec.get("task_id")) or log.path
        before = chosen.get(key)
        if before is None:
            chosen[key] = log
            continue
        older, newer = sorted((before, log), key=lambda each: str(each.spec.get("created")))
        chosen[key] = newer
        notes.warn(f"{older.path.name} is left out: {newer.path.name} is the same evaluation, retried or converted.")
    return list(chosen.values())


class _Arm(NamedTuple):
    name: str
    fingerprint: str


def _arms(logs: list[_Log], notes: ImportNotes) -> dict[Path, _Arm]:
    """The arm of every log: its own settings, and those of its task that two logs of one task set differently."""
    groups: dict[str, list[_Log]] = defaultdict(list)
    for log in logs:
        groups[fingerprint(log.own_settings)].append(log)
    sharing: dict[str, dict[str, Settings]] = defaultdict(dict)
    arms: dict[Path, _Arm] = {}
    for group in groups.values():
        varying = varying_settings((asked, log.task_settings) for log in group for asked in log.asked)
        for log in group:
            chosen = {key: value for key, value in log.task_settings.items() if key in varying}
            settings = {**chosen, **log.own_settings}
            arms[log.path] = _Arm(log.arm, fingerprint(settings))
            sharing[log.arm][arms[log.path].fingerprint] = settings
    names: dict[str, str] = {}
    for arm, configurations in sharing.items():
        names |= zip(configurations, name_configurations(arm, _shown_settings(configurations.values())), strict=True)
        for configuration in configurations if len(configurations) > 1 else ():
            file = next(log.path.name for log in logs if arms[log.path].fingerprint == configuration)
            notes.warn(f"{names[configuration]} is {file}: {arm} was evaluated in different configurations.")
    return {path: _Arm(names[arm.fingerprint], arm.fingerprint) for path, arm in arms.items()}


def _shown_settings(configurations: Iterable[Settings]) -> list[Settings]:
    """The settings by which arms are named: the names of the solver's steps where these tell them apart."""
    found = list(configurations)
    if len({str(each.get("plan")) for each in found}) == len(found):
        return [{key: value for key, value in each.items() if key != "steps"} for each in found]
    return found


def _prefixed(prefix: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{key}" if prefix else key: value for key, value in settings.items() if value is not None}


def _answer_settings(config: object) -> dict[str, Any]:
    return {key: value for key, value in as_dict(config).items() if key not in _RUNNING_SETTINGS}


def _without_random_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_random_ids(each) for key, each in value.items() if key not in _RANDOM_KEYS}
    return [_without_random_ids(each) for each in value] if isinstance(value, list) else value


def _scorer(log: _Log, request: ImportRequest, notes: ImportNotes) -> str | None:
    """The scorer that decides about success, or one value of a scorer with several, as `scorer.value`."""
    wanted = request.columns.get("success")
    if wanted is not None:
        known = {part: f"{scorer}.{part}" for scorer, part in log.score_parts}
        if not log.scorers or wanted in {*log.scorers, *known.values()}:
            return wanted
        if wanted in known:
            return known[wanted]
        if wanted.partition(".")[0] in log.scorers and not known:
            return wanted
        names = ", ".join([*log.scorers, *known.values()])
        raise EvidenceError(f"{log.path} has no scorer {wanted!r}; it has {names}. Say --map success=SCORER.")
    if len(log.scorers) > 1:
        notes.warn(
            f"success is what {log.scorers[0]!r} says; {', '.join(log.scorers[1:])} are kept beside it. Another one "
            "decides with --map success=SCORER."
        )
    return next(iter(log.scorers), None)


def _runs(
    opened: InspectLog, evaluation: LogContext, request: ImportRequest, notes: ImportNotes
) -> Generator[RunRecord, None, int]:
    number = 0
    for found in opened.samples:
        if not isinstance(found, dict):
            number += len(found)
            yield from _block_runs(opened, found, evaluation, request, notes)
            continue
        number += 1
        summary = summarize_sample(found)
        if summary is None:
            notes.unread(opened.path, 0, f"sample {number} has no id or epoch")
        else:
            yield from _block_runs(opened, [summary], evaluation, request, notes)
    return number


def _block_runs(
    opened: InspectLog,
    samples: Sequence[SampleSummary],
    evaluation: LogContext,
    request: ImportRequest,
    notes: ImportNotes,
) -> Iterable[RunRecord]:
    """The runs of some samples, with their transcripts where these are asked for."""
    runs = sample_runs(samples, evaluation, notes)
    if not request.transcripts:
        return runs
    from outweigh.interop.inspect_ai.sample_messages import trajectory_of_sample  # noqa: PLC0415 - seldom asked for

    kept = []
    for sample, run in zip(samples, runs, strict=True):
        content = opened.find_sample(sample.id, sample.epoch)
        found = None if content is None else trajectory_of_sample(content, evaluation.solver, evaluation.model)
        kept.append(run if found is None else replace(run, artifacts={TRAJECTORY_ARTIFACT: request.keep(found)}))
    return kept


def _report_log(log: _Log, opened: InspectLog, evaluation: LogContext, read: int, notes: ImportNotes) -> None:
    results = as_dict(log.header.get("results"))
    status = as_name(log.header.get("status")) or "started"
    if not opened.finished:
        notes.warn(
            f"{log.path.name} breaks off: still running, or crashed. The {read:,} samples that it holds are read."
        )
    elif status != "success":
        notes.warn(f"{log.path.name} ended as {status!r}; the {read:,} samples that it holds are read.")
    said = as_count(results.get("total_samples"))
    if read and said is not None and said != read:
        notes.warn(f"{log.path.name} announces {said:,} samples and holds {read:,}.")
    if results and not read:
        notes.aggregates.append({"log": log.path.name, "task": log.task, "arm": evaluation.arm, "results": results})
    for score in map(as_dict, as_list(results.get("scores"))):
        for metric, value in as_dict(score.get("metrics")).items():
            if (figure := as_amount(as_dict(value).get("value"))) is not None:
                notes.facts[f"{log.task}, {evaluation.arm}, {score.get('name')}: {metric}"] = figure
                if metric == "accuracy" and evaluation.scorer in (score.get("scorer"), _part_of(score)):
                    notes.state(evaluation.arm, metric, figure)


def _part_of(score: Mapping[str, Any]) -> str:
    return f"{score.get('scorer')}.{score.get('name')}"
