"""How lead and hosts reach a Dask scheduler: in the open on loopback, over TLS everywhere else.

Whoever may call a worker may run code on it, so an address without TLS is refused off loopback.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from outweigh.errors import UsageError, requires_extra

if TYPE_CHECKING:
    from distributed.security import Security


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """The certificates of one side, by path; what is None is taken from Dask's own configuration."""

    ca_file: str | None = None
    cert: str | None = None
    key: str | None = None


def check_address(address: str) -> None:
    """UsageError for an address of a scheduler that is none, or that is not safe to connect to."""
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or parts.hostname is None or parts.port is None:
        raise UsageError(
            f"{address!r} is no address of a Dask scheduler; write tls://HOST:8786, or tcp:// on loopback."
        )
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname):
        raise UsageError(
            f"{address} is not on this machine, and any program that can reach such a scheduler can run code on its "
            "hosts. Start the scheduler with --tls-ca-file, --tls-cert and --tls-key, and name it as tls://."
        )


def open_security(address: str, files: TlsFiles) -> "Security | None":
    """What Dask needs to connect to this address; None where nothing is encrypted."""
    check_address(address)
    with requires_extra("a Dask cluster", "dask"):
        from distributed.security import Security  # noqa: PLC0415 - an extra
    if urlsplit(address).scheme == "tcp":
        return None
    named = {
        "tls_ca_file": files.ca_file,
        "tls_client_cert": files.cert,
        "tls_client_key": files.key,
        "tls_worker_cert": files.cert,
        "tls_worker_key": files.key,
    }
    security: Any = Security(
        require_encryption=True, **{name: path for name, path in named.items() if path is not None}
    )
    if security.tls_ca_file is None:
        raise UsageError(
            f"{address} needs certificates. Name them with --tls-ca-file, --tls-cert and --tls-key, or in Dask's "
            "configuration under distributed.comm.tls."
        )
    return security


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
