"""Asking about a store's pairs of runs: every answer is kept at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from outweigh.record.preference import Preference
from outweigh.run.courtroom import Courtroom
from outweigh.run.duel import Duel, fight
from outweigh.run.events import Event, EventKind, Listener, about
from outweigh.run.purse import Purse
from outweigh.run.questions import Ended, Judged, Questions


class Duels:
    """Has duels fought, as many at once as there are jobs."""

    def __init__(
        self, *, keep: Callable[[Preference], None], room: Courtroom, purse: Purse, jobs: int, listen: Listener
    ) -> None:
        self._append = keep
        self._room = room
        self._listen = listen
        self._questions: Questions[Duel] = Questions(
            put=self._put, drain=room.drain, purse=purse, jobs=jobs, listen=listen
        )

    def run(self, duels: Sequence[Duel]) -> Judged:
        """Ask about all of them, as far as money and patience last."""
        return self._questions.ask(duels)

    def _put(self, duel: Duel) -> Ended[Duel]:
        fought = fight(duel, self._room)
        preference = fought.preference
        return Ended(
            keep=None if preference is None else partial(self._keep, duel, preference),
            cost_usd=fought.cost_usd,
            hopeless=fought.hopeless,
            trouble=fought.trouble,
        )

    def _keep(self, duel: Duel, preference: Preference) -> Sequence[Duel]:
        self._append(preference)
        self._listen(_told(duel, preference))
        return ()


def _told(duel: Duel, preference: Preference) -> Event:
    detail = f"{duel.judge.name}, {duel.first.run_id} before {duel.second.run_id}: "
    said = preference.invalid_reason or "answered"
    event = about(duel.first.trial, EventKind.JUDGED, detail + said)
    return replace(event, run_id=duel.first.run_id, cost_usd=preference.cost.usd)
