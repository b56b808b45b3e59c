"""`arms.toml`: arms and tasks of a store that are put right after its runs, while no record is touched.

The file lists steps, which are applied in order: rename, merge as repeats, split by a field, drop. What they do to a
run is worked out here; `store/corrections_file.py` reads the file and applies it to everything that reads records.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from outweigh.errors import EvidenceError, quote_names
from outweigh.model.codec import LocatedRecord
from outweigh.model.run_record import ARBITRARY_REPEAT, REPEAT_LABEL, RunRecord, Trial

CORRECTIONS_FILE = "arms.toml"
CORRECTIONS_SCHEMA = "outweigh.arms/1"
CORRECTED_LABEL = "corrected_by"
"""The label of a run whose arm lost runs, or is made of unlike ones, since a correction: the hash of the file."""

SPLIT_FIELDS = ("agent.model", "agent.name", "agent.version", "family", "arm_fingerprint", "task_checksum")
"""What a split may go by, beside the labels in `extra`: what was set up, and nothing that was measured."""
_EXTRA = "extra."


class CorrectionStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step about arms or tasks: exactly one of `rename`, `merge`, `split` and `drop`, with what belongs to it."""

    rename: str | None = None
    to: str | None = None
    merge: tuple[str, ...] = ()
    into: str | None = None
    split: str | None = None
    by: str | None = None
    drop: str | None = None

    def __post_init__(self) -> None:
        """Refuse a step that is none, or several."""
        kinds = (
            (self.rename is not None, self.to is not None, "rename = NAME needs to = NAME"),
            (bool(self.merge), self.into is not None, "merge = [NAME, NAME] needs into = NAME"),
            (self.split is not None, self.by is not None, "split = NAME needs by = FIELD"),
        )
        if sum(given for given, _, _ in kinds) + (self.drop is not None) != 1:
            raise ValueError("a step has one of rename, merge, split and drop")
        for given, completed, rule in kinds:
            if given != completed:
                raise ValueError(rule)
        if self.merge and (len(self.merge) < 2 or len(set(self.merge)) < len(self.merge)):
            raise ValueError("merge lists two names or more, each once")
        if "" in (self.rename, self.to, self.into, self.split, self.drop, *self.merge):
            raise ValueError("a name is empty")
        if self.by is not None and not may_split_by(self.by):
            raise ValueError(
                f"by = {self.by!r} is none of {', '.join(SPLIT_FIELDS)} and {_EXTRA}NAME: what a run came to does not "
                "tell arms apart"
            )

    @property
    def sources(self) -> tuple[str, ...]:
        """The names that the step is about."""
        alone = self.rename or self.split or self.drop
        return self.merge if alone is None else (alone,)

    @property
    def target(self) -> str | None:
        """The name that the step gives."""
        return self.to or self.into


def may_split_by(field: str) -> bool:
    """Whether a field says what was set up, and not what came of it."""
    return field in SPLIT_FIELDS or (field.startswith(_EXTRA) and len(field) > len(_EXTRA))


