"""Finding pieces of an arm's set-up in what is sent: proof that they were loaded, and what they take."""

from collections.abc import Iterable, Iterator

from outweigh.gateway.dialects.asked import Part
from outweigh.record.components import Component
from outweigh.transcript.model_call import Marker

MOST_REMEMBERED = 20_000
"""Texts of one run: a conversation sends its whole past every time, and a text once searched is not searched again."""

_GAP = "\0"
"""Stands where a marker was found, so that no other is found across it."""


class MarkerSearch:
    """Looks for the markers of one run, word by word: how a text is broken into lines is no matter."""

    def __init__(self, markers: Iterable[Marker]) -> None:
        worded = [(marker, _words(marker.text)) for marker in markers]
        # The longest first: what is inside another marker belongs to that one.
        self._markers = sorted((entry for entry in worded if entry[1]), key=lambda entry: -len(entry[1]))
        self._known: dict[int, dict[str, int]] = {}
        self.seen: set[str] = set()

    def split(self, parts: Iterable[Part]) -> list[Part]:
        """The same parts, with what belongs to a marker under the marker's own component."""
        return [piece for part in parts for piece in (self._split(part) if self._markers else (part,))]

    def _split(self, part: Part) -> Iterator[Part]:
        rest = part.size_bytes
        for text in part.texts:
            for name, size in self._found(text).items():
                self.seen.add(name)
                taken = min(size, rest)
                rest -= taken
                yield Part(self._component(name), (), taken)
        yield Part(part.component, part.texts, rest)

    def _component(self, name: str) -> Component:
        return next(marker.component for marker, _ in self._markers if marker.name == name)

    def _found(self, text: str) -> dict[str, int]:
        """Bytes by marker."""
        key = hash(text)
        if key not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = self._search(_words(text))
        return self._known[key]

    def _search(self, words: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for marker, wanted in self._markers:
            if times := words.count(wanted):
                found[marker.name] = times * len(wanted.encode(errors="surrogatepass"))
                words = words.replace(wanted, _GAP)
        return found


def _words(text: str) -> str:
    return " ".join(text.split())
