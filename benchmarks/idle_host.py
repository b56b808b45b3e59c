"""A host whose attempts only wait: what is left is what lead, scheduler and messages can do."""

import argparse
import signal
from pathlib import Path
from threading import Event

from msgspec.structs import replace

from outweigh.cluster.dask_host import WorkerOptions, serve_host
from outweigh.cluster.dask_security import TlsFiles
from outweigh.cluster.host import Host
from outweigh.cluster.spool import ExperimentSpool, Spool
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun, run_id_of
from outweigh.gateway.token_queue import TokenQueue
from outweigh.model.usage import UNKNOWN_COST, Cost
from outweigh.store.tried_arms_file import TriedArm
from outweigh.testing.builders import a_run

SECONDS = 1.0


class IdleEngine:
    """Every attempt takes a second and passes."""

    arms = ("plain", "candidate")
    unfit: str | None = None
    tried: tuple[TriedArm, ...] = ()
    tokens: TokenQueue | None = None

    def __init__(self, spool: ExperimentSpool) -> None:
        self._spool = spool

    def attempt(self, planned: PlannedRun, number: int, cancel: Event) -> FinishedAttempt:  # noqa: ARG002 - the port's
        trial, run_id = planned.trial, run_id_of(planned.trial, number)
        self._spool.begin(run_id, trial, number)
        Event().wait(SECONDS)
        record = a_run(trial.task_id, trial.arm, trial.repeat, run_id=run_id, attempt=number)
        record = replace(record, trial=trial, artifacts={"stdout.txt": self._spool.keep(b"done")})
        self._spool.append(record)
        return FinishedAttempt(record=record, retry_after_seconds=None, may_retry=True)

    def spent(self, run_id: str) -> Cost:  # noqa: ARG002 - the port's
        return UNKNOWN_COST

    def close(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scheduler")
    parser.add_argument("--spool", type=Path, required=True)
    parser.add_argument("-j", type=int, required=True)
    options = parser.parse_args()
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    spool = Spool.open(options.spool)
    host = Host(spool, options.j, lambda _, experiment: IdleEngine(experiment))
    serve_host(host, WorkerOptions(scheduler=options.scheduler, tls=TlsFiles()), stop, print)
    host.close()
    spool.close()


if __name__ == "__main__":
    main()
