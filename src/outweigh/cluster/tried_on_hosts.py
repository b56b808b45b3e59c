"""What hosts found when they tried the arms with the scripted model, before they get a run that is paid for.

Hosts may have other versions of an agent than the lead, so each tries the arms itself. What follows from it is decided
by the lead, in the words of a run on one machine. Its caller holds the lock of the lead.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from outweigh.cluster.lead_state import LeadState
from outweigh.cluster.messages import ExchangeReply, HostState
from outweigh.store.tried_arms_file import TriedArm


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesFindings:
    """What follows from tries: arms that are not run as they are, a paragraph for each fault, and notices."""

    refused: frozenset[str]
    faults: tuple[str, ...]
    notices: tuple[str, ...]


ExamineTries = Callable[[Mapping[str, TriedArm]], TriesFindings]


def ignore_tries(_tried: Mapping[str, TriedArm]) -> TriesFindings:
    """Nothing follows from any try."""
    return TriesFindings(refused=frozenset(), faults=(), notices=())


class HostTries:
    """The findings by host. A host gets no attempt of an arm that is refused on it."""

    def __init__(self, state: LeadState, examine: ExamineTries) -> None:
        self._state = state
        self._examine = examine
        self._tried: dict[str, tuple[TriedArm, ...]] = {}
        self._found: dict[str, TriesFindings] = {}
        self._notes: list[str] = []

    def take(self, reply: ExchangeReply) -> None:
        """Take in what a host found, before it is given anything."""
        if reply.state is not HostState.READY or self._tried.get(reply.host, ()) == reply.tried:
            return
        found = self._examine({each.arm: each for each in reply.tried})
        self._tried[reply.host], self._found[reply.host] = reply.tried, found
        self._state.refused_arms[reply.host] = found.refused
        self._notes += found.notices
        self._notes += (f"{reply.node} (host {reply.host}): {fault}" for fault in found.faults)

    def take_notes(self) -> list[str]:
        """What people are to hear where the run goes on; each is returned once."""
        notes, self._notes = self._notes, []
        return notes

    def refused(self) -> list[str]:
        """The faults of arms that no host makes because of them."""
        ready = [host for host in self._state.hosts.values() if host.state is HostState.READY]
        offered = frozenset[str]().union(*(host.arms for host in ready))
        nodes: dict[str, list[str]] = {}
        for host in ready:
            found = self._found.get(host.name)
            if found is not None and found.refused - offered:
                for fault in found.faults:
                    nodes.setdefault(fault, []).append(host.node)
        return [f"{fault} This was found on {', '.join(dict.fromkeys(where))}." for fault, where in nodes.items()]
