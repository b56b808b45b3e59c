"""The file of `run --cluster`: how the hosts of a cluster are started, and where their scheduler listens."""

from typing import Annotated

from msgspec import Meta

from outweigh.model.base import Spec
from outweigh.model.source_document import SourceDocument

Address = Annotated[str, Meta(min_length=1, max_length=1000)]
Text = Annotated[str, Meta(min_length=1, max_length=10_000)]
HostCount = Annotated[int, Meta(ge=1, le=10_000)]


class SlurmLaunch(Spec, frozen=True, kw_only=True):
    """Hosts as jobs of Slurm. Beside `hosts`, the keys are options of dask-jobqueue's SLURMCluster and named as there.

    Jobs get none of the caller's variables, so `job_script_prologue` sets PATH, HOME and the keys of models.
    """

    hosts: HostCount
    cores: Annotated[int, Meta(ge=1, le=100_000)]
    memory: Text
    queue: Text | None = None
    account: Text | None = None
    walltime: Text | None = None
    interface: Text | None = None
    python: Text | None = None
    log_directory: Text | None = None
    job_script_prologue: list[Text] = []  # noqa: RUF012 - msgspec copies defaults
    job_extra_directives: list[Text] = []  # noqa: RUF012


class SshLaunch(Spec, frozen=True, kw_only=True):
    """A host on each machine that ssh reaches without asking. `command` starts outweigh there, `program` is ssh."""

    machines: Annotated[list[Text], Meta(min_length=1, max_length=10_000)]
    command: Text = "outweigh"
    program: Text = "ssh"


class LaunchSpec(Spec, frozen=True, kw_only=True):
    """Where this machine's scheduler listens, and who starts the hosts.

    `jobs` is how many attempts a host makes at a time (Slurm: `cores` where it is left out), `spool` where it keeps
    records, and `artifacts` the place that all share for large artifacts (else the suite's). Certificates are paths
    that are the same on this machine and on the hosts.
    """

    scheduler: Address
    slurm: SlurmLaunch | None = None
    ssh: SshLaunch | None = None
    jobs: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    spool: Text | None = None
    artifacts: Address | None = None
    tls_ca_file: Text | None = None
    tls_cert: Text | None = None
    tls_key: Text | None = None

    def __post_init__(self) -> None:
        """One launcher starts the hosts."""
        if (self.slurm is None) == (self.ssh is None):
            raise ValueError("the file needs one table that says who starts the hosts, [slurm] or [ssh]")


def parse_launch_spec(content: bytes, source: str) -> LaunchSpec:
    """The content of such a file; UsageError names everything wrong with it."""
    return SourceDocument(content, source).convert(LaunchSpec)
