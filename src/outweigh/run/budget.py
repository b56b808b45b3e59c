"""The purse of an experiment: a run starts only when the worst it could cost is still there."""

from threading import Lock


class Budget:
    """Counts what was spent and what running trials may still spend. Without a cap everything is affordable.

    A run whose cost nobody knows counts at its cap, or at the dearest run so far: an unknown is not free.
    """

    def __init__(self, cap_usd: float | None, run_cap_usd: float | None, spent_usd: float = 0.0) -> None:
        self._cap = cap_usd
        self._run_cap = run_cap_usd
        self._spent = spent_usd
        self._dearest = 0.0
        self._reserved = 0
        self._lock = Lock()

    @property
    def spent_usd(self) -> float:
        """What finished runs cost, unknown ones at their worst."""
        return self._spent

    def reserve(self) -> bool:
        """Set the worst cost of one run aside; False when it is not there."""
        with self._lock:
            worst = self.worst_run_usd
            if self._cap is not None and self._spent + worst * (self._reserved + 1) > self._cap:
                return False
            self._reserved += 1
            return True

    def settle(self, cost_usd: float | None) -> None:
        """Replace what was set aside by what it came to."""
        with self._lock:
            self._reserved -= 1
            self.add(cost_usd)

    def add(self, cost_usd: float | None) -> None:
        """Count a run that was paid for."""
        paid = self.worst_run_usd if cost_usd is None else cost_usd
        self._spent += paid
        self._dearest = max(self._dearest, paid)

    @property
    def worst_run_usd(self) -> float:
        """The cap of a single run, or the dearest seen where there is none."""
        return self._run_cap if self._run_cap is not None else self._dearest
