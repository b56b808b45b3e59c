"""Read the evidence of a command: every record of its stores, checked, scored and joined, and the arms to compare.

Everything that may block a promotion is put together here, for the library and for every command alike: rows that
could not be read, judges' limits, and rules that were edited after the runs.
"""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from outweigh.app.candidate_family import compare_candidate, prepare_evidence
from outweigh.app.choose_arms import ArmChoice, choose_arms
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence, gather
from outweigh.errors import UsageError
from outweigh.model.choice import ChoiceRecord
from outweigh.model.task_list import TASK_LIST_FILE, TaskList, parse_task_list
from outweigh.prices import price_tables
from outweigh.report.correction_lines import describe_correction
from outweigh.score.composite import Profile
from outweigh.score.objective import Change
from outweigh.store.store_set import StoreSet


class EvidenceRequest(Struct, frozen=True, kw_only=True):
    """What to read. `prices` and `changes` are files; the bundled prices follow the caller's.

    `columns` are those that the user named when the stores were opened, for commands that read them again. With
    `with_quarantined`, runs of tasks count that the suite sets aside. `task_list` is a file, or its folder, that names
    the tasks that count.
    """

    stores: StoreSet
    skip_invalid: bool = False
    prices: str | None = None
    changes: str | None = None
    columns: Mapping[str, str] = {}
    with_quarantined: bool = False
    task_list: str | None = None

    def option_words(self) -> Iterator[str]:
        """The options of a command that reads the same records in the same way."""
        if self.skip_invalid:
            yield "--skip-invalid"
        if self.prices is not None:
            yield f"--prices={self.prices}"
        for field, column in self.columns.items():
            yield f"--map={field}={column}"
        if self.task_list is not None:
            yield f"--task-list={self.task_list}"


def read_evidence(request: EvidenceRequest) -> Evidence:
    """Read, check and score everything that the stores hold; of a dataset, everything that it keeps."""
    changes = () if request.changes is None else read_changes(request.changes)
    evidence = _gather(request, changes) if request.stores.dataset is None else _read_dataset(request, changes)
    corrections = request.stores.corrections()
    warnings = (
        *evidence.warnings,
        *request.stores.warnings(),
        *_choice_warnings(request.stores, evidence),
        *map(describe_correction, corrections),
    )
    return replace(evidence, warnings=warnings, scans=request.stores.scans(), corrections=corrections)


def _read_dataset(request: EvidenceRequest, changes: Sequence[Change]) -> Evidence:
    from outweigh.app.dataset_evidence import open_dataset, read_dataset  # noqa: PLC0415 - needs an extra

    stores = open_dataset(request.stores)
    for option, given in (("--prices", request.prices), ("--task-list", request.task_list)):
        if given is not None:
            stores.refuse(f"its scores are computed already, and {option} would change them")
    return read_dataset(stores, changes)


def _gather(request: EvidenceRequest, changes: Sequence[Change]) -> Evidence:
    stream = request.stores.read(skip_invalid=request.skip_invalid)
    with _without_collector():
        evidence = gather(
            stream,
            prices=price_tables(request.prices),
            changes=changes,
            skipped=stream.skipped,
            judge_rules=request.stores.judge_rules(),
            quarantine=() if request.with_quarantined else request.stores.quarantine(),
            task_list=None if request.task_list is None else read_task_list(request.task_list),
            is_for_choosing=request.stores.choosing_runs(),
        )
    stream.check_rules()
    return evidence


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let no garbage collector look at what is read: scores and sums are many, all stay, and none refers to itself.

    It would look at all of them again and again, and at the end once more if they did not count as old ones then.
    """
    if not gc.isenabled() or gc.get_freeze_count():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def _choice_warnings(stores: StoreSet, evidence: Evidence) -> Iterator[str]:
    """What the choices of inheriting arms mean for a reader; refuses one that does not follow from its records."""
    if not any(
        store.choices or (store.experiment is not None and store.experiment.inherits) for store in stores.stores
    ):
        return
    from outweigh.app.inherited_choices import check_choices  # noqa: PLC0415 - only where arms inherit
    from outweigh.compare.held_out import describe_choices  # noqa: PLC0415

    choices: dict[str, ChoiceRecord] = {}
    for store in dict.fromkeys(stores.stores):
        check_choices(store)
        choices |= store.choices
    yield from describe_choices(choices, evidence.chosen_by, evidence.arms)


def read_task_list(path: str) -> TaskList:
    """Read the list that `outweigh suite prune` wrote; its folder may be named instead."""
    file = Path(path) / TASK_LIST_FILE if Path(path).is_dir() else Path(path)
    try:
        return parse_task_list(file.read_bytes(), str(file))
    except OSError as fault:
        raise UsageError(f"--task-list {file} cannot be read: {fault.strerror}.") from fault


def read_changes(path: str) -> Sequence[Change]:
    """Read `{"id": …, "arm": …, "failed": …, "reverted": …}` lines."""
    decoder = msgspec.json.Decoder(Change)
    changes = []
    try:
        for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
            if line.strip():
                changes.append(_decode_change(decoder, line, f"{path}:{number}"))
    except OSError as fault:
        raise UsageError(f"--changes {path} cannot be read: {fault.strerror}.") from fault
    if len({(change.arm, change.id) for change in changes}) < len(changes):
        raise UsageError(f"--changes {path} names a change of one arm twice; list every change once.")
    return changes


def _decode_change(decoder: "msgspec.json.Decoder[Change]", line: bytes, place: str) -> Change:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise UsageError(f"{place}: {fault}. A change has id, arm, failed and reverted.") from fault


class ComparedArms(Struct, frozen=True, kw_only=True):
    """The evidence, and every candidate beside the baseline.

    `note` says how the baseline was found where neither the user nor the suite named it. `earlier` are versions of arms
    that the suite no longer has.
    """

    stores: StoreSet
    evidence: Evidence
    baseline: str
    candidates: tuple[str, ...]
    profile: Profile
    comparisons: tuple[Comparison, ...]
    note: str | None = None
    earlier: tuple[Comparison, ...] = ()


def compare_candidates(
    request: EvidenceRequest, arms: ArmChoice, *, refuse_several: str | None = None, with_earlier: bool = False
) -> ComparedArms:
    """Read the records and put every candidate beside the baseline.

    `refuse_several` is what to say where more than one is named; then the only other arm is the default, not all. With
    `with_earlier`, earlier versions are compared too where no candidate is named.
    """
    evidence = read_evidence(request)
    baseline, candidates, note = choose_arms(request.stores, arms, evidence, several=refuse_several is None)
    if refuse_several is not None and len(candidates) > 1:
        raise UsageError(refuse_several)
    stores = request.stores
    profile = stores.profile(arms.profile)
    experiment = stores.experiment
    earlier: tuple[str, ...] = ()
    if with_earlier and experiment is not None and not arms.candidates:
        earlier = tuple(name for name in experiment.earlier_candidates if name in evidence.arms and name != baseline)
    return ComparedArms(
        stores=stores,
        evidence=prepare_evidence(evidence, stores, baseline, candidates[0]),
        baseline=baseline,
        candidates=candidates,
        profile=profile,
        comparisons=tuple(compare_candidate(evidence, stores, baseline, name, profile) for name in candidates),
        earlier=tuple(compare_candidate(evidence, stores, baseline, name, profile) for name in earlier),
        note=note,
    )
