"""Families of candidates: the sub-system that each of them changes.

Tasks of one sub-system resemble each other, so intervals treat them as a cluster. A family for everything would say
nothing, and neither would one for every task.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import ceil

from outweigh.mining.candidate import Candidate

_SMALLEST_LIMIT = 4
_FAMILIES_WANTED = 10
_LAYOUT_FOLDERS = frozenset(
    ("src", "lib", "source", "sources", "main", "java", "kotlin", "scala", "packages", "crates")
)
_TEST_MARK = re.compile(r"(?:^|[._-])(?:tests?|specs?)(?=$|[._-])", re.IGNORECASE)
_SAYS_LITTLE = re.compile(r"(?:^|/)(?:__init__|index|mod|lib)\.\w+$|\.d\.[cm]?ts$|\.pyi$")
_Key = tuple[str, ...]


def families(candidates: Sequence[Candidate]) -> Mapping[str, str | None]:
    """The family of each candidate by its last commit; None where one file is more than half of the history.

    A folder is a family unless it has more than a tenth of all candidates. Then its folders are, then its files, and
    of a large file what the names of its tests say. What is left over in a folder is one family. The same history
    gives the same families, whatever becomes of the candidates.
    """
    keys = {candidate.fix: _key(candidate) for candidate in candidates}
    limit = max(_SMALLEST_LIMIT, ceil(len(keys) / _FAMILIES_WANTED))
    groups = _split(keys, limit)
    prefix = _shared_prefix(list(keys.values()))
    found: dict[str, str | None] = {}
    for key, members in groups.items():
        whole = 2 * len(members) > len(keys) and len(members) > limit
        name = None if whole else "/".join(key[len(prefix) :] or key[-1:]) or "root"
        found |= dict.fromkeys(members, name)
    return found


def _key(candidate: Candidate) -> _Key:
    """Where a candidate belongs, from the outermost folder to the words in the name of its test."""
    named_tests = [path for path in candidate.test_files if _TEST_MARK.search(_stem(path))]
    tests = [_test_words(path) for path in named_tests or candidate.test_files]
    sources = [path for path in candidate.source_files if not _SAYS_LITTLE.search(path)] or [
        *candidate.source_files,
        "",
    ]
    folders = Counter(path.rpartition("/")[0] for path in sources)
    named = [path for path in sources if _stem(path) in {word for words in tests for word in words}]
    main = min(named or sources, key=lambda path: (-folders[path.rpartition("/")[0]], path))
    parts = [*(part for part in main.split("/")[:-1] if part not in _LAYOUT_FOLDERS), _stem(main)]
    parts = [part for part, before in zip(parts, ["", *parts], strict=False) if part not in ("", before)]
    words = [word for word in next(iter(sorted(tests)), ()) if word not in parts]
    return (*parts, *words)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0] or path.rpartition("/")[2]


def _test_words(path: str) -> tuple[str, ...]:
    return tuple(filter(None, re.split(r"[._-]", _TEST_MARK.sub("", _stem(path)))))


def _split(keys: Mapping[str, _Key], limit: int) -> dict[_Key, list[str]]:
    """Members by the shortest key that keeps a group within the limit, where keys are long enough to split it."""
    done: dict[_Key, list[str]] = defaultdict(list)
    waiting: list[tuple[_Key, int, list[str]]] = [((), 0, list(keys))]
    while waiting:
        name, depth, members = waiting.pop()
        if (depth and len(members) <= limit) or all(len(keys[each]) <= depth for each in members):
            done[name] += members
            continue
        parts: dict[_Key, list[str]] = defaultdict(list)
        for each in members:
            parts[keys[each][: depth + 1]].append(each)
        for part, inside in parts.items():
            if len(parts) > 1 and (len(inside) == 1 or len(part) == depth):
                done[name] += inside  # left over
            else:
                waiting.append((part if len(parts) > 1 or not name else name, depth + 1, inside))
    return done


def _shared_prefix(keys: Sequence[_Key]) -> _Key:
    """The folders that all keys begin with, but no whole key."""
    prefix = min(keys, default=())
    for key in keys:
        length = next((place for place, pair in enumerate(zip(prefix, key, strict=False)) if pair[0] != pair[1]), None)
        prefix = prefix[: min(len(prefix), len(key) - 1) if length is None else length]
    return prefix
