"""The package registries that this machine uses: their hosts, and the settings by which tools find them.

Tools in the sandbox read none of the user's files, so what they are configured with is passed on as variables. Names
and passwords in an address are not passed on: what is installed runs code of the repository, which could read them.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error
from pathlib import Path
from subprocess import TimeoutExpired
from urllib.parse import urlsplit

from outweigh.process import run_process

PYPI = "https://pypi.org/simple"
_PYPI_FILES = "files.pythonhosted.org"
NPM = "https://registry.npmjs.org/"
_GO_HOSTS = ("proxy.golang.org", "sum.golang.org")
_CARGO_HOSTS = ("index.crates.io", "static.crates.io", "crates.io")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE")
_PIP_FILES = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_TIMEOUT_SECONDS = 60.0


def python_index(environment: Mapping[str, str]) -> str:
    """The address of the Python package index that uv or pip of this user are set to."""
    for name in _INDEX_VARIABLES:
        if environment.get(name):
            return _without_login(environment[name])
    for path in _PIP_FILES:
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(Path(path).expanduser())
        except (Error, UnicodeDecodeError):
            continue
        if found := parser.get("global", "index-url", fallback=""):
            return _without_login(found)
    return PYPI


def node_registry(environment: Mapping[str, str]) -> str:
    """The address of the registry that npm of this user is set to."""
    npm = shutil.which("npm", path=environment.get("PATH"))
    if npm is None:
        return NPM
    try:
        done = run_process([npm, "config", "get", "registry"], folder=Path("/"), timeout_seconds=_TIMEOUT_SECONDS)
    except (OSError, TimeoutExpired):
        return NPM
    found = done.stdout.decode(errors="replace").strip()
    return _without_login(found) if re.match(r"https?://", found) else NPM


def registry_variables(index: str, registry: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that set tools to these registries, with the certificates that this machine uses."""
    certificates = {name: environment[name] for name in _CERTIFICATES if _is_shown(environment.get(name))}
    return {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index, "npm_config_registry": registry, **certificates}


def registry_hosts(index: str, registry: str) -> tuple[str, ...]:
    """The hosts that must be reachable for installing from these registries."""
    return tuple(dict.fromkeys((*_hosts(index, registry), *_GO_HOSTS, *_CARGO_HOSTS)))


def _hosts(index: str, registry: str) -> Iterator[str]:
    for address in (index, registry):
        place = urlsplit(address)
        if place.hostname:
            yield place.hostname if place.port is None else f"{place.hostname}:{place.port}"
    if index.startswith(PYPI):
        yield _PYPI_FILES


def _is_shown(path: str | None) -> bool:
    """Whether sandboxes have a file of certificates."""
    return path is not None and os.path.realpath(path).startswith(("/etc/", "/usr/"))


def _without_login(address: str) -> str:
    return re.sub(r"(?<=://)[^/@]*@", "", address)
