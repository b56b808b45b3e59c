"""What an agent really had at hand in a run: the proof that an arm was what it says."""

from outweigh.record.stored import Name, Stored


class LoadedServer(Stored, frozen=True):
    """A tool server and what became of it, in the agent's own word: connected, failed, pending."""

    name: Name
    state: str


class Loaded(Stored, frozen=True):
    """What was seen to be loaded; None where nobody could see. `seen_by` names the sources, such as "init event"."""

    skills: tuple[Name, ...] | None
    skills_used: tuple[Name, ...] | None
    mcp_servers: tuple[LoadedServer, ...] | None
    tools: tuple[Name, ...] | None
    memory_files: tuple[str, ...] | None
    seen_by: tuple[Name, ...]