class CorrectionSteps(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of the file."""

    schema: str
    arms: tuple[CorrectionStep, ...] = ()
    tasks: tuple[CorrectionStep, ...] = ()


class CorrectedArm(Struct, frozen=True, kw_only=True):
    """What corrections did to one arm: runs that only have other names, that came from elsewhere, and that are gone.

    `gone` runs were recorded under a name that this arm is made of, and are dropped or in another arm now. `unlike`
    says that merged arms or tasks are not known to be the same, `split` that runs were sorted by a field.
    """

    renamed: int = 0
    moved: int = 0
    gone: int = 0
    unlike: bool = False
    split: bool = False

    @property
    def is_selected(self) -> bool:
        """Whether someone chose, after the runs, which of them make up the arm."""
        return bool(self.gone) or self.unlike or self.split


class CorrectionSummary(Struct, frozen=True, kw_only=True):
    """What a file of corrections did to its store. `dropped` runs are of no arm now."""

    place: str
    sha256: str
    renamed: int
    moved: int
    dropped: int
    arms: Mapping[str, CorrectedArm]


def parse_steps(content: bytes, place: str) -> CorrectionSteps:
    """Read the file; EvidenceError where it is not what it should be."""
    try:
        found = msgspec.toml.decode(content, type=CorrectionSteps)
    except (ValueError, msgspec.MsgspecError) as fault:
        raise EvidenceError(f"{place} cannot be used: {fault}. docs/import.md shows what it may say.") from fault
    if found.schema != CORRECTIONS_SCHEMA:
        raise EvidenceError(f"{place} has the schema {found.schema!r}; it must be {CORRECTIONS_SCHEMA!r}.")
    return found


class _Place(Struct, frozen=True):
    """Where a name ends up; `order` is its place among those that it was merged with."""

    name: str
    order: tuple[int, ...] = ()
    merged: bool = False
    split: bool = False


class _Names:
    """The steps about arms, or those about tasks, and which names came to each step."""

    def __init__(self, kind: str, steps: Sequence[CorrectionStep]) -> None:
        self._kind = kind
        self._steps = steps
        self._met: list[Counter[str]] = [Counter() for _ in range(len(steps) + 1)]
        self._known_fields: list[bool] = [False] * len(steps)

    def place(self, name: str, run: RunRecord, *, note: bool = False) -> _Place | None:
        """Where a run's name ends up; None where the run is dropped."""
        found = _Place(name)
        for number, step in enumerate(self._steps):
            if note:
                self._met[number][found.name] += 1
            if found.name not in step.sources:
                continue
            if step.drop is not None:
                return None
            if step.by is not None:
                value = field_value(run, step.by)
                self._known_fields[number] |= value is not None
                part = f"({step.by} unknown)" if value is None else value
                found = replace(found, name=f"{found.name} {part}", split=True)
            elif step.merge:
                order = (step.merge.index(found.name), *found.order)
                found = _Place(step.into or "", order, merged=True, split=found.split)
            else:
                found = replace(found, name=step.to or "")
        if note:
            self._met[-1][found.name] += 1
        return found

    def check(self, place: str) -> None:
        """Refuse a step about a name that no run has by then, and one that would join what it does not list."""
        for number, step in enumerate(self._steps):
            met, where = self._met[number], f"{place}: step {number + 1} of [[{self._kind}s]]"
            for name in step.sources:
                if name not in met:
                    raise EvidenceError(f"{where}: there is no {self._kind} {name!r} by then; {_suggest(name, met)}")
            if step.target is not None and step.target in met and step.target not in step.sources:
                raise EvidenceError(
                    f"{where}: there is already {_article(self._kind)} {step.target!r}. To join them, use merge = "
                    f"{[*step.sources, step.target]} and into = {step.target!r}; else choose another name."
                )
            if step.by is not None and not self._known_fields[number]:
                raise EvidenceError(
                    f"{where}: no run of {step.split!r} has the field {step.by!r}, so there is nothing to split it by."
                )


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _suggest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

    names = [*known]
    near = get_close_matches(name, names, n=1)
    return f"there are {quote_names(names, 10)}.{f' Did you mean {near[0]!r}?' if near else ''}"


def field_value(run: RunRecord, field: str) -> str | None:
    """A field of a run as text, by its path; None where the run does not have it."""
    found: object = run
    for part in field.split("."):
        found = found.get(part) if isinstance(found, dict) else getattr(found, part, None)
    if isinstance(found, bool):
        return str(found).lower()
    return str(found) if isinstance(found, str | int | float) and str(found).strip() else None


_Source = tuple[tuple[int, ...], tuple[int, ...], int, str, str]
"""An earlier trial: its places among merged arms and tasks, its repeat, its arm and its task."""


class Corrections:
    """The steps of one store, worked out for its runs: where each of them ends up, and what that means.

    Merged trials of equal numbers are numbered anew, from 1: in the order in which `merge` lists their arms, then their
    tasks, then by their own number. Such numbers pair nothing.
    """

    def __init__(self, content: bytes, place: str, runs: Iterable[RunRecord]) -> None:
        self.sha256 = sha256(content).hexdigest()
        steps = parse_steps(content, place)
        self._arms, self._tasks = _Names("arm", steps.arms), _Names("task", steps.tasks)
        self._repeats: dict[tuple[str, str], dict[_Source, int]] = {}
        self._count(runs, place)

    def _count(self, runs: Iterable[RunRecord], place: str) -> None:
        """One reading of all runs, which finds every mistake before anything is compared."""
        groups: dict[tuple[str, str], set[_Source]] = defaultdict(set)
        counted: dict[str, Counter[str]] = defaultdict(Counter)
        origins: dict[str, Counter[str]] = defaultdict(Counter)
        recorded: Counter[str] = Counter()
        alike: dict[tuple[str, ...], set[str | None]] = defaultdict(set)
        dropped = 0
        for run in runs:
            trial = run.trial
            recorded[trial.arm] += 1
            arm = self._arms.place(trial.arm, run, note=True)
            task = self._tasks.place(trial.task_id, run, note=True)
            if arm is None or task is None:
                dropped += 1
                continue
            groups[task.name, arm.name].add(_source(trial, arm, task))
            origins[arm.name][trial.arm] += 1
            if arm.merged:
                alike["arm", arm.name].add(run.arm_fingerprint)
            if task.merged:
                alike["task", arm.name, task.name].add(run.task_checksum)
            moved = arm.merged or arm.split or task.merged or task.split
            kind = "moved" if moved else "renamed" if (arm.name, task.name) != (trial.arm, trial.task_id) else "kept"
            counted[arm.name][kind] += 1
            counted[arm.name]["split"] += arm.split or task.split
        self._origins, self._recorded = origins, recorded
        self._arms.check(place)
        self._tasks.check(place)
        if not counted:
            raise EvidenceError(f"{place} drops every run of the store; take a step out.")
        for group, sources in groups.items():
            if len({source[2] for source in sources}) < len(sources):
                self._repeats[group] = {source: number for number, source in enumerate(sorted(sources), start=1)}
        unlike = {names[1] for names, seen in alike.items() if len(seen) > 1 or None in seen}
        self.summary = CorrectionSummary(
            place=place,
            sha256=self.sha256,
            renamed=sum(counts["renamed"] for counts in counted.values()),
            moved=sum(counts["moved"] for counts in counted.values()),
            dropped=dropped,
            arms={
                name: CorrectedArm(
                    renamed=counts["renamed"],
                    moved=counts["moved"],
                    gone=sum(recorded[origin] - kept for origin, kept in origins[name].items()),
                    unlike=name in unlike,
                    split=bool(counts["split"]),
                )
                for name, counts in counted.items()
            },
        )

    def new_name(self, arm: str) -> str | None:
        """The arm that has all runs of a recorded one now; None where they are in several, or some are dropped."""
        found = [name for name, origins in self._origins.items() if arm in origins]
        return found[0] if len(found) == 1 and self._origins[found[0]][arm] == self._recorded[arm] else None

    def apply(self, records: Iterable[LocatedRecord]) -> Iterator[LocatedRecord]:
        """The same records with the names that the steps give them, without those that are dropped."""
        for located in records:
            if not isinstance(located.record, RunRecord):
                yield located
            elif (run := self._corrected(located.record)) is not None:
                yield CorrectedRecord.of(located, run, self.sha256)

    def _corrected(self, run: RunRecord) -> RunRecord | None:
        trial = run.trial
        arm, task = self._arms.place(trial.arm, run), self._tasks.place(trial.task_id, run)
        if arm is None or task is None:
            return None
        extra = run.extra
        repeat = self._repeats.get((task.name, arm.name), {}).get(_source(trial, arm, task))
        if repeat is not None:
            extra = extra | {REPEAT_LABEL: ARBITRARY_REPEAT}
        if (effect := self.summary.arms.get(arm.name)) is not None and effect.is_selected:
            extra = extra | {CORRECTED_LABEL: self.sha256}
        new = replace(
            trial, task_id=task.name, arm=arm.name, repeat=trial.repeat if repeat is None else repeat, seed=trial.seed
        )
        return run if new == trial and extra is run.extra else replace(run, trial=new, extra=extra)


def _source(trial: Trial, arm: _Place, task: _Place) -> _Source:
    return arm.order, task.order, trial.repeat, trial.arm, trial.task_id


class CorrectedRecord(LocatedRecord):
    """A run under its corrected names. Its hash is that of the record as it is stored."""

    stored_digest: bytes
    corrections: str

    @classmethod
    def of(cls, located: LocatedRecord, run: RunRecord, corrections: str) -> "CorrectedRecord":
        """The run in place of the one that was read."""
        corrected = cls(run, located.source, located.line)
        corrected.stored_digest, corrected.corrections = located.digest, corrections
        return corrected

    @property
    def digest(self) -> bytes:
        """The hash of the record, whatever it is called now."""
        return self.stored_digest

    def as_evidence(self, digest: bytes) -> bytes:
        """The hash of the record and of the corrections: evidence that is sorted otherwise is other evidence."""
        return sha256(digest + self.corrections.encode()).digest()
