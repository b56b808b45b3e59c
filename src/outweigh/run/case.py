"""Which runs are put before which judges: only what has no answer yet."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from outweigh.judge.brief import Brief
from outweigh.judge.question import prompt_sha256
from outweigh.record.digest import record_digest
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.score.standing import standing
from outweigh.task.judge import JudgeSpec

Finished = Mapping[tuple[str, str, int], Sequence[RunRecord]]
"""Runs by (task, arm, repeat), in order of attempts."""

Judgments = Mapping[str, Sequence[Judgment]]
"""By the run's id."""

WantsAnother = Callable[[Sequence[Judgment]], bool]
"""Whether a judge's passes over a run disagree, or doubt, so much that it is asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run before one judge, once."""

    run: RunRecord
    run_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    brief: Brief
    pass_index: int


class Answers(NamedTuple):
    """What a judge says, and its tries that could not be used and were followed by others."""

    standing: list[Judgment]
    replaced: list[Judgment]

    def add(self, to_one_question: Sequence[Judgment]) -> None:
        """Sort the answers to one question in."""
        kept = standing(to_one_question).values()
        self.standing.extend(kept)
        self.replaced.extend(answer for answer in to_one_question if all(answer is not other for other in kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """Tells what is open. An invalid answer is an answer, unless `retry_invalid` asks for another."""

    judges: Sequence[JudgeSpec]
    briefs: Mapping[str, Brief]
    wants_another: WantsAnother
    retry_invalid: bool = False

    def open_cases(self, finished: Finished, given: Judgments) -> list[Case]:
        """All cases without an answer, in the order of the runs: arms come in turns, as they were run."""
        runs = sorted(_judged_runs(finished), key=lambda run: (run.position or 0, run.run_id))
        cases = [
            case
            for run in runs
            if (brief := self.briefs.get(run.trial.task_id)) is not None
            for case in self._open(run, brief, given.get(run.run_id, ()))
        ]
        # First passes first: if the money runs out, every run has an answer before one has two.
        return sorted(cases, key=lambda case: case.pass_index)

    def answers(self, finished: Finished, given: Judgments) -> dict[str, Answers]:
        """What every judge has said so far to these very questions."""
        found = {judge.name: Answers([], []) for judge in self.judges}
        for run in _judged_runs(finished):
            if (brief := self.briefs.get(run.trial.task_id)) is not None:
                for case in self._cases(run, brief):
                    found[case.judge.name].add(_answers(case, given.get(run.run_id, ())))
        return found

    def next_case(self, case: Case, given: Sequence[Judgment]) -> Case | None:
        """One more pass, where the ones so far do not settle the matter; `given` are all judgments of the run."""
        passes = standing(_answers(case, given))
        if len(passes) < case.judge.passes or len(passes) >= (case.judge.most_passes or case.judge.passes):
            return None
        return replace(case, pass_index=_free_number(passes)) if self.wants_another(list(passes.values())) else None

    def _open(self, run: RunRecord, brief: Brief, given: Sequence[Judgment]) -> Iterator[Case]:
        for case in self._cases(run, brief):
            passes = standing(_answers(case, given))
            # A pass keeps its number when it is tried again: a gap would look like a lost answer for ever.
            failed = [number for number, answer in passes.items() if answer.invalid_reason is not None]
            wanted = [number for number in range(1, case.judge.passes + 1) if number not in passes]
            again = sorted({*wanted, *failed} if self.retry_invalid else wanted)
            yield from (replace(case, pass_index=number) for number in again)
            if not again and (another := self.next_case(case, given)) is not None:
                yield another

    def _cases(self, run: RunRecord, brief: Brief) -> Iterator[Case]:
        digest = record_digest(run).hex()
        for judge in self.judges:
            yield Case(
                run=run,
                run_sha256=digest,
                judge=judge,
                prompt_sha256=prompt_sha256(judge),
                brief=brief,
                pass_index=1,
            )


def _judged_runs(finished: Finished) -> Iterator[RunRecord]:
    """The attempt that counts of every trial; what says nothing about its arm is not worth a question."""
    for attempts in finished.values():
        if attempts and attempts[-1].status not in EXCLUDED:
            yield attempts[-1]


def _answers(case: Case, given: Sequence[Judgment]) -> list[Judgment]:
    """What this judge said to this very question about this very run. Which version answered is not for us to ask."""
    return [
        judgment
        for judgment in given
        if judgment.judge.name == case.judge.name
        and judgment.run_sha256 == case.run_sha256
        and judgment.judge.rubric_sha256 == case.brief.rubric_sha256
        and judgment.judge.prompt_sha256 == case.prompt_sha256
        and (case.judge.model is None or judgment.judge.model == case.judge.model)
    ]


def _free_number(passes: Container[int]) -> int:
    return next(number for number in count(1) if number not in passes)
