"""Judging a store's runs: every judgment is kept at once, and decides whether the judge is asked once more."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from outweigh.ports.stores import RunStore
from outweigh.record.judgment import Judgment
from outweigh.run.case import Case, Docket, Judgments
from outweigh.run.courtroom import Courtroom
from outweigh.run.events import Listener, judged
from outweigh.run.hearing import hear
from outweigh.run.purse import Purse
from outweigh.run.questions import Ended, Judged, Questions

Matter = tuple[str, str]
"""A run's id and a judge's name."""


class Judging:
    """Hears cases, as many at once as there are jobs."""

    def __init__(
        self, *, store: RunStore, room: Courtroom, docket: Docket, purse: Purse, jobs: int, listen: Listener
    ) -> None:
        self._store = store
        self._room = room
        self._docket = docket
        self._listen = listen
        self._questions: Questions[Case] = Questions(
            put=self._put, drain=room.drain, purse=purse, jobs=jobs, listen=listen
        )
        self._pending: Counter[Matter] = Counter()
        self._given: dict[str, list[Judgment]] = defaultdict(list)

    def run(self, cases: Sequence[Case], given: Judgments) -> Judged:
        """Hear all cases; `given` are the judgments so far, which decide whether another pass is wanted."""
        self._pending.update(map(_matter, cases))
        for run_id, judgments in given.items():
            self._given[run_id].extend(judgments)
        return self._questions.ask(cases)

    def _put(self, case: Case) -> Ended[Case]:
        heard = hear(case, self._room)
        judgment = heard.judgment
        return Ended(
            keep=None if judgment is None else partial(self._keep, case, judgment),
            cost_usd=heard.cost_usd,
            hopeless=heard.hopeless,
            trouble=heard.trouble,
        )

    def _keep(self, case: Case, judgment: Judgment) -> Sequence[Case]:
        self._store.append_judgment(judgment)
        self._given[case.run.run_id].append(judgment)
        self._pending[_matter(case)] -= 1
        self._listen(judged(case.run.trial, judgment))
        return self._more(case)

    def _more(self, case: Case) -> Sequence[Case]:
        """Only when all passes that were asked for are back: what is under way may settle the matter."""
        if self._pending[_matter(case)]:
            return ()
        another = self._docket.next_case(case, self._given[case.run.run_id])
        if another is None:
            return ()
        self._pending[_matter(case)] += 1
        return (another,)


def _matter(case: Case) -> Matter:
    return case.run.run_id, case.judge.name


def paid_for_judging(given: Iterable[Judgment]) -> dict[str, list[float | None]]:
    """What every judgment came to, by judge."""
    paid: dict[str, list[float | None]] = defaultdict(list)
    for judgment in given:
        paid[judgment.judge.name].append(judgment.cost.usd)
    return paid
