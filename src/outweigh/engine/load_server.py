"""Checks what a suite says about a tool server: how it is reached, and that no header holds a secret in plain text."""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import McpServer
from outweigh.model.provider import variables_in

_SECRET_HEADER = re.compile(r"authorization|cookie|secret|token|api-?key|access-?key|^key$", re.IGNORECASE)


def refuse_bad_server(server: McpServer, variables: Collection[str], where: str) -> None:
    """Refuse a server that no agent could start or reach; `variables` are the secrets and variables of its arm."""
    if bool(server.command) == (server.url is not None):
        which = "has both `command` and `url`; keep one" if server.command else "needs a `command` or a `url`"
        raise UsageError(f"{where} {which}.")
    if server.url is None:
        if server.headers:
            raise UsageError(f"{where}.headers: only a server with a `url` is sent headers; use `environment`.")
        return
    _refuse_bad_address(server.url, where)
    for header, value in server.headers.items():
        _refuse_bad_header(header, value, variables, f"{where}.headers.{header}")


def _refuse_bad_address(url: str, where: str) -> None:
    try:
        address = urlsplit(url)
        is_complete = address.scheme in ("http", "https") and bool(address.hostname) and (address.port or 1) > 0
    except ValueError:
        is_complete = False
    if not is_complete:
        raise UsageError(f"{where}.url must be an address that starts with http:// or https://.")
    if address.username is not None:
        raise UsageError(f"{where}.url holds a password, which would be stored; send it in `headers`.")


def _refuse_bad_header(header: str, value: str, variables: Collection[str], where: str) -> None:
    named = variables_in(value)
    unknown = [name for name in named if name not in variables]
    if unknown:
        raise UsageError(f"{where} names {quote_names(unknown)}; add it to `secrets` of the arm.")
    if _SECRET_HEADER.search(header) and not named:
        raise UsageError(
            f"{where} holds its value in plain text, which would be stored with the arm. Put it into an environment "
            "variable, name that in `secrets` of the arm, and write it here as ${NAME}."
        )
