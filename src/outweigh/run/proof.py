"""Proof of load: whether an arm had what it declares, and nothing of another arm, in this very run."""

from collections.abc import Iterator
from dataclasses import dataclass

from outweigh.record.loaded import Loaded, LoadedServer
from outweigh.run.watchlist import Declared, Watchlist
from outweigh.task.arm import Arm
from outweigh.transcript.model_call import Account

BROKEN_STATES = frozenset({"failed", "error", "disabled", "needs-auth"})
REQUESTS = "requests"
"""The source that the gateway is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was loaded, and every way in which that is not what the arm declares."""

    loaded: Loaded | None
    faults: tuple[str, ...]


def prove(arm: Arm, watch: Watchlist, said: Loaded | None, account: Account | None) -> Proof:
    """Hold what the agent says and what was sent to the model against the arm; without either, nothing is proven."""
    answered = account is not None and any(call.failure is None for call in account.calls)
    if said is None and not answered:
        return Proof(loaded=None, faults=())
    sight = _Sight(said, account if answered else None)
    return Proof(loaded=_loaded(arm, watch, sight), faults=tuple(_faults(arm, watch, sight)))


class _Sight:
    """All that could be seen of a run."""

    def __init__(self, said: Loaded | None, account: Account | None) -> None:
        self.said = said
        self.seen = None if account is None else account.seen
        self.tools = None if account is None else tuple(dict.fromkeys(t for call in account.calls for t in call.tools))
        self.models = [] if account is None else [c.requested_model for c in account.calls if c.requested_model]

    def shows(self, thing: Declared, listed: tuple[str, ...] | None) -> bool | None:
        """Whether a thing was at hand; None where nobody could have seen it."""
        if self.seen is not None and {thing.shown_by, thing.used_by} & self.seen:
            return True
        if listed is not None:
            return thing.name in listed or thing.folder in listed
        return None if self.seen is None or thing.shown_by is None else False


def _faults(arm: Arm, watch: Watchlist, sight: _Sight) -> Iterator[str]:
    yield from _skills(arm, watch, sight)
    yield from _instructions(arm, watch, sight)
    yield from _servers(arm, sight)
    yield from _model(arm, sight)


def _skills(arm: Arm, watch: Watchlist, sight: _Sight) -> Iterator[str]:
    listed = None if sight.said is None else sight.said.skills
    for skill in watch.skills.get(arm.name, ()):
        if sight.shows(skill, listed) is False:
            yield f"the skill {skill.name!r} is declared and was not loaded"
    own = {skill.name for skill in watch.skills.get(arm.name, ())}
    for skill in watch.of_others(arm.name)[0]:
        # Another arm's version of a skill that this arm has too is known by its text alone.
        if sight.shows(skill, None if skill.name in own else listed):
            yield f"the skill {skill.name!r} of another arm was loaded"


def _instructions(arm: Arm, watch: Watchlist, sight: _Sight) -> Iterator[str]:
    """By what was sent alone: that a file was found does not say which text it had."""
    for text in watch.instructions.get(arm.name, ()):
        if sight.shows(text, None) is False:
            yield f"the instructions in {text.name} are declared and were not sent to the model"
    for text in watch.of_others(arm.name)[1]:
        if sight.shows(text, None):
            yield f"the instructions in {text.name} of another arm were sent to the model"


def _servers(arm: Arm, sight: _Sight) -> Iterator[str]:
    states = {server.name: server.state for server in _servers_said(sight) or ()}
    for name in arm.mcp_servers:
        if _offers(sight, name):
            continue
        if states.get(name) in BROKEN_STATES:
            yield f"the MCP server {name!r} is declared and its state was {states[name]!r}"
        elif _servers_said(sight) is not None and name not in states:
            yield f"the MCP server {name!r} is declared and was not loaded"


def _servers_said(sight: _Sight) -> tuple[LoadedServer, ...] | None:
    return None if sight.said is None else sight.said.mcp_servers


def _offers(sight: _Sight, server: str) -> bool:
    """Tools of a server carry its name: mcp__server__tool, mcp_server_tool or server_tool, as agents differ."""
    return any(tool.removeprefix("mcp__").removeprefix("mcp_").startswith(f"{server}_") for tool in sight.tools or ())


def _model(arm: Arm, sight: _Sight) -> Iterator[str]:
    if arm.model is None or not sight.models:
        return
    wanted = _bare(arm.model)
    if not any(wanted in _bare(model) or _bare(model) in wanted for model in sight.models):
        yield f"the model {arm.model!r} is declared and {sight.models[0]!r} was asked"


def _bare(model: str) -> str:
    """A model's name without the provider that some agents put before it, or the version that aliases leave out."""
    return model.rpartition("/")[2].lower().replace(".", "-")


def _loaded(arm: Arm, watch: Watchlist, sight: _Sight) -> Loaded:
    said = sight.said
    listed = None if said is None else said.skills
    known = {skill for skills in watch.skills.values() for skill in skills}
    seen = sight.seen or frozenset()
    shown = sorted({skill.name for skill in known if {skill.shown_by, skill.used_by} & seen})
    read = sorted({skill.name for skill in known if skill.used_by in seen})
    told_used = None if said is None else said.skills_used
    texts = [text.name for texts in watch.instructions.values() for text in texts if text.shown_by in seen]
    memory = None if said is None else said.memory_files
    unseen = sight.seen is None
    return Loaded(
        skills=listed if listed is not None else (None if unseen else tuple(shown)),
        skills_used=(
            None if told_used is None and (unseen or not known) else tuple(dict.fromkeys((*(told_used or ()), *read)))
        ),
        mcp_servers=_servers_said(sight) or _servers_seen(arm, sight),
        tools=said.tools if said is not None and said.tools is not None else sight.tools,
        memory_files=memory if memory is not None else (None if unseen else tuple(dict.fromkeys(texts))),
        seen_by=(*(() if said is None else said.seen_by), *(() if unseen else (REQUESTS,))),
    )


def _servers_seen(arm: Arm, sight: _Sight) -> tuple[LoadedServer, ...] | None:
    if sight.tools is None:
        return None
    return tuple(LoadedServer(name=name, state="offered") for name in arm.mcp_servers if _offers(sight, name))
