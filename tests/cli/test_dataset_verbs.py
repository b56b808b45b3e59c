"""What every verb makes of a dataset: exactly what it makes of the records, or a refusal that names the way out."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.cli.stores import write_store

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.open_runs import open_stores
from outweigh.cli.main import main
from outweigh.model.codec import encode
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec, PolicySpec
from outweigh.store.arm_versions import ArmVersion
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.judging_file import JudgingFile, write_judging
from outweigh.store.ledger import LedgerLine, copy_to_store
from outweigh.store.shard_files import ShardFile, begin_shard
from outweigh.testing.builders import a_judgment, a_run

TASKS = 12
_DAY = datetime(2026, 3, 1, tzinfo=UTC)


class Ended(NamedTuple):
    """How a command ended, with the names of what it read and wrote left out."""

    code: int
    out: str
    err: str


def runs_of(arm: str, share: float, tasks: Sequence[int] = range(TASKS)) -> list[RunRecord]:
    random = Random(arm)
    return [
        a_run(f"task {task}", arm, repeat, passed=random.random() < share) for task in tasks for repeat in range(1, 5)
    ]


def two_arms() -> list[RunRecord]:
    return [*runs_of("plain", 0.3), *runs_of("better", 0.9)]


def export(place: Path, *stores: str) -> str:
    assert main(["store", "export", *stores, "-o", f"{place}/"]) == 0
    return str(place)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A store, and a dataset of it."""
    folder = tmp_path_factory.mktemp("places")
    store = write_store(folder / "store", two_arms(), ("plain", "better"))
    return store, export(folder / "dataset", store)


def ended(words: Sequence[str], runs: str, out: Path, capsys: pytest.CaptureFixture[str]) -> Ended:
    capsys.readouterr()
    code = main([word.format(runs=runs, out=out) for word in words])
    said = capsys.readouterr()
    return Ended(code, *(text.replace(runs, "RUNS").replace(str(out), "OUT") for text in said))


SAME = (
    "verdict {runs} --format json",
    "verdict {runs} --verbose",
    "verdict {runs} --infer runs --format json",
    "verdict {runs} --policy gates --format json",
    "compare {runs} --format json",
    "report {runs} -o {out}.html",
    "plan {runs} --effect 0.1 --tasks 10 --repeats 3 --format json",
    "suite check {runs} --format json",
    "suite prune {runs} --tasks 6 -o {out}",
    "suite aa {runs} --arm plain --splits 5 --format json",
)


