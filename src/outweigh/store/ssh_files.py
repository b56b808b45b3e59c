"""Files of a host that is reached by SSH, as the `ssh` command would reach it.

fsspec's own connection takes any host key, reads no `~/.ssh/config` and asks nobody. Here the host must be in
`~/.ssh/known_hosts`, and name, port, user, keys and jump hosts come from the configuration.
"""

import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

from outweigh.errors import UsageError

_CONFIGURATION = Path("~/.ssh/config")
_SECONDS = 30.0

# Python prints what a library logs where nobody listens; the error that ends the command says it.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class SshFiles(SFTPFileSystem):  # type: ignore[misc] # fsspec has no types
    """Connects to hosts that are known."""

    cachable = False

    def _connect(self) -> None:
        self.client = paramiko.SSHClient()
        self.client.load_system_host_keys()
        self.client.set_missing_host_key_policy(paramiko.RejectPolicy())
        self.client.connect(self.host, **self.ssh_kwargs)
        self.ftp = self.client.open_sftp()


def connect_by_ssh(address: str) -> tuple[SshFiles, str]:
    """The files of the host that an address names, and the path on it."""
    parts = urlsplit(address)
    if parts.hostname is None:
        raise UsageError(f"{address} names no host; write it as in sftp://host/srv/demo.")
    settings = _settings(parts.hostname)
    host = str(settings.get("hostname", parts.hostname))
    options: dict[str, Any] = {
        "port": parts.port or int(settings.get("port", 22)),
        "username": unquote(parts.username) if parts.username else settings.get("user"),
        "key_filename": settings.get("identityfile"),
        "timeout": _SECONDS,
    }
    if command := settings.get("proxycommand") or _jump_command(settings):
        options["sock"] = paramiko.ProxyCommand(command)
    try:
        return SshFiles(host, **options), unquote(parts.path) or "/"
    except paramiko.BadHostKeyException as fault:
        raise UsageError(
            f"{host} has another host key than ~/.ssh/known_hosts says. Ask who runs it before you connect."
        ) from fault
    except paramiko.SSHException as fault:
        if "not found in known_hosts" not in str(fault):
            raise
        raise UsageError(
            f"{host} is not in ~/.ssh/known_hosts, so it cannot be told from another host. Connect once with `ssh "
            f"{parts.hostname}` and compare its key."
        ) from fault


def _settings(host: str) -> dict[str, Any]:
    """What `~/.ssh/config` says about a host."""
    try:
        configuration = paramiko.SSHConfig.from_path(str(_CONFIGURATION.expanduser()))
    except FileNotFoundError:
        return {}
    return dict(configuration.lookup(host))


def _jump_command(settings: dict[str, Any]) -> str | None:
    """The command that connects through another host, where the configuration names one."""
    jump = settings.get("proxyjump")
    return None if jump in (None, "none") else f"ssh -W {settings['hostname']}:{settings.get('port', 22)} {jump}"
