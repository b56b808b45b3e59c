"""Datasets: a verdict from columns is the verdict from the records, and a damaged dataset is no evidence."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from math import isclose
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import msgspec
import pytest

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.choose_policy import PolicyRequest
from outweigh.app.compare import CompareRequest, compare
from outweigh.app.decide import DecideRequest, DecisionResult, decide
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.export_dataset import DatasetRequest, export_dataset
from outweigh.app.open_runs import open_stores
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.model.codec import Record, encode
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import AgentIdentity, AgentKind, ObservedSetup, RunRecord
from outweigh.model.trigger_case import TRIGGER_LABEL
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Component, ComponentTokens, Usage, reported_cost
from outweigh.store.dataset_manifest import read_manifest, write_manifest
from outweigh.store.store_set import StoreSet
from outweigh.testing.builders import a_check, a_judgment, a_run

SUITES = int(os.environ.get("OUTWEIGH_SUITES", "20"))
"""How many random suites are compared; 200 take a minute of a core."""
_START = datetime(2026, 3, 1, tzinfo=UTC)


FEATURES = (
    "judges",
    "families",
    "lost",
    "retries",
    "timeouts",
    "setups",
    "components",
    "clocks",
    "fingerprints",
    "checksums",
    "vacuous",
    "unknown costs",
    "unknown passes",
    "cases",
    "absent",
    "scripted",
    "warnings",
    "late arm",
)


class RandomSuite:
    """Runs of two to four arms, with everything in some suites and in some runs that a verdict speaks about."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.tasks = [f"task {number}" for number in range(self.random.randint(2, 40))]
        self.arms = ["baseline", "better", "c", "d"][: self.random.choice((2, 2, 3, 4))]
        self.repeats = self.random.randint(1, 6)
        self.has = {name: self.random.random() < 0.3 for name in FEATURES}

    @property
    def kind(self) -> AgentKind:
        return AgentKind.SCRIPTED if self.has["scripted"] else AgentKind.REAL

    def often(self, feature: str, share: float) -> bool:
        return self.has[feature] and self.random.random() < share

    def records(self) -> list[Record]:
        runs = [run for task in self.tasks for repeat in range(1, self.repeats + 1) for run in self.block(task, repeat)]
        judged = [self.judgments(run) for run in runs] if self.has["judges"] else []
        found: list[Record] = [*runs, *(judgment for each in judged for judgment in each)]
        if self.random.random() < 0.5:
            self.random.shuffle(found)
        return found

    def block(self, task: str, repeat: int) -> list[RunRecord]:
        return [run for arm in self.arms if not self.often("absent", 0.05) for run in self.attempts(task, arm, repeat)]

    def attempts(self, task: str, arm: str, repeat: int) -> list[RunRecord]:
        status = Status.COMPLETED
        if self.often("timeouts", 0.1):
            status = self.random.choice((Status.TIMEOUT, Status.AGENT_ERROR))
        if self.often("lost", 0.1):
            status = self.random.choice(sorted(EXCLUDED_STATUSES))
        if self.often("retries", 0.1):
            return [self.run(task, arm, repeat, 1, Status.INFRA_ERROR), self.run(task, arm, repeat, 2, status)]
        return [self.run(task, arm, repeat, 1, status)]

    def run(self, task: str, arm: str, repeat: int, attempt: int, status: Status) -> RunRecord:
        random, place = self.random, self.arms.index(arm)
        effort = random.lognormvariate(0.0, 0.3) * (1 - 0.1 * place)
        late = 5000 * place if self.has["late arm"] else 0
        number = self.tasks.index(task)
        return a_run(
            task, arm, repeat, attempt=attempt, run_id=f"{task}/{arm}/{repeat}/{attempt}", status=status,
            status_detail="the network was down" if status in EXCLUDED_STATUSES else None,
            family=f"family {number % 7}" if self.has["families"] else None,
            agent=AgentIdentity(kind=self.kind, name="agent", version="1", model="m"),
            arm_fingerprint=f"{arm:0>64}" if self.has["fingerprints"] else None,
            task_checksum=f"{number:0>64}" if self.has["checksums"] and random.random() < 0.99 else None,
            position=random.randrange(10_000) if self.has["clocks"] else None,
            started_at=_START + timedelta(seconds=random.randrange(10_000) + late) if self.has["clocks"] else None,
            duration_seconds=None if self.often("unknown passes", 0.05) else 60 * effort,
            usage=NO_USAGE if self.often("unknown costs", 0.1) else self.usage(effort),
            cost=UNKNOWN_COST if self.often("unknown costs", 0.1) else reported_cost(0.1 * effort),
            step_count=int(10 * effort),
            checks=self.checks(place, number) if status is Status.COMPLETED else None,
            components=self.components() if self.has["components"] else None,
            loaded=self.setup(arm) if self.has["setups"] else None,
            warnings=("the agent said nothing",) if self.often("warnings", 0.1) else (),
            setup_seconds=2.5,
        )  # fmt: skip

    def usage(self, effort: float) -> Usage:
        tokens = int(1000 * effort)
        return Usage(input_tokens=tokens, output_tokens=tokens // 2, cache_read_tokens=8 * tokens, cache_write_tokens=0)

    def checks(self, place: int, number: int) -> tuple[Any, ...] | None:
        if self.has["vacuous"] and number % 9 == 3:
            return ()
        passed = self.random.random() < 0.4 + 0.15 * place + 0.01 * number
        if self.often("unknown passes", 0.05):
            return None
        cases = 10 if passed else self.random.randrange(10)
        counted: Mapping[str, Any] = {"cases_passed": cases, "cases_total": 10} if self.has["cases"] else {}
        return (a_check(passed=passed, **counted), a_check("lint", required=False, passed=self.random.random() < 0.9))

    def components(self) -> tuple[ComponentTokens, ...]:
        parts = (Component.SKILL_PROMPT, Component.TOOL_SCHEMA)
        return tuple(
            ComponentTokens(component=part, input_tokens=self.random.randrange(500), output_tokens=0) for part in parts
        )

    def setup(self, arm: str) -> ObservedSetup:
        used = ("skill",) if arm != "baseline" and self.random.random() < 0.1 else ()
        return msgspec.convert(
            {**_NOTHING_LOADED, "seen_by": ("init",), "skills": (arm,), "skills_used": used}, ObservedSetup
        )

    def judgments(self, run: RunRecord) -> list[Any]:
        answers = [a_judgment(run, round(self.random.random(), 2))]
        if self.random.random() < 0.97:
            answers.append(a_judgment(run, round(self.random.random(), 2), judge="strict"))
        if self.random.random() < 0.02:
            answers.append(a_judgment(msgspec.structs.replace(run, run_id="nobody's"), 0.5))
        return answers


_NOTHING_LOADED: Mapping[str, Any] = {
    field.name: None for field in msgspec.structs.fields(ObservedSetup) if field.required
}


def written(folder: Path, records: Sequence[Record], part_runs: int = 50, **options: Any) -> tuple[Path, Path]:
    """A file of records, and a dataset of them."""
    folder.mkdir(exist_ok=True)
    lines, dataset = folder / "runs.jsonl", folder / "dataset"
    lines.write_bytes(b"".join(encode(record) + b"\n" for record in records))
    export_dataset(DatasetRequest(stores=StoreSet.open([lines]), target=dataset, part_runs=part_runs, **options))
    return lines, dataset


def request(path: Path) -> EvidenceRequest:
    return EvidenceRequest(stores=open_stores([path]))


def decided(path: Path, baseline: str = "baseline", **policy: Any) -> DecisionResult:
    arms = ArmChoice(baseline=baseline)
    return decide(DecideRequest(evidence=request(path), arms=arms, policy=PolicyRequest(**policy)))


def answer(act: Callable[[], Any]) -> Any:
    """What is answered, or why nothing is."""
    try:
        return act()
    except OutweighError as error:
        return type(error), str(error)


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Where two answers differ, by more than a rounding error where they are numbers."""
    if isinstance(one, float) and isinstance(other, float | int):
        return [] if isclose(one, other, rel_tol=1e-12, abs_tol=1e-15) or one == other else [f"{place}: {one} {other}"]
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if list(one) != list(other):
            return [f"{place}: {list(one)} {list(other)}"]
        return [each for key in one for each in differences(one[key], other[key], f"{place}/{key}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return [f"{place}: {one} {other}"]
        return [
            found
            for number, pair in enumerate(zip(one, other, strict=True))
            for found in differences(*pair, f"{place}/{number}")
        ]
    return [] if one == other else [f"{place}: {one!r} {other!r}"]


POLICIES: Sequence[Mapping[str, Any]] = (
    {},
    {"policy": "gates"},
    {"policy": "composite"},
    {"fixed_suite": True},
    {"sequential": True},
)


def verdict_page(path: Path, policy: Mapping[str, Any]) -> Any:
    return decided(path, **policy).document().payload


def comparison_page(path: Path, _: Mapping[str, Any]) -> Any:
    arms = ArmChoice(baseline="baseline", candidates=("better",))
    return compare(CompareRequest(evidence=request(path), arms=arms)).document().payload


@pytest.mark.parametrize("first", range(0, SUITES, 10))
def test_every_figure_decision_warning_and_hash_of_a_dataset_is_that_of_its_records(first: int, tmp_path: Path) -> None:
    found: list[str] = []
    for seed in range(first, first + 10):
        suite = RandomSuite(seed)
        paths = written(tmp_path / str(seed), suite.records(), suite.random.randint(10, 300))
        for page in (verdict_page, comparison_page):
            one, other = (answer(partial(page, path, POLICIES[seed % len(POLICIES)])) for path in paths)
            found += differences(one, other, f"suite {seed}")

    assert found == []


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two arms in several parts."""
    records = [
        a_run(f"task {task:02}", arm, repeat, passed=(task + repeat) % 3 > 0 or arm == "better")
        for task in range(14)
        for arm in ("baseline", "better")
        for repeat in range(1, 4)
    ]
    return written(tmp_path_factory.mktemp("dataset"), records, part_runs=30)[1]


def copied(dataset: Path, folder: Path) -> Path:
    return Path(shutil.copytree(dataset, folder / "copy"))


def test_parts_hold_whole_tasks_in_order(dataset: Path) -> None:
    parts = read_manifest(dataset).parts

    assert [(part.rows, part.tasks) for part in parts] == [(30, 5), (30, 5), (24, 4)]
    assert [part.first_task for part in parts] == ["task 00", "task 05", "task 10"]
    assert all(part.last_task < later.first_task for part, later in pairwise(parts))


def test_parts_of_single_tasks_give_the_verdict_of_all_tasks_together(tmp_path: Path) -> None:
    suite = RandomSuite(7)
    suite.has |= dict.fromkeys(("lost", "retries", "absent", "clocks", "timeouts", "unknown costs"), True)
    suite.has["judges"] = False
    lines, small = written(tmp_path / "small", records := suite.records(), part_runs=1)
    _, whole = written(tmp_path / "whole", records, part_runs=10**6)

    assert len(read_manifest(whole).parts) == 1 < len(read_manifest(small).parts)
    pages = [answer(partial(verdict_page, path, {})) for path in (lines, small, whole)]
    assert differences(pages[0], pages[1]) == differences(pages[0], pages[2]) == []


def test_other_programs_find_typed_columns_in_which_unknown_is_null(tmp_path: Path) -> None:
    _, dataset = written(tmp_path, [a_run(repeat=1), a_run(repeat=2, cost=UNKNOWN_COST)])

    table = duckdb.sql(
        f"select arm, repeat, passed, cost_usd, status from '{dataset}/part-*[0-9].parquet' order by repeat"
    )

    assert table is not None
    assert table.fetchall() == [("baseline", 1, 1.0, 0.1, "completed"), ("baseline", 2, 1.0, None, "completed")]


@pytest.mark.parametrize("name", ["part-00001.parquet", "part-00001.json", "part-00002.records.parquet"])
def test_a_part_that_was_changed_makes_the_dataset_no_evidence(dataset: Path, tmp_path: Path, name: str) -> None:
    damaged = copied(dataset, tmp_path)
    content = bytearray((damaged / name).read_bytes())
    content[len(content) // 2] ^= 1
    (damaged / name).write_bytes(content)

    with pytest.raises(EvidenceError, match=rf"{name} is not the file that was written"):
        decided(damaged)


def test_a_part_that_is_gone_makes_the_dataset_no_evidence(dataset: Path, tmp_path: Path) -> None:
    damaged = copied(dataset, tmp_path)
    (damaged / "part-00001.parquet").unlink()

    with pytest.raises(EvidenceError, match=r"part-00001\.parquet cannot be read"):
        decided(damaged)


def test_the_sums_of_the_parts_make_the_hash_of_the_manifest(dataset: Path) -> None:
    result = decided(dataset)

    assert result.comparison.evidence_sha256 == read_manifest(dataset).evidence_sha256


def test_options_that_change_scores_are_refused_with_the_way_out(dataset: Path) -> None:
    asked = msgspec.structs.replace(request(dataset), prices="prices.toml")

    with pytest.raises(UsageError, match=r"--prices would change them.*runs\.jsonl"):
        read_evidence(asked)


def test_a_dataset_is_read_alone(dataset: Path) -> None:
    with pytest.raises(UsageError, match="read alone"):
        open_stores([dataset, dataset.parent / "runs.jsonl"])


def test_the_records_come_back_where_they_were_kept(dataset: Path) -> None:
    records = [located.record for located in open_stores([dataset]).read(skip_invalid=False)]
    lines = (dataset.parent / "runs.jsonl").read_bytes().splitlines()

    assert sorted(map(encode, records)) == sorted(lines)


def test_without_its_records_a_dataset_decides_and_says_what_it_was_made_of(tmp_path: Path) -> None:
    lines, dataset = written(tmp_path, [a_run(arm=arm) for arm in ("baseline", "b")], with_records=False)

    assert decided(dataset).comparison.evidence_sha256 == decided(lines).comparison.evidence_sha256
    with pytest.raises(UsageError, match=r"without records.*runs\.jsonl"):
        list(open_stores([dataset]).read(skip_invalid=False))


def test_costs_by_other_prices_are_refused(tmp_path: Path) -> None:
    _, dataset = written(tmp_path, [a_run(arm=arm, cost=UNKNOWN_COST) for arm in ("baseline", "b")])
    manifest = msgspec.structs.replace(read_manifest(dataset), prices="a list of last year")
    write_manifest(dataset, manifest)

    with pytest.raises(EvidenceError, match="a list of last year"):
        read_evidence(request(dataset))


def test_nothing_is_left_of_an_export_that_fails(tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    lines.write_bytes(encode(a_run()) + b"\n" + encode(a_run()) + b"\n")

    with pytest.raises(EvidenceError, match="recorded twice"):
        export_dataset(DatasetRequest(stores=StoreSet.open([lines]), target=tmp_path / "dataset"))

    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"]


def test_a_folder_with_files_is_not_overwritten(dataset: Path) -> None:
    with pytest.raises(UsageError, match="nothing is overwritten"):
        export_dataset(DatasetRequest(stores=StoreSet.open([dataset.parent / "runs.jsonl"]), target=dataset))


def test_trigger_cases_beside_other_tasks_are_refused(tmp_path: Path) -> None:
    case = a_run("case", extra={TRIGGER_LABEL: {"skill": "s", "should_fire": True}})

    with pytest.raises(UsageError, match="trigger cases"):
        written(tmp_path, [a_run(), case])
