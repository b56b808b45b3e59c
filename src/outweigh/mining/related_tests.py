"""Which tests besides the hidden ones are about the code that a change touches, and so could notice what it breaks."""

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import PurePosixPath

from outweigh.mining.candidate import Candidate

_SHORTEST_WORD = 4
"""Shorter names of modules, such as `io`, stand in texts that have nothing to do with them."""
_COMMON_STEMS = frozenset({"__init__", "__main__", "index", "main", "base", "core", "util", "utils", "types", "test"})


class _Nearness(IntEnum):
    """How a test file is related to the change, the nearest first."""

    NAMED_LIKE_SOURCE = 0
    MENTIONS_SOURCE = 1
    BESIDE_IT = 2


def related_tests(contents: Mapping[str, bytes], candidate: Candidate) -> list[str]:
    """Those test files that are named like a changed source file, mention one, or lie beside what was changed.

    The nearest come first. Where none is related, tests of other code would only take time: there are none.
    """
    stems = {PurePosixPath(path).stem.lower() for path in candidate.source_files}
    folders = {str(PurePosixPath(path).parent) for path in (*candidate.source_files, *candidate.test_files)}
    mention = _mention(stems)
    found = ((_nearness(path, content, stems, folders, mention), path) for path, content in contents.items())
    return [path for _, path in sorted((nearness, path) for nearness, path in found if nearness is not None)]


def _nearness(
    path: str, content: bytes, stems: set[str], folders: set[str], mention: re.Pattern[bytes] | None
) -> _Nearness | None:
    place = PurePosixPath(path)
    if any(stem in place.stem.lower() for stem in stems):
        return _Nearness.NAMED_LIKE_SOURCE
    if mention is not None and mention.search(content):
        return _Nearness.MENTIONS_SOURCE
    return _Nearness.BESIDE_IT if str(place.parent) in folders else None


def _mention(stems: set[str]) -> re.Pattern[bytes] | None:
    words = sorted(_telling(stems))
    pattern = rf"(?i)\b(?:{'|'.join(map(re.escape, words))})\b"
    return re.compile(pattern.encode()) if words else None


def _telling(stems: set[str]) -> Iterator[str]:
    return (stem for stem in stems if len(stem) >= _SHORTEST_WORD and stem not in _COMMON_STEMS)
