"""The text that only a change has: runs of lines that it adds, and names that its base does not know."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from outweigh.mining.candidate import Candidate
from outweigh.mining.changed_files import FileKind, classify
from outweigh.mining.repository import HistoryRepository

_FILE_LIMIT = 2**20
_BATCH_BYTES = 16 * 2**20
_TOTAL_LIMIT = 128 * 2**20
"""How much of a base is searched for names; of more, the names in the rest count as unknown to it."""

_WORD = re.compile(r"[A-Za-z_$][\w$]{3,}")
_INNER_MARK = re.compile(r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z][A-Z]|[A-Za-z][0-9]|^_")
_DEFINITION = re.compile(
    r"\b(?:def|class|function|func|fn|const|let|var|type|struct|enum|interface|trait|module|namespace|macro_rules!)\s+"
    r"(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]{3,})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixText:
    """`runs` are consecutive added lines of source, `test_runs` those of hidden tests: stripped, without blank ones.

    `names` are identifiers that the change adds to the source and that its base has nowhere but in changelogs, and
    `defined` are those of them that it defines, without special methods such as `__exit__`. `before` are the changed
    files as they were: stripped lines, without blank ones.
    """

    runs: tuple[tuple[str, ...], ...]
    test_runs: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    defined: frozenset[str]
    added_paths: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """Every word of the lines that it adds to the source."""
        return frozenset(word for run in self.runs for line in run for word in _WORD.findall(line))


def is_changelog(path: str) -> bool:
    """Whether a file tells users what changed: a changelog, or one of the fragments that make one."""
    return classify(path) is FileKind.CHANGELOG


def read_fix_text(history: HistoryRepository, candidate: Candidate) -> FixText:
    """What a candidate adds."""
    runs = tuple(_added_runs(history, candidate, candidate.source_files))
    lines = [line for run in runs for line in run]
    words = {word for line in lines for word in _code_names(line)}
    names = frozenset(words - _known_words(history, candidate, words))
    base = history.files(candidate.base)
    return FixText(
        runs=runs,
        test_runs=tuple(_added_runs(history, candidate, candidate.test_files)),
        names=names,
        defined=names.intersection(
            word for line in lines for word in _DEFINITION.findall(line) if not word.startswith("__")
        ),
        added_paths=tuple(path for path in (*candidate.source_files, *candidate.other_files) if path not in base),
        before=tuple(_lines_before(history, candidate)),
    )


def _lines_before(history: HistoryRepository, candidate: Candidate) -> Iterator[tuple[str, ...]]:
    for path in (*candidate.source_files, *candidate.test_files):
        content = history.content(candidate.base, path) or b""
        if len(content) <= _FILE_LIMIT:
            yield tuple(filter(None, map(str.strip, content.decode(errors="replace").splitlines())))


def _code_names(line: str) -> Iterator[str]:
    """The words of a line that are names rather than English: by their form, or because they are defined there."""
    yield from (word for word in _WORD.findall(line) if _INNER_MARK.search(word))
    yield from _DEFINITION.findall(line)


def _added_runs(history: HistoryRepository, candidate: Candidate, paths: Iterable[str]) -> Iterator[tuple[str, ...]]:
    wanted = [f":(literal){path}" for path in paths]
    if not wanted:
        return
    options = ("--unified=0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/")
    patch = history.read("diff", *options, candidate.base, candidate.fix, "--", *wanted)
    run: list[str] = []
    in_hunk = False
    for line in patch.decode(errors="replace").split("\n"):
        if in_hunk and line.startswith("+"):
            run += filter(None, (line[1:].strip(),))
            continue
        in_hunk = line.startswith("@@") or (in_hunk and line.startswith(("-", "\\")))
        if run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _known_words(history: HistoryRepository, candidate: Candidate, words: set[str]) -> set[str]:
    """Those of the words that some file of the base contains; changelogs do not count."""
    known: set[str] = set()
    for content in _base_contents(history, candidate):
        known |= words & set(_WORD.findall(content.decode(errors="replace")))
    return known


def _base_contents(history: HistoryRepository, candidate: Candidate) -> Iterator[bytes]:
    sizes: dict[str, int] = {}
    for path, entry in history.files(candidate.base).items():
        if entry.is_file and entry.size <= _FILE_LIMIT and not is_changelog(path):
            sizes[entry.object_name] = entry.size
    for batch in _batches(sizes):
        yield from history.blobs(batch).values()


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    taken = total = 0
    for name, size in sizes.items():
        total += size
        if total > _TOTAL_LIMIT:
            break
        batch.append(name)
        taken += size
        if taken > _BATCH_BYTES:
            yield batch
            batch, taken = [], 0
    if batch:
        yield batch