@pytest.mark.parametrize("command", SAME)
def test_a_verb_that_reads_a_dataset_says_what_it_says_of_the_store(
    command: str, places: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (ended(command.split(), runs, tmp_path / str(number), capsys) for number, runs in enumerate(places))

    assert one == other
    assert one.out


REFUSED = (
    "ladder {runs}",
    "ladder {runs} --format json",
    "parts verdict {runs}",
    "parts apply {runs} --drop style",
    "history {runs}",
    "store show {runs}",
    "store show {runs} --format json",
    "store arms {runs}",
    "store scan {runs}",
    "store copy {runs} {out}",
    "store bundle {runs} -o {out}.outweigh.zip",
    "store export {runs} -o {out}.csv",
    "store export {runs} -o {out}.xml",
    "store export {runs} -o {out}/",
    "store export {runs} --trajectories -o {out}",
    "store export {runs} --inspect -o {out}",
    "store export {runs} --plugin-eval -o {out}",
    "suite triggers {runs}",
    "judge {runs}",
    "judge {runs} --pairwise",
    "judge {runs} --calibrate labels.csv",
    "baseline pin {runs} -o {out}",
    "promote {runs}",
    "diff {runs} a b",
    "view {runs}",
    "import {runs} -o {out}",
)


@pytest.mark.parametrize("command", REFUSED)
def test_a_verb_that_needs_the_records_refuses_a_dataset_in_one_sentence_that_names_its_stores(
    command: str, places: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, dataset = places

    found = ended(command.split(), dataset, tmp_path / "out", capsys)

    assert (found.code, found.out) == (2, "")
    assert "RUNS is a dataset" in found.err
    assert f"name what it was made of: {store}." in " ".join(found.err.split())
    assert not [*tmp_path.iterdir()]


def test_the_records_of_a_dataset_can_be_written_again(places: tuple[str, str], tmp_path: Path) -> None:
    store, dataset = places

    assert main(["store", "export", dataset, "-o", str(tmp_path / "runs.jsonl")]) == 0

    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines()
    assert sorted(lines) == sorted((Path(store) / "runs-engine.jsonl").read_bytes().splitlines())


def test_a_dataset_is_not_taken_for_the_last_store_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = write_store(tmp_path / "store", two_arms(), ("plain", "better"))
    export(tmp_path / "dataset", store)
    monkeypatch.chdir(tmp_path)

    main(["verdict"])

    assert "reading store, the last store of this folder" in capsys.readouterr().err


def test_a_file_of_the_same_name_by_another_program_makes_no_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write_store(tmp_path / "store", two_arms(), ("plain", "better"))
    before = verdict_of([store], capsys)
    (Path(store) / "dataset.json").write_text('{"name": "questions", "rows": []}')

    assert verdict_of([store], capsys) == before


def judged(folder: Path, minimum_alpha: float | None) -> str:
    runs = two_arms()
    store = write_store(folder, runs, ("plain", "better"), policy=PolicySpec(gates=["judge_score"]))
    random = Random(3)
    lines = [encode(a_judgment(run, 0.9 if run.trial.arm == "better" else random.random() / 2)) for run in runs]
    (folder / "judgments-engine.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    judge = JudgeSpec(name="judge", backend="command", minimum_alpha=minimum_alpha)
    write_judging(folder, JudgingFile(judges=(judge,), tasks={}, tell_tales=()))
    return store


def shards(folder: Path, *numbers: int) -> list[str]:
    stores = []
    for number in numbers:
        mine = range(number - 1, TASKS, 2)
        runs = [*runs_of("plain", 0.3, mine), *runs_of("better", 0.9, mine)]
        stores.append(write_store(folder / f"shard {number}", runs, ("plain", "better")))
        shard = ShardFile(
            schema="outweigh.shard/1", index=number, count=2, plan_sha256="0" * 64, planned_runs=len(runs)
        )
        begin_shard(folder / f"shard {number}", shard, begun=False)
    return stores


def versions(folder: Path) -> str:
    later = ArmVersion(arm="better", number=2, begun_at=_DAY)
    return write_store(
        folder,
        [*two_arms(), *runs_of("better 2", 0.6)],
        {"plain": "0" * 64, "better": "1" * 64, "better 2": "2" * 64},
        current={"plain": "plain", "better": "better 2"},
        versions={"better 2": later},
    )


def with_ledger(folder: Path, *, promotable: bool, other: bool = False) -> str:
    store = write_store(folder, two_arms(), ("plain", "better"))
    line = LedgerLine(
        entered_at=_DAY, suite="trial suite", evidence_sha256="0" * 64 if other else evidence_of(store),
        decision="improved", p_value=0.001, level=0.01 if promotable else 0.0001, promotable=promotable,
    )  # fmt: skip
    copy_to_store(folder, line)
    return store


def evidence_of(store: str) -> str:
    stores = open_stores([store])
    return read_evidence(EvidenceRequest(stores=stores)).sha256("plain", "better")


KINDS: Mapping[str, Callable[[Path], list[str]]] = {
    "judged": lambda folder: [judged(folder / "s", None)],
    "not calibrated": lambda folder: [judged(folder / "s", 0.8)],
    "both shards": lambda folder: shards(folder, 1, 2),
    "one shard": lambda folder: shards(folder, 2),
    "versions": lambda folder: [versions(folder / "s")],
    "fewer repeats": lambda folder: [
        write_store(
            folder / "s",
            two_arms(),
            ("plain", "better"),
            planned_repeats={"plain": 4, "better": 2},
        )
    ],
    "looked at": lambda folder: [write_store(folder / "s", two_arms(), ("plain", "better"), looked_at=TASKS)],
    "looks": lambda folder: [
        write_store(
            folder / "s",
            two_arms(),
            ("plain", "better"),
            looked_at=TASKS,
            looks=LookPlan(order=tuple(f"task {task}" for task in range(TASKS)), sizes=(6, TASKS), repeats=4),
        )
    ],
    "promotable": lambda folder: [with_ledger(folder / "s", promotable=True)],
    "refused by the ledger": lambda folder: [with_ledger(folder / "s", promotable=False)],
    "ledger of others": lambda folder: [with_ledger(folder / "s", promotable=False, other=True)],
}


def verdict_of(stores: Sequence[str], capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    capsys.readouterr()
    code = main(["verdict", *stores, "--format", "json", *more])
    said = capsys.readouterr()
    return code, msgspec.json.decode(said.out) if said.out else said.err


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_of_a_store_with_rules_is_that_of_its_dataset(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stores = KINDS[kind](tmp_path)

    dataset = export(tmp_path / "dataset", *stores)

    assert verdict_of([dataset], capsys) == verdict_of(stores, capsys)


def test_changes_say_of_a_dataset_what_they_say_of_the_store(
    places: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = [
        {"id": str(number), "arm": ("plain", "better", "gone")[number % 3], "failed": number < 5, "reverted": False}
        for number in range(12)
    ]
    file = tmp_path / "changes.jsonl"
    file.write_text("".join(json.dumps(change) + "\n" for change in changes))
    capsys.readouterr()

    assert main(["compare", places[0], "--changes", str(file), "--format", "json"]) == 0
    of_store = capsys.readouterr()
    assert main(["compare", places[1], "--changes", str(file), "--format", "json"]) == 0

    assert capsys.readouterr() == of_store
    assert "gone" in of_store.out + of_store.err


def test_an_export_names_the_arms_of_which_it_cannot_say_what_they_consist_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fingerprints = {name: sha256(name.encode()).hexdigest() for name in ("plain", "better")}
    store = Path(write_store(tmp_path / "store", two_arms(), fingerprints))
    artifacts = ArtifactFolder.of_store(store)
    for name in fingerprints:
        artifacts.keep(name.encode())
    (store / "artifacts" / fingerprints["better"][:2] / fingerprints["better"]).write_bytes(b"damaged")

    export(tmp_path / "dataset", str(store))

    said = capsys.readouterr().err
    assert "the dataset does not say what arm 'better' consists of: the artifact" in said
    assert "'plain'" not in said
    assert main(["verdict", str(tmp_path / "dataset")]) in {0, 1, 3}
