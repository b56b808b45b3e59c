"""What a launcher is told: the hosts that a file asks for, and the experiment that they are for.

The scheduler is in the process of the lead, at the address that the file names, so hosts find it again when another
lead starts it. A host that a launcher started ends itself when its lead is done with it, or when none has needed it
for a lease. So hosts outlive a lead that was killed, and none stays behind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.model.launch_spec import LaunchSpec

if TYPE_CHECKING:
    from distributed.security import Security

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLaunch:
    """Which hosts are wanted, and for which experiment. `say` tells whoever watches the run.

    `session` counts the leads of the experiment: after the first, hosts of an earlier one may still be there.
    """

    spec: LaunchSpec
    experiment: str
    session: int
    lease_seconds: float
    say: Say

    @property
    def tls(self) -> TlsFiles:
        """The certificates, which have the same paths on this machine and on the hosts."""
        return TlsFiles(ca_file=self.spec.tls_ca_file, cert=self.spec.tls_cert, key=self.spec.tls_key)

    @property
    def security(self) -> "Security | None":
        """What Dask needs for the scheduler's address."""
        return open_security(self.spec.scheduler, self.tls)

    @property
    def name(self) -> str:
        """What jobs and hosts are called, by every lead of this experiment."""
        return f"outweigh-{self.experiment[:12]}"

    def scheduler_options(self) -> dict[str, Any]:
        """The options of Dask's scheduler."""
        parts = urlsplit(self.spec.scheduler)
        return {
            "host": f"{parts.scheme}://{parts.hostname}",
            "port": parts.port,
            "protocol": f"{parts.scheme}://",
            "security": self.security,
            "dashboard": False,
            "dashboard_address": ":0",
        }

    def host_options(self) -> list[str]:
        """The options of every `outweigh dev host`, after the address of its scheduler."""
        options = ["--end-when-idle", f"{self.lease_seconds:g}"]
        if self.spec.jobs is not None:
            options += ["--jobs", str(self.spec.jobs)]
        if self.spec.spool is not None:
            options += ["--spool", self.spec.spool]
        return options
