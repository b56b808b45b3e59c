"""Which changes were taken back soon after they were made."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from outweigh.mining.commit_messages import own_words, plain_subject, reverted_commits, reverted_subject
from outweigh.mining.history_objects import ChangedPath, CommitText, ListedCommit

_SECONDS = 30 * 86_400
_MOST_FILES = 200
_ShapeKey = frozenset[tuple[str, str, str]]


def find_reverted(
    commits: Sequence[ListedCommit],
    texts: Mapping[str, CommitText],
    changes: Mapping[str, Sequence[ChangedPath]],
) -> dict[str, str]:
    """Commits that were reverted within 30 days, each with the commit that did it; `commits` are newest first.

    A revert names the commit or its subject, or changes exactly the same files back.
    """
    reverted: dict[str, str] = {}
    by_prefix: dict[str, list[str]] = defaultdict(list)
    by_subject: dict[str, list[str]] = defaultdict(list)
    by_shape: dict[_ShapeKey, list[str]] = defaultdict(list)
    times = {commit.name: commit.time for commit in commits}
    for commit in reversed(commits):
        text, files = texts[commit.name], changes.get(commit.name, ())
        found = [
            name for short in reverted_commits(text.message) for name in by_prefix[short[:7]] if name.startswith(short)
        ]
        subject = reverted_subject(text.subject)
        if subject:
            found += by_subject[subject][-1:]
        shape = _shape(files)
        if shape:
            found += by_shape[frozenset((path, new, old) for path, old, new in shape)][-1:]
            by_shape[shape].append(commit.name)
        for name in found:
            if 0 <= commit.time - times[name] <= _SECONDS:
                reverted.setdefault(name, commit.name)
        by_prefix[commit.name[:7]].append(commit.name)
        for words in {plain_subject(text.subject), plain_subject(own_words(text.message).partition("\n")[0])} - {""}:
            by_subject[words].append(commit.name)
    return reverted


def _shape(files: Sequence[ChangedPath]) -> _ShapeKey | None:
    """What a change does to each path: its content before and after; None for too many, or for renames."""
    if not 0 < len(files) <= _MOST_FILES or any(each.status == "R" for each in files):
        return None
    return frozenset((each.path, *each.blobs) for each in files)
