"""Candidates are tried in an order that spreads them, until there are enough; what was found survives a crash."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier, Event

import msgspec
import pytest

from outweigh.errors import UsageError
from outweigh.mining.candidate import Candidate, CandidateKind
from outweigh.mining.journal import JOURNAL_FILE, CandidateState, MinedCandidate, MiningJournal, read_journal
from outweigh.mining.mine_candidates import MiningLoop, MiningProgress, mine_candidates, spread_candidates

SETTINGS = "as-usual"


def a_candidate(number: int, *, year: int = 2026, path: str = "src/a.py", commits: tuple[str, ...] = ()) -> Candidate:
    name = f"{number:040x}"
    return Candidate(
        base=f"{number + 1000:040x}",
        fix=name,
        commits=commits or (name,),
        kind=CandidateKind.COMMIT,
        date=datetime(year, 1, 1, number // 60, number % 60, tzinfo=UTC),
        message="Fix it",
        source_files=(path,),
        test_files=("tests/test_a.py",),
        source_lines=3,
    )


def a_result(candidate: Candidate, state: CandidateState = CandidateState.KEPT) -> MinedCandidate:
    return MinedCandidate(
        fix=candidate.fix,
        state=state,
        settings=SETTINGS,
        date=candidate.date,
        seconds=1.5,
        reason="" if state is CandidateState.KEPT else "some reason",
        task=f"task-{candidate.short}",
        commits=candidate.commits,
        fail_to_pass=(f"test_{candidate.fix}",),
    )


@pytest.fixture
def loop(tmp_path: Path) -> MiningLoop:
    return MiningLoop(attempt=a_result, journal=MiningJournal(tmp_path), settings=SETTINGS, jobs=2, wanted=None)


def test_mining_stops_when_enough_candidates_are_kept(loop: MiningLoop) -> None:
    results = mine_candidates(map(a_candidate, range(20)), replace(loop, wanted=5))
    assert len(results) == 5


def test_candidates_that_are_not_kept_do_not_count_as_enough(loop: MiningLoop) -> None:
    def every_second(candidate: Candidate) -> MinedCandidate:
        kept = int(candidate.fix, 16) % 2 == 0
        return a_result(candidate, CandidateState.KEPT if kept else CandidateState.FAILED)

    results = mine_candidates(map(a_candidate, range(20)), replace(loop, attempt=every_second, wanted=5))
    assert sum(each.state is CandidateState.KEPT for each in results.values()) == 5
    assert len(results) == 9


def test_without_a_number_all_of_the_history_is_mined(loop: MiningLoop) -> None:
    assert len(mine_candidates(map(a_candidate, range(20)), loop)) == 20


def test_several_candidates_are_tried_at_the_same_time(loop: MiningLoop) -> None:
    meeting = Barrier(4)

    def wait_for_others(candidate: Candidate) -> MinedCandidate:
        meeting.wait(timeout=60)
        return a_result(candidate)

    results = mine_candidates(map(a_candidate, range(4)), replace(loop, attempt=wait_for_others, jobs=4))
    assert len(results) == 4


def test_what_was_tried_before_is_not_tried_again(loop: MiningLoop, tmp_path: Path) -> None:
    mine_candidates(map(a_candidate, range(6)), loop)
    loop.journal.close()
    tried: list[str] = []
    resumed = replace(loop, journal=MiningJournal(tmp_path), attempt=remembering(tried))
    results = mine_candidates(map(a_candidate, range(8)), resumed)
    assert sorted(tried) == [a_candidate(6).fix, a_candidate(7).fix]
    assert len(results) == 8


def test_what_was_found_with_other_settings_is_tried_again(loop: MiningLoop, tmp_path: Path) -> None:
    mine_candidates(map(a_candidate, range(3)), loop)
    loop.journal.close()
    tried: list[str] = []
    changed = replace(loop, journal=MiningJournal(tmp_path), attempt=remembering(tried), settings="other")
    mine_candidates(map(a_candidate, range(3)), changed)
    assert len(tried) == 3


def test_a_candidate_that_failed_for_reasons_of_the_machine_is_tried_again(loop: MiningLoop, tmp_path: Path) -> None:
    def disk_full(candidate: Candidate) -> MinedCandidate:
        return msgspec.structs.replace(a_result(candidate, CandidateState.FAILED), may_be_retried=True)

    mine_candidates([a_candidate(1)], replace(loop, attempt=disk_full))
    loop.journal.close()
    results = mine_candidates([a_candidate(1)], replace(loop, journal=MiningJournal(tmp_path)))
    assert results[a_candidate(1).fix].state is CandidateState.KEPT


def test_a_candidate_that_was_cancelled_leaves_no_line(loop: MiningLoop, tmp_path: Path) -> None:
    assert mine_candidates([a_candidate(1)], replace(loop, attempt=lambda _: None)) == {}
    loop.journal.close()
    assert not (tmp_path / JOURNAL_FILE).exists()


def remembering(tried: list[str]) -> Callable[[Candidate], MinedCandidate]:
    def attempt(candidate: Candidate) -> MinedCandidate:
        tried.append(candidate.fix)
        return a_result(candidate)

    return attempt


def test_a_line_that_a_crash_cut_off_is_tried_again(loop: MiningLoop, tmp_path: Path) -> None:
    mine_candidates(map(a_candidate, range(3)), replace(loop, jobs=1))
    loop.journal.close()
    file = tmp_path / JOURNAL_FILE
    file.write_bytes(file.read_bytes()[:-7])
    tried: list[str] = []
    mine_candidates(
        map(a_candidate, range(3)), replace(loop, journal=MiningJournal(tmp_path), attempt=remembering(tried))
    )
    assert tried == [a_candidate(2).fix]
    assert len(list(read_journal(file))) == 3


def test_a_journal_of_something_else_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / JOURNAL_FILE
    file.write_text('{"no": "candidate"}\n')
    with pytest.raises(UsageError, match="line 1, is not from a mined suite"):
        MiningJournal(tmp_path).read(SETTINGS)


def test_a_commit_inside_a_merge_is_the_same_task_where_the_same_tests_tell(loop: MiningLoop) -> None:
    inner = a_candidate(1)
    merge = a_candidate(2, commits=(inner.fix, a_candidate(3).fix))
    discarded: list[MinedCandidate] = []

    def same_tests(candidate: Candidate) -> MinedCandidate:
        return msgspec.structs.replace(a_result(candidate), fail_to_pass=("test_x", "test_y"))

    results = mine_candidates([merge, inner], replace(loop, attempt=same_tests, jobs=1, discard=discarded.append))
    assert results[merge.fix].state is CandidateState.KEPT
    assert (results[inner.fix].state, results[inner.fix].task) == (CandidateState.DUPLICATE, None)
    assert [each.task for each in discarded] == [f"task-{inner.short}"]


def test_two_changes_with_the_same_tests_but_no_common_commit_are_two_tasks(loop: MiningLoop) -> None:
    def same_tests(candidate: Candidate) -> MinedCandidate:
        return msgspec.structs.replace(a_result(candidate), fail_to_pass=("test_x",))

    results = mine_candidates([a_candidate(1), a_candidate(2)], replace(loop, attempt=same_tests))
    assert {each.state for each in results.values()} == {CandidateState.KEPT}


def test_after_an_interrupt_nothing_new_is_started_and_what_runs_is_kept(loop: MiningLoop) -> None:
    drain = Event()

    def interrupted(candidate: Candidate) -> MinedCandidate:
        drain.set()
        return a_result(candidate)

    results = mine_candidates(map(a_candidate, range(10)), replace(loop, attempt=interrupted, jobs=1, drain=drain))
    assert len(results) == 1


def test_progress_says_how_many_are_tried_kept_and_left(loop: MiningLoop) -> None:
    said: list[MiningProgress] = []
    mine_candidates(map(a_candidate, range(3)), replace(loop, jobs=1, listen=said.append, wanted=2))
    assert [(each.tried, each.kept, each.left, each.wanted) for each in said] == [(1, 1, 2, 2), (2, 2, 1, 2)]


def test_the_first_candidates_come_from_every_sub_system_and_year() -> None:
    many = [a_candidate(number, year=2026, path="core/a.py") for number in range(30)]
    few = [a_candidate(100, year=2026, path="web/b.py"), a_candidate(101, year=2020, path="core/a.py")]
    ordered = spread_candidates([*many, *few], lambda each: each.source_files[0].split("/")[0])
    assert {each.fix for each in ordered[:3]} == {many[-1].fix, few[0].fix, few[1].fix}
    assert sorted(each.fix for each in ordered) == sorted(each.fix for each in [*many, *few])
