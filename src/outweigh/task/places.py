"""Where each agent looks for skills and instructions. Pure; what was seen of real agents, not what they promise."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders of skills and names of instruction files in a workspace; nothing where an agent knows no such thing."""

    skills: tuple[str, ...]
    instructions: tuple[str, ...]


_PLACES = {
    "aider": Places(skills=(), instructions=("CONVENTIONS.md",)),
    "claude-code": Places(skills=(".claude/skills",), instructions=("CLAUDE.md",)),
    "codex": Places(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "gemini-cli": Places(skills=(".gemini/skills",), instructions=("GEMINI.md",)),
    "goose": Places(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "mini-swe-agent": Places(skills=(), instructions=()),
    "opencode": Places(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "qwen-code": Places(skills=(".qwen/skills",), instructions=("QWEN.md",)),
}
_ANYWHERE = Places(skills=(".claude/skills", ".agents/skills"), instructions=("CLAUDE.md", "AGENTS.md"))
"""For agents that nobody told us about: the two places that most of them know."""


def places_of(agent: str) -> Places:
    """The places of one agent."""
    return _PLACES.get(agent, _ANYWHERE)
