"""Addresses of stores elsewhere, such as `s3://team/demo` or `sftp://host/srv/demo`: text that is never a `Path`.

An address names a place and holds no secret. Credentials come from where the program that reads it keeps them: the
environment, a profile, an SSH agent.
"""

import os
import re
from pathlib import PurePath

from outweigh.errors import UsageError

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_COLLAPSED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/[^/]")
"""What a `Path` makes of an address: it drops one of the slashes."""
_PASSWORD = re.compile(r"[^/]*?:(?!\d+(?:/|$)).*@", re.DOTALL)
"""A password may have slashes in it; a port has digits alone."""
_LOCAL_SCHEMES = frozenset({"file", "local"})
_WEB_SCHEMES = frozenset({"http", "https"})
"""Where a name before the host is a token as often as not."""


def is_address(name: str | os.PathLike[str]) -> bool:
    """Whether a name is an address, and not a path."""
    return isinstance(name, str) and "://" in name and _ADDRESS.match(name) is not None


def scheme_of(address: str) -> str:
    """What comes before `://`, which says who can read it."""
    return address.partition("://")[0].lower()


def check_address(address: str) -> str:
    """The address without slashes at its end; refused where it holds a secret or names nothing, and not repeated."""
    scheme, _, rest = address.partition("://")
    shown = f"the address {scheme}://…"
    if _PASSWORD.match(rest) or (scheme.lower() in _WEB_SCHEMES and "@" in rest.partition("/")[0]):
        raise UsageError(
            f"{shown} has a password in it. Leave it out: others read addresses in reports and in the history of "
            "your shell. Credentials come from the environment, a profile or an SSH agent."
        )
    if "?" in rest or "#" in rest:
        raise UsageError(
            f"{shown} has a query or a fragment in it, where signatures and tokens are. Leave it out; credentials come "
            "from the environment or a profile."
        )
    if scheme.lower() in _LOCAL_SCHEMES:
        raise UsageError(f"{shown} is on this machine; name it by its path.")
    if not rest.strip("/"):
        raise UsageError(f"{shown} names no bucket or host; write it as in s3://bucket/demo.")
    return f"{scheme}://{rest.rstrip('/')}"


def join_address(address: str, name: str) -> str:
    """The address of something below another."""
    return f"{address}/{name}" if name else address


def split_address(address: str) -> tuple[str, str]:
    """The address of the folder, and the last part of the name."""
    folder, _, name = address.rpartition("/")
    return folder, name


def refuse_address(path: str | os.PathLike[str], option: str) -> None:
    """Refuse to write files at an address; also where the address became a `Path`."""
    text = os.fspath(path)
    if is_address(text) or (isinstance(path, PurePath) and _COLLAPSED.match(text)):
        raise UsageError(
            f"{option} is an address ({text.partition(':/')[0]}://…), and files are written to this machine. Name a "
            "path; `outweigh store copy FOLDER ADDRESS` copies a finished store to an address."
        )
