"""Tool servers of a `.mcp.json` as a suite states them. Values that look like secrets become secrets of the arm."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.model.arm import McpServer
from outweigh.model.provider import variables_in

_SECRET_NAME = re.compile(
    r"secret|token|passw|credential|private|api_?key|access_?key|(?:^|_)(?:key|auth|authorization|pat|pwd|dsn)(?:$|_)|"
    r"connection_string|database_url|cookie",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abpr]|AKIA|ASIA|AIza|hf|npm|pypi|dop_v1|shpat|lin_api)[-_]?[\w-]{12,}|"
    r"-----BEGIN|\beyJ[\w-]{10,}\.[\w-]{5,}|://[^/\s:@]+:[^/\s@]+@|\bBearer\s+\S{8,}"
)
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_SECRET_FLAG = re.compile(
    r"^--?[\w-]*(?:secret|token|passw|api-?key|access-?key|credential)[\w-]*(?:=(.+))?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServer:
    """A server as a suite states it, and the variables that its arm needs as secrets.

    `withheld` says why it cannot be written into a suite; None where it can.
    """

    server: McpServer
    secrets: tuple[str, ...] = ()
    withheld: str | None = None


class _StatedServer(msgspec.Struct):
    """A tool server as a `.mcp.json` states it; other keys say nothing about how it is reached."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}


class _ServersFile(msgspec.Struct):
    servers: dict[str, _StatedServer] = msgspec.field(name="mcpServers", default_factory=dict)


def read_servers(content: bytes, path: str) -> dict[str, FoundServer]:
    """Every server of a `.mcp.json`, by name; UsageError where the file is not one."""
    try:
        stated = msgspec.json.decode(content, type=_ServersFile).servers
        return {name: _found(name, server) for name, server in stated.items()}
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        raise UsageError(
            f'{path} is not a list of tool servers ({{"mcpServers": {{"NAME": {{"command": "…"}}}}}}): {fault}.'
        ) from None


def looks_secret(name: str, value: str) -> bool:
    """Whether a value should not be written down, by its name or by what it looks like; `${NAME}` only names one."""
    if not value or variables_in(value):
        return False
    has_digits_and_letters = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    is_random = has_digits_and_letters and _LONG_WORD.search(value) is not None and "/" not in value
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value) or is_random)


def secret_places(value: object, path: str = "") -> Iterator[str]:
    """Where a settings file holds what looks like a secret, as dotted paths."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from secret_places(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from secret_places(inner, path)
    elif isinstance(value, str) and (looks_secret("", value) or _is_secret_variable(path, value)):
        yield path


def _is_secret_variable(path: str, value: str) -> bool:
    """Whether it is the value of a variable: other keys, such as permissions, have words such as "token" in them."""
    *above, name = path.split(".")
    return "env" in above and looks_secret(name, value)


def _found(name: str, stated: _StatedServer) -> FoundServer:
    if not stated.command and not stated.url:
        raise ValueError(f"{name!r} has neither a command nor a url")
    words = [stated.command or "", *stated.args]
    if any(map(_is_secret_word, words, [*words[1:], ""])) or looks_secret("", stated.url or ""):
        why = "its command or address holds what looks like a secret; take that from a variable of its environment"
        return FoundServer(server=McpServer(command=["withheld"]), withheld=why)
    if stated.url is not None:
        headers, secrets = _headers(name, stated.headers)
        return FoundServer(server=msgspec.convert({"url": stated.url, "headers": headers}, McpServer), secrets=secrets)
    handed = {key for key, value in stated.env.items() if value == f"${{{key}}}" or looks_secret(key, value)}
    environment = {key: value for key, value in stated.env.items() if key not in handed}
    if odd := [key for key, value in environment.items() if variables_in(value)]:
        why = f"env gives {', '.join(odd)} the value of another variable; give both the same name"
        return FoundServer(server=McpServer(command=["withheld"]), withheld=why)
    server = msgspec.convert({"command": words, "environment": environment}, McpServer)
    named = {variable for word in words for variable in variables_in(word)}
    return FoundServer(server=server, secrets=tuple(sorted(handed | named)))


def _is_secret_word(word: str, following: str) -> bool:
    """Whether a word of a command is a secret, or an option whose value is one."""
    flag = _SECRET_FLAG.match(word)
    if flag is None:
        return _SECRET_VALUE.search(word) is not None
    given = flag[1] or ("" if following.startswith("-") else following)
    return bool(given) and not variables_in(given)


def _headers(server: str, stated: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    headers, secrets = dict(stated), {name for value in stated.values() for name in variables_in(value)}
    for header, value in stated.items():
        if looks_secret(header.replace("-", "_"), value):
            variable = re.sub(r"\W+", "_", f"{server}_{header}").upper()
            headers[header] = f"${{{variable}}}"
            secrets.add(variable)
    return headers, tuple(sorted(secrets))
