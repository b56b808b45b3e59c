"""Dask's own settings without what nobody looks at here: profiles, statistics and moving of tasks, of which there are
none. Left on, they take a scheduler and a host a few hundredths of a core each, whatever runs.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager

QUIET: Mapping[str, object] = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "60s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.client.scheduler-info-interval": "60s",
}
"""The tick stays below its limit of three seconds, beyond which Dask says that its loop hangs."""


def quiet_dask() -> AbstractContextManager[object]:
    """For schedulers, workers and clients that this process makes while the context lasts."""
    import dask  # noqa: PLC0415 - an extra

    context: AbstractContextManager[object] = dask.config.set(QUIET)
    return context


def quiet_variables() -> Mapping[str, str]:
    """The same as variables of the environment, for a scheduler that Dask's own command starts."""
    return {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in QUIET.items()}
