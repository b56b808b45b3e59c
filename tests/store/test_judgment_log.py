"""Judgments in a store: durable, mended after a crash, read as evidence beside the runs."""

from pathlib import Path

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.model.codec import refuse_invalid
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.suite import JudgeSpec
from outweigh.store.judging_file import (
    JUDGING_FILE,
    JudgedTask,
    JudgingFile,
    lowered_requirements,
    read_judging,
    write_judging,
)
from outweigh.store.records import RecordReader
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_judgment, a_run

JUDGING = JudgingFile(
    judges=(JudgeSpec(name="judge", backend="command", options={"command": "x"}),),
    tasks={
        "task-1": JudgedTask(
            checksum="0",
            instruction="Mend it.",
            rubric=Rubric(criteria=[BinaryCriterion(name="works", description="It works.")]),
            solution=None,
        )
    },
    tell_tales=("a", "b"),
)


def test_judgments_come_back_by_run_in_the_order_they_were_given(tmp_path: Path) -> None:
    first, second = a_run(repeat=1), a_run(repeat=2)
    given = [a_judgment(first, 0.1), a_judgment(second, 0.2), a_judgment(first, 0.3, pass_index=2)]
    with FolderRunStore.open(tmp_path) as store:
        for judgment in given:
            store.append_judgment(judgment)

    with FolderRunStore.open(tmp_path) as store:
        assert store.judgments() == {first.run_id: [given[0], given[2]], second.run_id: [given[1]]}


def test_judgments_are_evidence_beside_the_runs(tmp_path: Path) -> None:
    run = a_run()
    with FolderRunStore.open(tmp_path) as store:
        store.append(run)
        store.append_judgment(a_judgment(run))

    records = [located.record for located in RecordReader(str(tmp_path)).records(refuse_invalid)]
    assert records == [a_judgment(run), run]


def test_a_torn_judgment_is_cut_off_and_reported(tmp_path: Path) -> None:
    run = a_run()
    with FolderRunStore.open(tmp_path) as store:
        store.append_judgment(a_judgment(run))
    log = tmp_path / "judgments-engine.jsonl"
    log.write_bytes(log.read_bytes() + b'{"schema":"outweigh.judgm')

    with FolderRunStore.open(tmp_path) as store:
        assert [repair.source for repair in store.repairs] == [str(log)]
        store.append_judgment(a_judgment(run, pass_index=2))

    with FolderRunStore.open(tmp_path) as store:
        assert store.repairs == []
        assert len(store.judgments()[run.run_id]) == 2


def test_a_judgment_that_could_not_be_read_again_is_not_kept(tmp_path: Path) -> None:
    with FolderRunStore.open(tmp_path) as store:
        with pytest.raises(EvidenceError, match="could not be read again"):
            store.append_judgment(a_judgment(a_run(), invalid_reason="\ud800"))

        assert store.judgments() == {}


def test_what_judges_are_told_comes_back_as_it_was(tmp_path: Path) -> None:
    assert read_judging(tmp_path) is None

    write_judging(tmp_path, JUDGING)

    assert read_judging(tmp_path) == JUDGING


def test_another_rubric_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    write_judging(tmp_path, JUDGING)
    other = msgspec.structs.replace(JUDGING, tell_tales=("c",))

    write_judging(tmp_path, other)

    assert read_judging(tmp_path) == other


def demanding(least: float | None) -> JudgingFile:
    return msgspec.structs.replace(JUDGING, judges=(JudgeSpec(name="strict", backend="command", minimum_alpha=least),))


@pytest.mark.parametrize("later", [demanding(0.5), demanding(None), msgspec.structs.replace(JUDGING, judges=())])
def test_who_has_seen_results_cannot_demand_less_of_a_judge(tmp_path: Path, later: JudgingFile) -> None:
    write_judging(tmp_path, demanding(0.8))

    kept = write_judging(tmp_path, later)

    assert lowered_requirements(kept) == kept.demands == {"strict": 0.8}
    assert write_judging(tmp_path, later) == read_judging(tmp_path) == kept


def test_more_can_be_demanded_at_any_time(tmp_path: Path) -> None:
    write_judging(tmp_path, demanding(0.5))

    kept = write_judging(tmp_path, demanding(0.8))

    assert (kept.demands, lowered_requirements(kept)) == ({"strict": 0.8}, {})


def test_a_damaged_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / JUDGING_FILE).write_text("{")

    with pytest.raises(EvidenceError, match="name the suite with -c"):
        read_judging(tmp_path)
