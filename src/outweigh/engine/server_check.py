"""Whether the tool servers of an arm worked in a run.

Three sources can show it. The requests to the model list the tools that the agent offers, and the agent cannot forge
them, so they come first. The agent's own report names servers and their states. The record of a server's start says
whether it answered the agent; it lies inside the sandbox, so it never outweighs requests that show otherwise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from outweigh.compare.server_tools import KNOWN_FORMS, tools_by_server
from outweigh.model.arm import Arm
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.ports.agents import ServerEvidence, ServerStart
from outweigh.ports.gateways import MeteredCalls, ModelCall

BROKEN_SERVER_STATES = frozenset({"failed", "error", "disabled", "disconnected", "needs-auth"})
WORKING_SERVER_STATES = frozenset({"connected", "ready"})
OFFERED, DEFERRED, ANSWERED = "offered", "deferred", "answered"
"""States in our own words: its tools were in the requests, could be searched for, or it answered the agent."""


def working_servers(reported: ObservedSetup) -> tuple[str, ...] | None:
    """The servers that the agent reports as connected; None where it reports none of its servers."""
    if reported.mcp_servers is None:
        return None
    return tuple(server.name for server in reported.mcp_servers if server.state in WORKING_SERVER_STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCheck:
    """The servers that were seen, None where nothing could show any; every fault; and what could not be proven."""

    servers: tuple[ObservedServer, ...] | None
    faults: tuple[str, ...]
    unproven: tuple[str, ...]


def check_servers(
    arm: Arm, reported: ObservedSetup | None, account: MeteredCalls | None, evidence: ServerEvidence | None
) -> ServerCheck:
    """Compare the servers that an arm declares with what the requests, the agent's report and the records show."""
    found = _ServerObservations(arm, reported, account, evidence)
    judged = {name: found.judge(name) for name in arm.mcp_servers}
    said = None if reported is None else reported.mcp_servers
    seen = tuple(ObservedServer(name=name, state=each.state) for name, each in judged.items() if each.state is not None)
    return ServerCheck(
        servers=said or (seen if found.requests is not None or seen else said),
        faults=tuple(_sentences(judged, "fault")),
        unproven=tuple(_sentences(judged, "unproven")),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What became of a server: the state in which it was seen, or what is wrong or unknown about it."""

    state: str | None = None
    fault: str | None = None
    unproven: str | None = None


def _sentences(judged: Mapping[str, _Finding], kind: str) -> Iterator[str]:
    for name, finding in judged.items():
        if (what := getattr(finding, kind)) is not None:
            yield f"the MCP server {name!r} is declared and {what}"


class _ServerObservations:
    """All that is known about the servers of one run."""

    def __init__(
        self,
        arm: Arm,
        reported: ObservedSetup | None,
        account: MeteredCalls | None,
        evidence: ServerEvidence | None,
    ) -> None:
        calls = () if account is None else tuple(call for call in account.calls if call.failure is None and call.tools)
        forms = None if evidence is None else evidence.tool_forms
        own = frozenset[str]() if evidence is None else evidence.own_tools
        servers = tuple(arm.mcp_servers)
        self.requests: tuple[ModelCall, ...] | None = calls or None
        self._are_forms_known = forms is not None
        self._tools = tuple(tool for call in calls for tool in call.tools if tool not in own)
        self._offered = tools_by_server(self._tools, servers, forms or KNOWN_FORMS)
        self._deferred = tools_by_server(
            (tool for call in calls for tool in call.deferred_tools), servers, forms or KNOWN_FORMS
        )
        listed = None if reported is None else reported.mcp_servers
        self._is_listing = listed is not None
        self._states = {server.name: server.state for server in listed or ()}
        self._has_report = reported is not None
        self._starts = {} if evidence is None else evidence.starts

    def judge(self, name: str) -> _Finding:
        """What became of a server."""
        start, said = self._starts.get(name), self._states.get(name)
        if name in self._offered or self._offers_recorded_tools(start):
            return _Finding(state=OFFERED)
        if name in self._deferred:
            return _Finding(state=DEFERRED)
        fault = self._fault(start, said)
        if fault is not None:
            return _Finding(fault=fault)
        if self.requests is not None and self._are_forms_known:
            return _judge_unoffered(start)
        return self._judge_unrequested(start, said)

    def _offers_recorded_tools(self, start: ServerStart | None) -> bool:
        """Whether an agent whose naming is unknown offers a tool that the server listed."""
        if self._are_forms_known or start is None or not start.tools:
            return False
        return any(_plain(tool).endswith(_plain(listed)) for tool in self._tools for listed in start.tools)

    def _fault(self, start: ServerStart | None, said: str | None) -> str | None:
        """What the agent's report or the record says is wrong."""
        if said in BROKEN_SERVER_STATES:
            return f"its state was {said!r}" + ("" if start is None or start.fault is None else f": it {start.fault}")
        if start is None or not start.is_recorded or (start.has_answered and start.fault is None):
            return None
        if start.was_started:
            return f"it {start.fault or 'never answered the agent'}"
        if self.requests is None and not self._has_report:
            return None  # the agent may have been stopped before it started any server
        return "the agent never started it"

    def _judge_unrequested(self, start: ServerStart | None, said: str | None) -> _Finding:
        """Without requests that could show it, the report and the record decide."""
        if said in WORKING_SERVER_STATES:
            return _Finding(state=said)
        if start is not None and start.tools is not None:
            unseen = "it answered the agent, but no request offers a tool under a name that it is known by"
            return _Finding(state=ANSWERED, unproven=None if self.requests is None else unseen)
        if self._is_listing and said is None:
            return _Finding(fault="was not loaded")
        if self.requests is None and not self._has_report:
            return _Finding()
        return _Finding(state=said, unproven="nothing that this agent shows says whether it worked")


def _judge_unoffered(start: ServerStart | None) -> _Finding:
    if start is not None and start.tools == ():
        return _Finding(state=ANSWERED, unproven="it has no tools, so requests cannot show whether it worked")
    also = "" if start is None or not start.has_answered else ", although it answered the agent"
    return _Finding(fault=f"none of its tools was offered to the model{also}")


def _plain(name: str) -> str:
    """A tool's name without the characters that agents replace."""
    return "".join(filter(str.isalnum, name)).lower()
