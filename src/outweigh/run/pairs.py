"""Which runs are shown side by side, in which order, and what was answered about them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from outweigh.judge.brief import Brief
from outweigh.judge.pair_question import pair_prompt_sha256
from outweigh.record.digest import record_digest
from outweigh.record.preference import Preference
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.run.case import Finished
from outweigh.run.duel import Duel
from outweigh.task.judge import JudgeSpec

Question = tuple[str, str | None, str | None, str | None, str | None]
"""Judge, both runs in the order of showing, rubric and prompt, by name and hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Every pair of counted runs of two arms with equal task and repeat, in both orders, before every judge."""

    duels: Sequence[Duel]

    @classmethod
    def of(
        cls,
        finished: Finished,
        arms: tuple[str, str],
        judges: Sequence[JudgeSpec],
        briefs: Mapping[str, Brief],
    ) -> "Pairs":
        """Find them among the runs of a store."""
        duels = [
            duel
            for judge in judges
            for pair in _pairs(finished, arms)
            if (brief := briefs.get(pair[0].trial.task_id)) is not None
            for duel in _both_orders(pair, judge, brief)
        ]
        # Both orders of a pair one after the other: if the money runs out, few pairs are left with one.
        return cls(
            duels=sorted(duels, key=lambda duel: (duel.first.trial.repeat, duel.first.trial.task_id, duel.judge.name))
        )

    def open(self, given: Iterable[Preference], *, retry_invalid: bool) -> list[Duel]:
        """What has no answer yet. An invalid answer is an answer, unless `retry_invalid` asks for another."""
        counted = [answer for answer in given if answer.invalid_reason is None or not retry_invalid]
        answered = {_question_of(answer) for answer in counted}
        by_model = {(_question_of(answer), answer.judge.model) for answer in counted}
        return [duel for duel in self.duels if not _is_answered(duel, answered, by_model)]

    def answers(self, given: Iterable[Preference]) -> list[Preference]:
        """What was said to these very questions; other rubrics, prompts, models and records make other questions."""
        models: dict[Question, set[str | None]] = {}
        for duel in self.duels:
            models.setdefault(_question(duel), set()).add(duel.judge.model)
        return [
            answer
            for answer in given
            if (asked := models.get(_question_of(answer))) is not None
            and (None in asked or answer.judge.model in asked)
        ]


def _pairs(finished: Finished, arms: tuple[str, str]) -> Iterator[tuple[RunRecord, RunRecord]]:
    counted = {
        place: attempts[-1] for place, attempts in finished.items() if attempts and attempts[-1].status not in EXCLUDED
    }
    for (task, arm, repeat), run in sorted(counted.items()):
        if arm == arms[0] and (other := counted.get((task, arms[1], repeat))) is not None:
            yield run, other


def _both_orders(pair: tuple[RunRecord, RunRecord], judge: JudgeSpec, brief: Brief) -> Iterator[Duel]:
    digests = [record_digest(run).hex() for run in pair]
    for one, other in ((0, 1), (1, 0)):
        yield Duel(
            first=pair[one],
            second=pair[other],
            first_sha256=digests[one],
            second_sha256=digests[other],
            judge=judge,
            prompt_sha256=pair_prompt_sha256(judge),
            brief=brief,
        )


def _question(duel: Duel) -> Question:
    return duel.judge.name, duel.first_sha256, duel.second_sha256, duel.brief.rubric_sha256, duel.prompt_sha256


def _question_of(preference: Preference) -> Question:
    judge = preference.judge
    runs = preference.first.run_sha256, preference.second.run_sha256
    return judge.name, *runs, judge.rubric_sha256, judge.prompt_sha256


def _is_answered(duel: Duel, answered: Collection[Question], by_model: Collection[tuple[Question, str | None]]) -> bool:
    """Which version answered is not for us to ask; which model is, where the suite names one."""
    question = _question(duel)
    return question in answered if duel.judge.model is None else (question, duel.judge.model) in by_model
