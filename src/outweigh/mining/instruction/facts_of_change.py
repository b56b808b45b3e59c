"""The facts of both sides of a change: what its source adds, and what the tests that must now pass use."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import PurePosixPath

from outweigh.mining.fairness import ChangedCode
from outweigh.mining.instruction.code_facts import CodeFacts, Declaration, LiteralText, TestFunction
from outweigh.mining.instruction.other_code import other_facts
from outweigh.mining.instruction.python_code import python_facts
from outweigh.mining.instruction.stated_examples import is_example, is_telling

_LONGEST_FILE = 1_000_000


@lru_cache(maxsize=256)
def facts(path: str, text: str) -> CodeFacts:
    """The facts of a file by its suffix."""
    if len(text) > _LONGEST_FILE:
        return CodeFacts()
    if path.endswith((".py", ".pyi")):
        try:
            return python_facts(path, text)
        except (SyntaxError, ValueError, RecursionError):
            pass
    return other_facts(path, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingTests:
    """What the tests that must now pass contain: names, texts and imports, and the tests themselves.

    `members` are names after a dot, as a keyword or imported, `passed` keywords and keys alone; `names` are all names
    that the tests do not define. `examples` are texts of several lines that the tests did not have before, `expected`
    shorter ones that they compare results with.
    """

    names: frozenset[str]
    members: frozenset[str]
    passed: frozenset[str]
    texts: tuple[LiteralText, ...]
    imports: frozenset[str]
    tests: tuple[TestFunction, ...]
    examples: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedSource:
    """What the source of a change introduces: new or changed declarations, texts and names with their files, and files.

    `names` are those that it defines, `read` those that it takes from elsewhere by a dot or by their text. `raised` are
    exceptions that it raises in more places than before.
    """

    declarations: tuple[Declaration, ...]
    texts: Mapping[LiteralText, str]
    names: Mapping[str, str]
    read: Mapping[str, str]
    raised: tuple[str, ...]
    files: tuple[str, ...]


def added_source(changed: ChangedCode) -> AddedSource:
    """Compare the source before and after a change."""
    before = [(path, facts(path, text)) for path, text in changed.source_before.items()]
    after = [(path, facts(path, text)) for path, text in changed.source_after.items()]
    known = {_identity(d) for _, found in before for d in found.declarations}
    old_texts = {text for _, found in before for _, text in found.texts}
    old_names = {name for _, found in before for name in found.bound | {name for _, name in found.used | found.members}}
    raised = Counter(name for _, found in after for name in found.raised)
    raised -= Counter(name for _, found in before for name in found.raised)
    return AddedSource(
        declarations=tuple(d for _, found in after for d in found.declarations if _identity(d) not in known),
        texts={text: path for path, found in after for _, text in found.texts if text not in old_texts},
        names={name: path for path, found in reversed(after) for name in found.bound if name not in old_names},
        read={
            name: path
            for path, found in reversed(after)
            for name in _read_names(found)
            if name not in old_names and LiteralText((name,)) not in old_texts
        },
        raised=tuple(raised),
        files=tuple(path for path in changed.source_after if path not in changed.source_before),
    )


def _read_names(found: CodeFacts) -> set[str]:
    keys = {text.shown for _, text in found.texts if text.shown.isidentifier()}
    return keys | ({name for _, name in found.members} - {name for _, name in found.passed})


def _identity(declaration: Declaration) -> tuple[str, str, str]:
    return declaration.path, declaration.qualified, declaration.shape or declaration.signature


def failing_tests(changed: ChangedCode) -> FailingTests:
    """What the tests that must now pass contain. Where no test is named, all changed tests count."""
    names: set[str] = set()
    members: set[str] = set()
    passed: set[str] = set()
    texts: list[LiteralText] = []
    compared: list[str] = []
    imports: set[str] = set()
    functions: list[TestFunction] = []
    known = {literal for path, text in changed.tests_before.items() for _, literal in facts(path, text).texts}
    idle = _files_without_failing_tests(changed)
    for path, text in changed.tests_after.items():
        if path in idle:
            continue
        found = facts(path, text)
        lines, failing = _lines_that_count(path, text, changed, found)
        own = found.bound | {d.name for d in found.declarations}
        members |= {name for line, name in found.members if line in lines}
        passed |= {name for line, name in found.passed if line in lines}
        names |= {name for line, name in found.used if line in lines and name not in own}
        texts += [literal for line, literal in found.texts if line in lines]
        new = (each for each in found.texts if each[1] not in known and not each[1].fields)
        compared += [literal.shown for line, literal in new if line in lines & found.comparing_lines]
        imports |= found.imports
        functions += failing
    return FailingTests(
        names=frozenset(names | members),
        members=frozenset(members),
        passed=frozenset(passed),
        texts=tuple(dict.fromkeys(texts)),
        imports=frozenset(imports),
        tests=tuple(functions),
        expected=tuple(dict.fromkeys(filter(is_telling, compared))),
        examples=tuple(dict.fromkeys(text.shown for text in texts if text not in known and is_example(text.shown))),
    )


def _files_without_failing_tests(changed: ChangedCode) -> set[str]:
    """Files with tests of which none must pass, for instance because all are skipped where tasks are proven.

    Where a report names no file of tests, nothing is known of them.
    """
    with_tests = [path for path, text in changed.tests_after.items() if facts(path, text).tests]
    named = {path for path in with_tests if any(_names_file(name, path) for name in changed.fail_to_pass)}
    return set(with_tests) - named if named else set()


def _names_file(reported: str, path: str) -> bool:
    stem = re.escape(PurePosixPath(path).name.partition(".")[0])
    return re.search(rf"(?<!\w){stem}(?!\w)", reported) is not None


def _lines_that_count(
    path: str, text: str, changed: ChangedCode, found: CodeFacts
) -> tuple[set[int], list[TestFunction]]:
    """The lines of failing tests, and added lines outside of any test; and those tests."""
    added = added_lines(changed.tests_before.get(path, ""), text)
    is_failing = {test: _is_named(test, changed.fail_to_pass) for test in found.tests}
    if not any(is_failing.values()):
        is_failing = {test: any(n in added for n in range(test.first_line, test.last_line + 1)) for test in found.tests}
    counted = set(added)
    for fails in (False, True):
        for test in found.tests:
            if is_failing[test] is fails:
                span = set(range(test.first_line, test.last_line + 1))
                counted = counted | span if fails else counted - span
    return counted, [test for test, fails in is_failing.items() if fails]


def _is_named(test: TestFunction, reported: Iterable[str]) -> bool:
    """Whether a report names this test: by its title as far as that is fixed, and with its group if it has one."""
    fixed = re.split(r"[{%$]", test.title, maxsplit=1)[0].strip() or test.title
    named = rf"(?<!\w){re.escape(fixed)}" + (r"(?!\w)" if fixed == test.title else "")
    with_title = [name for name in reported if re.search(named, name)]
    group = re.split(r"[{%$]", test.group, maxsplit=1)[0].strip()
    return any(group in name for name in with_title)


def added_lines(before: str, after: str) -> frozenset[int]:
    """The numbers of lines that are new or changed, counted from 1."""
    old, new = before.splitlines(), after.splitlines()
    if not old:
        return frozenset(range(1, len(new) + 1))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return frozenset(
        number + 1
        for tag, _, _, first, last in matcher.get_opcodes()
        if tag != "equal"
        for number in range(first, last)
    )
