"""Starts the tool servers of an arm with a recorder of their handshake, and reads what it recorded.

An agent's settings name a script in the trial's home instead of a server's command. The script sets the server's
variables, so that they are the same with every agent, and starts the recorder with Python or Node; where a sandbox has
neither, it starts the server itself and records that nothing more is known.
"""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from outweigh.agents import handshake_recorder
from outweigh.model.arm import Arm, McpServer
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.untrusted_json import amount_at, bool_at, int_at, names_at, str_at
from outweigh.ports.agents import ServerStart

RECORDS_FOLDER, RECORD_SUFFIX = ".outweigh-servers", ".jsonl"
"""Where the records are in the trial's home, a file for each server."""
RECORDS_ARTIFACT = "mcp-servers.jsonl"
_PYTHON, _NODE = "handshake_recorder.py", "handshake_recorder.js"
_SCRIPT = """\
# Starts a tool server of the arm, and records its handshake.
{exports}set -- {command}
if command -v python3 >/dev/null 2>&1; then exec python3 -I -S {python_recorder} {settings} "$@"; fi
if command -v node >/dev/null 2>&1; then exec node {node_recorder} {settings} "$@"; fi
if {python} -c '' 2>/dev/null; then exec {python} -I -S {python_recorder} {settings} "$@"; fi
echo {unrecorded} >>{record}
exec "$@"
"""


_SECONDS_TO_RECORD = 5.0


def start_limit_seconds(server: McpServer) -> float:
    """How long an agent itself is to wait for a server: a little longer than the recorder does, so that it can record
    why the server was ended.
    """
    return server.start_timeout_seconds + _SECONDS_TO_RECORD


def recorded_servers(arm: Arm) -> tuple[str, ...]:
    """The servers that are started in the sandbox; those with an address are not."""
    return tuple(name for name, server in arm.mcp_servers.items() if server.url is None)


def with_recorders(arm: Arm, home: str) -> Arm:
    """The arm with scripts in place of its servers' commands; `home` is the path of its home inside the sandbox."""
    scripts = {name: ["/bin/sh", f"{home}/{_script(number)}"] for number, name in enumerate(recorded_servers(arm))}
    servers = {
        name: msgspec.structs.replace(server, command=scripts[name], environment={}) if name in scripts else server
        for name, server in arm.mcp_servers.items()
    }
    return msgspec.structs.replace(arm, mcp_servers=servers)


def recorder_files(arm: Arm, home: str, environment: Mapping[str, str], python: str) -> dict[str, bytes]:
    """The scripts and the recorder, by their path below the home. `environment` must not contain secrets."""
    names = recorded_servers(arm)
    if not names:
        return {}
    folder = Path(handshake_recorder.__file__).parent
    programs = {f"{RECORDS_FOLDER}/{program}": (folder / program).read_bytes() for program in (_PYTHON, _NODE)}
    return programs | {
        _script(number): _start_script(number, name, arm.mcp_servers[name], home, environment, python).encode()
        for number, name in enumerate(names)
    }


def _script(number: int) -> str:
    return f"{RECORDS_FOLDER}/{number}.sh"


def _start_script(
    number: int, name: str, server: McpServer, home: str, environment: Mapping[str, str], python: str
) -> str:
    variables = {**environment, **server.environment}
    record = f"{home}/{RECORDS_FOLDER}/{number}{RECORD_SUFFIX}"
    unrecorded = msgspec.json.encode({"server": name, "event": "unrecorded"}).decode()
    return _SCRIPT.format(
        exports="".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items()),
        command=shlex.join(server.command),
        python_recorder=shlex.quote(f"{home}/{RECORDS_FOLDER}/{_PYTHON}"),
        node_recorder=shlex.quote(f"{home}/{RECORDS_FOLDER}/{_NODE}"),
        settings=shlex.join([record, name, f"{server.start_timeout_seconds:g}"]),
        python=shlex.quote(python),
        unrecorded=shlex.quote(unrecorded),
        record=shlex.quote(record),
    )


def read_server_starts(servers: Iterable[str], records: bytes) -> dict[str, ServerStart]:
    """How each server started. The agent could have written the records itself, so they may hold anything."""
    events: dict[str, list[JsonObject]] = {name: [] for name in servers}
    for line in records.splitlines():
        event = try_decode_json(line)
        if isinstance(event, dict) and (name := str_at(event, "server")) in events:
            events[name or ""].append(event)
    return {name: _server_start(found) for name, found in events.items()}


def _server_start(events: list[JsonObject]) -> ServerStart:
    """The best of all starts: agents start a server again that has failed, and once more for a sub-agent."""
    kinds = {str_at(event, "event") for event in events}
    has_listed = "listed" in kinds or any(bool_at(event, "has_tools") is False for event in events)
    tools = tuple(dict.fromkeys(name for event in events for name in names_at(event, "tools") or ()))
    has_answered = bool(kinds & {"initialized", "listed"})
    return ServerStart(
        is_recorded="unrecorded" not in kinds,
        was_started=bool(kinds),
        has_answered=has_answered,
        tools=tools if has_listed else None,
        fault=None if has_listed else next(filter(None, (_fault(event, has_answered) for event in events)), None),
    )


def _fault(event: JsonObject, has_answered: bool) -> str | None:
    """What went wrong, as the end of a sentence about the server."""
    method = str_at(event, "method") or "a request"
    match str_at(event, "event"):
        case "not_started":
            return f"could not be started ({str_at(event, 'error') or 'for an unknown reason'})"
        case "silent":
            return f"did not answer {method} within {amount_at(event, 'seconds') or 0:g} s"
        case "refused":
            return f"answered {method} with an error ({str_at(event, 'error') or 'without a message'})"
        case "ended" if not has_answered or str_at(event, "unanswered"):
            said = (str_at(event, "stderr") or "").strip()
            wanted = str_at(event, "unanswered") or "initialize"
            return f"ended before it answered {wanted}{_ending(event)}{f': {said}' if said else ''}"
    return None


def _ending(event: JsonObject) -> str:
    code = int_at(event, "code")
    if code is None:
        return ""
    return f" (exit code {code})" if code >= 0 else f" (signal {-code})"
