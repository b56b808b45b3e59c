"""Reads what an instruction can be made of from the history."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from outweigh.mining.candidate import Candidate
from outweigh.mining.changed_files import FileKind, classify
from outweigh.mining.fairness import ChangedCode
from outweigh.mining.fix_text import is_changelog
from outweigh.mining.instruction.changelog_entries import added_entries, goes_on
from outweigh.mining.instruction.facts_of_change import added_source, failing_tests
from outweigh.mining.instruction.stated_examples import is_example
from outweigh.mining.repository import HistoryRepository

_CLOSED_ISSUE = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[:\s]+(?:[\w-]+/[\w.-]+)?#(\d+)", re.IGNORECASE
)
_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_LONGEST_REST = 4
"""Lines that are shown of a paragraph before and after those that were added."""
_FEWEST_WORDS = 6
"""With fewer words in it, a line or a correction says nothing about what is wanted."""
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc", ".markdown"})
_LARGEST_FILE = 300_000

ReadIssue = Callable[[int], str | None]
"""Asks the forge for the title and the text of an issue by its number; None where there is none."""


def gather_change(
    history: HistoryRepository,
    candidate: Candidate,
    *,
    fail_to_pass: Sequence[str],
    passed_at_base: int,
    missing_names: Sequence[str] = (),
    typed: Sequence[str] = (),
    read_issue: ReadIssue | None = None,
) -> ChangedCode:
    """What the history says about a candidate: its files on both sides, its messages and its changelog entries.

    `typed` is what a user typed to the agent that made it. `read_issue` asks the forge, where that is wanted.
    """
    base, fix = candidate.base, candidate.fix
    sources = [path for path in candidate.source_files if not is_changelog(path)]
    tests = candidate.test_files
    changed = ChangedCode(
        message=candidate.message,
        subjects=_subjects(history, candidate.commits),
        source_before=_contents(history, base, [*sources, *_removed_sources(history, candidate)]),
        source_after=_contents(history, fix, sources),
        tests_before=_contents(history, base, tests),
        tests_after=_contents(history, fix, tests),
        fail_to_pass=tuple(fail_to_pass),
        passed_at_base=passed_at_base,
        changelog=tuple(_changelog_lines(history, candidate)),
        documentation=tuple(_documentation_blocks(history, candidate)),
        missing_names=tuple(missing_names),
        typed=tuple(typed),
        issue=_issue(candidate.message, read_issue) if read_issue else "",
    )
    return replace(changed, known_at_base=_known_at_base(history, base, changed))


def _issue(message: str, read_issue: ReadIssue) -> str:
    closed = _CLOSED_ISSUE.search(message)
    return (read_issue(int(closed[1])) or "") if closed else ""


def _contents(history: HistoryRepository, commit: str, paths: Iterable[str]) -> dict[str, str]:
    found = {path: history.content(commit, path) for path in paths}
    return {
        path: content.decode(errors="replace")
        for path, content in found.items()
        if content is not None and len(content) <= _LARGEST_FILE and b"\0" not in content
    }


def _removed_sources(history: HistoryRepository, candidate: Candidate) -> list[str]:
    options = ("--name-only", "-z", "--no-renames", "--diff-filter=D", "--no-ext-diff")
    removed = history.read("diff", *options, candidate.base, candidate.fix).decode(errors="replace").split("\0")
    suffixes = {path.rpartition(".")[2] for path in candidate.source_files}
    return [
        path for path in removed if path and path not in candidate.deleted_tests and path.rpartition(".")[2] in suffixes
    ]


def _subjects(history: HistoryRepository, commits: Sequence[str]) -> tuple[str, ...]:
    if not commits:
        return ()
    output = history.read("log", "--no-walk=unsorted", "--format=%s", *commits)
    return tuple(line for line in output.decode(errors="replace").splitlines() if line)


def _changelog_lines(history: HistoryRepository, candidate: Candidate) -> Iterator[str]:
    changed = [path for path in (*candidate.other_files, *candidate.source_files) if is_changelog(path)]
    before, after = (_contents(history, commit, changed) for commit in (candidate.base, candidate.fix))
    for path, text in after.items():
        added = {first + number for _, first, count in _hunks(history, candidate, path) for number in range(count)}
        yield from added_entries(before.get(path, ""), text, added)


def _documentation_blocks(history: HistoryRepository, candidate: Candidate) -> Iterator[str]:
    """What a change adds to documentation in one place, in whole paragraphs; of corrections the new sentences."""
    pages = [path for path in (*candidate.other_files, *candidate.source_files) if classify(path) is FileKind.DOCS]
    before, after = (_contents(history, commit, pages) for commit in (candidate.base, candidate.fix))
    for path, text in after.items():
        lines, is_prose = text.splitlines(), PurePosixPath(path).suffix in _PROSE
        for removed, first, added in _hunks(history, candidate, path):
            block = range(first - 1, first - 1 + added)
            words = "\n".join(lines[number] for number in block)
            if added > removed and (is_example(words) or (is_prose and len(words.split()) >= _FEWEST_WORDS)):
                shown = _whole_paragraphs(lines, block) if is_prose else block
                yield "\n".join(lines[number] for number in shown)
            elif is_prose and 0 < added <= removed:
                entries = added_entries(before.get(path, ""), text, range(first, first + added))
                yield from (entry for entry in entries if len(entry.split()) >= _FEWEST_WORDS)


def _whole_paragraphs(lines: Sequence[str], block: range) -> range:
    """The block with the rest of the paragraphs at its ends, which no line break of it should cut off."""
    first, end = block.start, block.stop
    if sum(line.lstrip().startswith("```") for line in lines[:first]) % 2:  # a code block, which has no paragraphs
        return block
    while first > max(0, block.start - _LONGEST_REST) and goes_on(lines[first]) and lines[first - 1].strip():
        first -= 1
    while end < min(len(lines), block.stop + _LONGEST_REST) and lines[end - 1].strip() and goes_on(lines[end]):
        end += 1
    return range(first, end)


def _hunks(history: HistoryRepository, candidate: Candidate, path: str) -> Iterator[tuple[int, int, int]]:
    """Of every place where a file was changed the number of removed lines, the first added line, and their number."""
    options = ("--no-ext-diff", "--no-textconv", "--no-color", "--unified=0")
    patch = history.read("diff", *options, candidate.base, candidate.fix, "--", f":(literal){path}")
    for removed, first, added in _HUNK.findall(patch.decode(errors="replace")):
        yield int(removed or 1), int(first), int(added or 1)


def _known_at_base(history: HistoryRepository, base: str, changed: ChangedCode) -> frozenset[str]:
    """The names and texts on which source and tests of the change agree and that stand at the base already."""
    source, tests = added_source(changed), failing_tests(changed)
    missing = {part for name in changed.missing_names for part in re.findall(r"[\w$]+", name)}
    names = sorted(source.names.keys() & tests.names | source.read.keys() & tests.passed | missing)
    texts = sorted({text for literal in source.texts if (text := literal.shown.strip()) and "\n" not in text})
    return history.found_at(base, names, whole_words=True) | history.found_at(base, texts)
