"""How Harbor is to run a suite, as the suite writes it: the `[harbor]` table."""

from typing import Annotated, Any

from msgspec import Meta

from outweigh.task.arm import VariableName
from outweigh.task.spec import Spec

OURS = frozenset(
    {
        "agents",
        "datasets",
        "environment",
        "extra_instructions",
        "install_only",
        "job_name",
        "jobs_dir",
        "n_attempts",
        "n_concurrent_trials",
        "retry",
        "source_jobs",
        "tasks",
    }
)
"""Keys of a job file that follow from the suite and the command line; nobody else may set them."""


class HarborSpec(Spec, frozen=True, kw_only=True):
    """Which program, in which environments. `environment` and `job` are Harbor's own tables, checked by Harbor.

    `pass_environment` are variables of the caller that Harbor itself needs, such as the key of a cloud.
    """

    program: Annotated[str, Meta(min_length=1, max_length=1000)] = "harbor"
    environment: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies defaults
    job: dict[str, Any] = {}  # noqa: RUF012
    pass_environment: list[VariableName] = []  # noqa: RUF012

    def __post_init__(self) -> None:
        """A job file says nothing that contradicts the suite."""
        taken = sorted(OURS & self.job.keys())
        if taken:
            raise ValueError(f"`{taken[0]}` follows from the suite and the command line, so `job` cannot set it")
