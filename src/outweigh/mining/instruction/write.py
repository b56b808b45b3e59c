"""Writes the instruction of a proven task, or says why the task is not fair."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from outweigh.mining.fairness import ChangedCode, TaskInstruction, Unfairness, UnfairTask
from outweigh.mining.instruction.facts_of_change import FailingTests, added_lines, added_source, facts, failing_tests
from outweigh.mining.instruction.interface import Interface, find_interface
from outweigh.mining.instruction.moves import is_pure_move
from outweigh.mining.instruction.stated_examples import documentation_section, examples_section, expected_section
from outweigh.mining.instruction.stated_titles import stated_titles
from outweigh.mining.instruction.words import ChangeWords, words_of_change

_MOST_TITLES = 40
_MOST_ITEMS = 60
"""Tests that need more names and texts than this can only be passed by somebody who designs it in the same way."""
_SHORTEST_LEAK = 12
_SHARED_STEMS = 2
"""Words that the failing tests must share with a note about the work, and with few words without an interface."""
_SAY_NOTHING = frozenset(
    """
    the and for not now use add fix all any are but can did get got has had her him his how its let may new nor off old
    one our out own put run say see set she the too top try two via was way who why yes yet you test tests when with
    that from into then str int def var let nil err get obj arg args val key self none true false assert equal expect
    """.split()  # noqa: SIM905 - words are easier to read
)
"""Words that instructions and tests share whatever they are about."""
_MANY_STEMS = 5
"""Words that say enough where one of them is shared with the failing tests."""


def write_instruction(changed: ChangedCode) -> TaskInstruction | UnfairTask:
    """Write what is wanted and what the hidden tests need by name; an UnfairTask where that is not possible."""
    if is_pure_move(changed.source_before, changed.source_after):
        return UnfairTask(reason=Unfairness.PURE_MOVE)
    words = words_of_change(changed)
    words = words and _without_leaks(words, changed)
    if words is None:
        return UnfairTask(reason=Unfairness.NO_INSTRUCTION, detail=_first_line(changed.message))
    tests = failing_tests(changed)
    interface = find_interface(added_source(changed), tests, changed.known_at_base, changed.missing_names)
    checked = _checked(tests, changed)
    words = _with_best_title(words, checked)
    if fault := _fault(words, interface, checked):
        return fault
    steps = tuple(step for step in words.steps if len(_stems(step) & checked) >= _SHARED_STEMS)
    return TaskInstruction(
        text=_text(replace(words, steps=steps), interface, tests, changed),
        source=words.source,
        interface=interface.items,
    )


def _with_best_title(words: ChangeWords, checked: set[str]) -> ChangeWords:
    """The words with the title among those of several commits that is most about what the tests check."""
    best = max([words.title, *words.steps], key=lambda title: len(_stems(title) & checked))
    if len(_stems(best) & checked) < len(_stems(words.title) & checked) + _SHARED_STEMS:
        return words
    return replace(words, title=best, steps=(words.title, *(step for step in words.steps if step != best)))


def _fault(words: ChangeWords, interface: Interface, checked: set[str]) -> UnfairTask | None:
    """Why words and interface are not enough for the failing tests."""
    said = _stems(" ".join([words.title, *words.details]))
    shared = said & checked
    if interface.unstated_names:
        return UnfairTask(reason=Unfairness.UNSTATED_NAME, detail=", ".join(interface.unstated_names))
    if interface.unstated_texts:
        return UnfairTask(reason=Unfairness.UNSTATED_TEXT, detail=_first_line(interface.unstated_texts[0])[:80])
    if len(interface.items) > _MOST_ITEMS:
        return UnfairTask(reason=Unfairness.TOO_MANY_NAMES, detail=f"{len(interface.items)} names and texts")
    if not shared and not interface.items:
        return UnfairTask(reason=Unfairness.UNRELATED_TESTS, detail=words.title)
    if len(shared) < _SHARED_STEMS and len(said) < _MANY_STEMS and not interface.says_what:
        return UnfairTask(reason=Unfairness.NO_INSTRUCTION, detail=words.title)
    return None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def patch_lines(changed: ChangedCode) -> frozenset[str]:
    """The lines of code that the change adds to or removes from source files, without spaces around them."""
    return frozenset(
        [
            *_new_code(changed.source_before, changed.source_after),
            *_new_code(changed.source_after, changed.source_before),
        ]
    )


def _new_code(before: Mapping[str, str], after: Mapping[str, str]) -> Iterable[str]:
    for path, text in after.items():
        prose = facts(path, text).prose_lines
        lines = text.splitlines()
        for number in added_lines(before.get(path, ""), text):
            line = lines[number - 1].strip()
            if number not in prose and len(line) >= _SHORTEST_LEAK:
                yield line


def _without_leaks(words: ChangeWords, changed: ChangedCode) -> ChangeWords | None:
    """The words without parts that quote a line of the patch."""
    lines = patch_lines(changed)
    title = words.title if not leaks(words.title, lines) else ""
    details = tuple(part for part in words.details if not leaks(part, lines))
    steps = tuple(part for part in words.steps if not leaks(part, lines))
    if not title and not details:
        return None
    if not title:
        title, details = details[0], details[1:]
    return ChangeWords(title=title, details=details, steps=steps, source=words.source)


def leaks(text: str, lines: Iterable[str]) -> bool:
    """Whether a line of code of the patch stands in a text, however it is spaced."""
    compact = "".join(text.split())
    return any("".join(line.split()) in compact for line in lines if re.search(r"[^\w\s.,'-]", line))


def _checked(tests: FailingTests, changed: ChangedCode) -> set[str]:
    titles = [text for test in tests.tests for text in (test.group, test.title, test.contract)]
    return _stems(" ".join([*titles, *tests.names, *(text.shown for text in tests.texts), *changed.tests_after]))


def _stems(text: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text.replace("_", " "))
    words = {word.lower() for word in re.findall(r"[^\W\d_]{3,}", spaced)}
    return {word.rstrip("s")[:5] for word in words - _SAY_NOTHING}


def _text(words: ChangeWords, interface: Interface, tests: FailingTests, changed: ChangedCode) -> str:
    blocks = [f"# {words.title}", *words.details, *(f"- {step}" for step in words.steps)]
    wanted, lines = _stems(" ".join([words.title, *interface.items])) & _checked(tests, changed), patch_lines(changed)
    documented = documentation_section(
        changed.documentation,
        lambda block: len(_stems(block) & wanted) >= _SHARED_STEMS,
        lambda text: leaks(text, lines),
    )
    if documented:
        blocks.append(documented)
    titles = [title for test in tests.tests for title in stated_titles(test, changed.fail_to_pass)]
    titles = [title for title in dict.fromkeys(titles) if len(title.split()) >= 2]
    if titles:
        listed = "\n".join(f"- {title}" for title in titles[:_MOST_TITLES])
        blocks.append(f"## Expected behaviour\n\nHidden tests check the change. Their titles are:\n\n{listed}")
    if interface.items:
        listed = "\n".join(f"- {item}" for item in interface.items)
        blocks.append(
            f"## Interface\n\nThe hidden tests use these names and texts, exactly as written here:\n\n{listed}"
        )
    for section in (
        expected_section(tests.expected, "\n".join(blocks), lambda text: leaks(text, lines)),
        examples_section(tests.examples, lambda text: leaks(text, lines)),
    ):
        blocks += [section] if section else []
    return _joined(blocks)


def _joined(blocks: list[str]) -> str:
    """The blocks as Markdown; points of one list stay together."""
    text = blocks[0]
    for previous, block in pairwise(blocks):
        text += ("\n" if previous.startswith("- ") and block.startswith("- ") else "\n\n") + block
    return text + "\n"
