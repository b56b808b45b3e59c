"""Files and connections that an engine holds open for runs at once, and the limit of the system on them."""

from outweigh.errors import UsageError
from outweigh.process import raise_open_files

OF_ENGINE = 48
"""Logs, modules, terminals, and what the engine opens for a moment."""

_OF_SANDBOX = {"local": 6}
"""Pipes of a running agent, and files that are copied or hashed before and after it."""

OF_ISOLATED_SANDBOX = 12
"""The same in bubblewrap or a container, with the descriptors that describe the sandbox and its ports."""

OF_MODEL = 16
"""The port of a run to its model, and as many connections on both sides of the gateway as agents were seen to use."""


def require_open_files(jobs: int, sandbox: str, *, asks_models: bool) -> None:
    """Raise this process's limit of open files as far as so many runs at once need it; UsageError where it is too low.

    Without that, runs beyond the limit would end as infrastructure failures, some of them after they were paid for.
    """
    each = _OF_SANDBOX.get(sandbox, OF_ISOLATED_SANDBOX) + OF_MODEL * asks_models
    wanted = OF_ENGINE + jobs * each
    allowed = raise_open_files(wanted)
    if allowed >= wanted:
        return
    most = max((allowed - OF_ENGINE) // each, 0)
    advice = f"Run at most {most} at a time with -j {most}, or raise" if most else "Raise"
    raise UsageError(
        f"{jobs} runs at a time need up to {wanted} open files, and this system allows {allowed}. {advice} the limit "
        f"first, for example with `ulimit -n {wanted}`."
    )
