"""Telling the requests of sub-agents from those of the agent itself."""

from collections.abc import Iterable

SHORTEST_TASK = 12
"""Characters: shorter arguments of tools are no tasks, and might be anybody's first words."""

MOST_REMEMBERED = 100_000


class Conversations:
    """The conversations of one run, each known by the user's words before the model first spoke.

    A conversation is a sub-agent's if, when it is first seen, one of those texts is word for word what a tool was
    called with before: that is how agents hand a task to another. Once decided, it stays so: an agent that hands on
    its own instruction unchanged does not become its own sub-agent.
    """

    def __init__(self) -> None:
        self._handed_over: set[int] = set()
        self._is_sub_agent: dict[tuple[int, ...], bool] = {}

    def is_sub_agent(self, opening: Iterable[str]) -> bool:
        """Whether the conversation that begins so was started by a tool call of this run."""
        texts = tuple(opening)
        begun = tuple(map(hash, texts))
        if begun not in self._is_sub_agent:
            if len(self._is_sub_agent) >= MOST_REMEMBERED:
                self._is_sub_agent.clear()
            self._is_sub_agent[begun] = not self._handed_over.isdisjoint(map(_word_hash, texts))
        return self._is_sub_agent[begun]

    def hand_over(self, texts: Iterable[str]) -> None:
        """Note what a tool was called with."""
        for text in texts:
            if len(text) >= SHORTEST_TASK and len(self._handed_over) < MOST_REMEMBERED:
                self._handed_over.add(_word_hash(text))


def _word_hash(text: str) -> int:
    return hash(tuple(text.split()))
