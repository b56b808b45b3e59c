"""Whether a change only moves or renames code."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from outweigh.mining.instruction.facts_of_change import facts

_SHARE = 0.97
_MOST_RENAMED = 3
_IMPORT = re.compile(
    r"\s*(?:from\s.+import|import\b|use\s|using\s|package\s|module\s|.*\brequire\(|export\s.*\bfrom\b|\#include|__all__)"
)


def is_pure_move(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether nearly all code that a change adds is code that it removes, elsewhere or under other names."""
    old, new = _code_lines(before), _code_lines(after)
    added, removed = new - old, old - new
    moved_between_files = _by_file(before) != _by_file(after)
    if not added:
        return not removed and moved_between_files
    if not removed:
        return False
    names = _renamed(removed, added, _own_names(before), _own_names(after))
    if not names:
        return False
    renamed = Counter({_with_names(line, names): count for line, count in removed.items()})
    left = sum((added - renamed).values())
    return left <= (1 - _SHARE) * sum(added.values())


def _code_lines(files: Mapping[str, str]) -> Counter[str]:
    return Counter(line for path, text in files.items() for line in _code(path, text))


def _by_file(files: Mapping[str, str]) -> dict[str, list[str]]:
    return {path: sorted(_code(path, text)) for path, text in files.items()}


def _code(path: str, text: str) -> Iterable[str]:
    prose = facts(path, text).prose_lines
    for number, line in enumerate(text.splitlines(), 1):
        stripped = " ".join(line.split())
        if number not in prose and re.search(r"\w", stripped) and not _IMPORT.match(stripped):
            yield stripped


def _own_names(files: Mapping[str, str]) -> frozenset[str]:
    """The names that files define, so that they can rename them."""
    found = [facts(path, text) for path, text in files.items()]
    return frozenset(name for each in found for name in each.bound | {d.name for d in each.declarations})


def _renamed(
    removed: Counter[str], added: Counter[str], defined_before: frozenset[str], defined_after: frozenset[str]
) -> dict[str, str]:
    """The names of the code's own that were replaced by others; empty where more than that changed."""
    gone = {word for line in removed for word in re.findall(r"[A-Za-z_$][\w$]*", line)}
    come = {word for line in added for word in re.findall(r"[A-Za-z_$][\w$]*", line)}
    old, new = gone - come, come - gone
    is_own = old <= defined_before and new <= defined_after
    if not old or len(old) != len(new) or len(old) > _MOST_RENAMED or not is_own:
        return {}
    shapes = {re.sub(r"[A-Za-z_$][\w$]*", "_", line): line for line in removed}
    names: dict[str, str] = {}
    for line in added:
        twin = shapes.get(re.sub(r"[A-Za-z_$][\w$]*", "_", line))
        pairs = zip(re.findall(r"[A-Za-z_$][\w$]*", twin or ""), re.findall(r"[A-Za-z_$][\w$]*", line), strict=False)
        names.update((was, now) for was, now in pairs if was in old and now in new)
    return names if len(names) == len(old) else {}


def _with_names(line: str, names: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_$][\w$]*", lambda match: names.get(match[0], match[0]), line)
