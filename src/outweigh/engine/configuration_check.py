"""The check of hooks, sub-agents, plugins, commands, rules and instructions for a folder.

An item is proven by the agent's own list or by its text in requests. It is a fault only where one of these would have
shown it. What nothing can show is said to be unproven.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from outweigh.engine.declared_configuration import DeclaredItem, DeclaredKind
from outweigh.engine.server_check import working_servers
from outweigh.errors import quote_names
from outweigh.model.agent_files import ConfigurationKind
from outweigh.model.run_record import ObservedSetup

_CONFIGURATION_KINDS = {
    DeclaredKind.SUB_AGENT: ConfigurationKind.AGENT,
    DeclaredKind.COMMAND: ConfigurationKind.COMMAND,
}
_AS_NEEDED = frozenset({DeclaredKind.RULE, DeclaredKind.FOLDER_INSTRUCTIONS})
"""What agents send only once they work with the files that it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationCheck:
    """What was seen of the items of all arms, what is wrong with it, and what could not be proven."""

    seen: Mapping[DeclaredKind, tuple[str, ...] | None]
    faults: tuple[str, ...]
    unproven: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationSources:
    """Where items can be seen: the agent's own report, the markers found in requests, and the kinds always sent."""

    reported: ObservedSetup | None
    seen: frozenset[str] | None
    always_sent: Collection[ConfigurationKind]

    def listed(self, kind: DeclaredKind) -> tuple[str, ...] | None:
        """The names of this kind that the agent lists; None where it lists none."""
        if self.reported is None:
            return None
        return {
            DeclaredKind.SUB_AGENT: self.reported.agents,
            DeclaredKind.COMMAND: self.reported.commands,
            DeclaredKind.HOOK: self.reported.hooks,
            DeclaredKind.PLUGIN: self.reported.plugins,
            DeclaredKind.SERVER: working_servers(self.reported),
        }.get(kind)

    def shows(self, item: DeclaredItem) -> bool:
        """Whether the item was seen."""
        listed = self.listed(item.kind) or ()
        return item.name in listed or (self.seen is not None and item.shown_by in self.seen)

    def would_show(self, item: DeclaredItem) -> bool:
        """Whether the item would have been seen if it had been loaded."""
        if item.kind in _AS_NEEDED:
            return False
        if self.listed(item.kind) is not None:
            return item.kind is not DeclaredKind.HOOK or item.is_certain
        is_sent = _CONFIGURATION_KINDS.get(item.kind) in self.always_sent
        return is_sent and item.shown_by is not None and self.seen is not None


def check_configuration(
    own: Collection[DeclaredItem], others: Collection[DeclaredItem], sources: ConfigurationSources
) -> ConfigurationCheck:
    """Compare the items of an arm with what was seen; `others` are items of other arms, told by their texts alone."""
    unseen = [item for item in own if not sources.shows(item)]
    foreign = [item for item in others if sources.seen is not None and item.shown_by in sources.seen]
    return ConfigurationCheck(
        seen={kind: _seen_names(kind, (*own, *foreign), sources) for kind in DeclaredKind},
        faults=(
            *(_missing(item) for item in unseen if sources.would_show(item)),
            *(f"the {item.kind} {item.name!r} of another arm was loaded" for item in foreign),
        ),
        unproven=tuple(_unproven([item for item in unseen if not sources.would_show(item)], sources)),
    )


def _seen_names(
    kind: DeclaredKind, items: Collection[DeclaredItem], sources: ConfigurationSources
) -> tuple[str, ...] | None:
    """The declared names of a kind that were seen; None where nothing could have shown them."""
    names = tuple(item.name for item in items if item.kind is kind and sources.shows(item))
    return names if names or sources.listed(kind) is not None else None


def _missing(item: DeclaredItem) -> str:
    if item.kind is DeclaredKind.HOOK:
        return f"the hook for {item.name} is declared and was not run"
    return f"the {item.kind} {item.name!r} is declared and was not loaded"


def _unproven(items: Collection[DeclaredItem], sources: ConfigurationSources) -> Iterator[str]:
    """One line for each kind, with the reason."""
    for kind in DeclaredKind:
        names = [item.name for item in items if item.kind is kind]
        if not names:
            continue
        noun = "instructions in" if kind is DeclaredKind.FOLDER_INSTRUCTIONS else f"{kind}{'s' if names[1:] else ''}"
        yield f"the {noun} {quote_names(names)} ({_reason(kind, sources)})"


def _reason(kind: DeclaredKind, sources: ConfigurationSources) -> str:
    if kind in _AS_NEEDED:
        return "sent only when the agent works with files there, and not seen in this run"
    if sources.listed(kind) is not None:
        return "run only at that moment, and not seen in this run"
    return "neither its output nor its requests show this"
