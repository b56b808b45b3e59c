"""Search through what agents said and did. Work is bounded: a search stops after so many runs, so much text or so many
finds, and says where to go on.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outweigh.errors import EvidenceError
from outweigh.report.run_steps import ShownStep
from outweigh.store.store import Store
from outweigh.web.catalogue import ViewedStore
from outweigh.web.run_row import RunRow

MAX_SEARCHED_RUNS = 400
MAX_SEARCHED_CHARACTERS = 40_000_000
MAX_FOUND_RUNS = 25
"""A search stops at whichever comes first."""

MAX_FINDS_PER_RUN = 3
MAX_QUERY_CHARACTERS = 200
_EXCERPT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Find:
    """A place where the words stand: the step, and the text before, at and after it."""

    position: int
    step: ShownStep
    before: str
    found: str
    after: str


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run with its first finds, and how many of its texts have the words."""

    store: ViewedStore
    row: RunRow
    finds: Sequence[Find]
    texts: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The runs that were found among those searched. `next_place` is where to go on; None if all were searched."""

    found: Sequence[FoundRun]
    searched_runs: int
    next_place: int | None


def search_transcripts(stores: Sequence[ViewedStore], words: str, place: int) -> SearchResult:
    """Search for words, in any case, from a place on. Places count the runs of all stores in order."""
    pattern = re.compile(re.escape(words[:MAX_QUERY_CHARACTERS]), re.IGNORECASE)
    found: list[FoundRun] = []
    searched = characters = 0
    for store, row in _runs_from(stores, place):
        if searched >= MAX_SEARCHED_RUNS or characters >= MAX_SEARCHED_CHARACTERS or len(found) >= MAX_FOUND_RUNS:
            return SearchResult(found, searched, place + searched)
        steps = _read_steps(store, row)
        finds = list(_search_steps(steps, pattern))
        if finds:
            found.append(FoundRun(store, row, finds[:MAX_FINDS_PER_RUN], len(finds)))
        searched += 1
        characters += sum(len(text) for step in steps for text in _texts(step))
    return SearchResult(found, searched, None)


def _runs_from(stores: Sequence[ViewedStore], place: int) -> Iterator[tuple[ViewedStore, RunRow]]:
    for store in stores:
        rows = store.index.rows
        # Rows are only appended, so those that are there now can be read without a lock.
        length = len(rows)
        for position in range(min(place, length), length):
            yield store, rows[position]
        place = max(0, place - length)


def _read_steps(store: ViewedStore, row: RunRow) -> Sequence[ShownStep]:
    """The steps of a run; none if they cannot be read, which its own page explains."""
    try:
        return Store.open(store.index.path).run_side(store.index.record(row)).steps or ()
    except EvidenceError:
        return ()


def _search_steps(steps: Sequence[ShownStep], pattern: re.Pattern[str]) -> Iterator[Find]:
    for position, step in enumerate(steps):
        for text in _texts(step):
            if match := pattern.search(text):
                start, end = match.span()
                yield Find(
                    position,
                    step,
                    _on_one_line(text[max(0, start - _EXCERPT_CHARACTERS) : start]),
                    _on_one_line(match[0]),
                    _on_one_line(text[end : end + _EXCERPT_CHARACTERS]),
                )


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _texts(step: ShownStep) -> Iterator[str]:
    """Everything that was said, asked for or answered in a step."""
    yield from filter(None, (step.message, step.reasoning, step.output))
    for call in step.calls:
        yield from filter(None, (call.tool, call.arguments, call.output))
