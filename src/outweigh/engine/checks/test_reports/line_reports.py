"""Reads reports that are written line by line: TAP, `go test -json`, and what `cargo test` prints."""

import re
from collections.abc import Iterator

import msgspec

from outweigh.engine.checks.test_reports.reported_test import (
    ReportedTest,
    TestOutcome,
    UnreadableReportError,
    case_name,
    relative_path,
)


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")


_TAP_RESULT = re.compile(r"(?P<indent> *)(?P<not>not )?ok\b *(?P<number>\d{1,9})? *(?:- ?)?(?P<text>.*)")
_TAP_DIRECTIVE = re.compile(r"(?<!\\)#\s*(?P<kind>skip|todo|time)", re.IGNORECASE)
_TAP_SUBTEST = re.compile(r"(?P<indent> *)# Subtest: (?P<name>.*)")
_TAP_OTHER = re.compile(r" *(?:TAP version \d+|\d+\.\.\d+)")
_YAML_START = re.compile(r"(?P<indent> *)---\s*$")


def read_tap(content: bytes, workspace: str) -> list[ReportedTest]:
    """The results of a TAP stream, with the names of the tests that contain them. Suites of `node --test` are no tests.

    Plans are not compared with what was reported.
    """
    reader = _TapReader(workspace)
    for line in _lines(content):
        reader.read(line.rstrip("\r"))
    if not reader.recognised:
        raise UnreadableReportError("the report is not TAP: it has no result and no plan")
    return reader.tests


class _TapReader:
    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.recognised = False
        self.tests: list[ReportedTest] = []
        self.parents: dict[int, str] = {}
        self.block: str | None = None

    def read(self, line: str) -> None:
        if self.block is not None:
            self._read_block(line)
        elif found := _TAP_RESULT.fullmatch(line):
            self.recognised = True
            self._add(len(found["indent"]), found["text"] or found["number"] or "", failed=bool(found["not"]))
        elif found := _TAP_SUBTEST.fullmatch(line):
            self.parents[len(found["indent"])] = found["name"]
        elif self.tests and (found := _YAML_START.fullmatch(line)):
            self.block = found["indent"]
        elif line.lstrip().startswith("Bail out!"):
            self.recognised = True
            self.tests.append(ReportedTest("Bail out!", TestOutcome.ERROR))
        elif _TAP_OTHER.match(line):
            self.recognised = True

    def _read_block(self, line: str) -> None:
        """A block of YAML about the last result."""
        if line.rstrip() == f"{self.block}...":
            self.block = None
        elif line.strip() == "type: 'suite'" and self.tests:
            self.tests.pop()

    def _add(self, indent: int, text: str, *, failed: bool) -> None:
        directive = _TAP_DIRECTIVE.search(text)
        name = text if directive is None else text[: directive.start()]
        skipped = directive is not None and directive["kind"].lower() != "time"
        outcome = TestOutcome.SKIPPED if skipped else TestOutcome.FAILED if failed else TestOutcome.PASSED
        parents = [_tap_text(name) for at, name in sorted(self.parents.items()) if at < indent]
        own = relative_path(_tap_text(name), self.workspace)
        self.tests.append(ReportedTest(case_name(*parents, own), outcome))


def _tap_text(text: str) -> str:
    return re.sub(r"\\([\\#])", r"\1", text.strip())


class _GoEvent(msgspec.Struct):
    Action: str
    Package: str = ""
    Test: str | None = None


_GO_OUTCOMES = {"pass": TestOutcome.PASSED, "fail": TestOutcome.FAILED, "skip": TestOutcome.SKIPPED}


def read_go(content: bytes, _workspace: str) -> list[ReportedTest]:
    """The tests of `go test -json`: package and test. A test that did not end has failed.

    A package that failed without a failed test, such as one that cannot be built, is an error.
    """
    tests: dict[tuple[str, str], TestOutcome] = {}
    failed_packages: dict[str, None] = {}
    for event in _go_events(content):
        if event.Test is None:
            if event.Action == "fail":
                failed_packages[event.Package] = None
        elif event.Action == "run":
            tests.setdefault((event.Package, event.Test), TestOutcome.FAILED)
        elif event.Action in _GO_OUTCOMES:
            tests[event.Package, event.Test] = _GO_OUTCOMES[event.Action]
    explained = {package for (package, _), outcome in tests.items() if outcome is TestOutcome.FAILED}
    broken = [ReportedTest(case_name(name), TestOutcome.ERROR) for name in failed_packages if name not in explained]
    return [ReportedTest(case_name(*key), outcome) for key, outcome in tests.items()] + broken


_GO_BROKEN = re.compile(rb"FAIL\t(\S+) \[(?:build|setup) failed\]")
"""How Go before 1.24 reports a package that cannot be built."""


def _go_events(content: bytes) -> Iterator[_GoEvent]:
    """The events of a stream, between whose lines the compiler may print."""
    decoder = msgspec.json.Decoder(_GoEvent)
    found = False
    for line in content.split(b"\n"):
        if (broken := _GO_BROKEN.match(line)) is not None:
            found = True
            yield _GoEvent(Action="fail", Package=broken[1].decode("utf-8", "replace"))
        if not line.startswith(b"{"):
            continue
        try:
            event = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        found = True
        yield event
    if not found:
        raise UnreadableReportError("the report is not the output of `go test -json`: it has no event")


_CARGO_RESULT = re.compile(r"test (?P<name>.+?) \.\.\. (?P<outcome>ok|FAILED|ignored)\b.*")
_CARGO_TARGET = re.compile(r" *Running (?:unittests )?(?P<target>\S+)(?: \((?P<program>[^)]*)\))?")
_CARGO_DOCS = re.compile(r" *Doc-tests (?P<crate>\S+)")
_PROGRAM_HASH = re.compile(r"-[0-9a-f]{16}(?:\.exe)?$")
_CARGO_OUTCOMES = {"ok": TestOutcome.PASSED, "FAILED": TestOutcome.FAILED, "ignored": TestOutcome.SKIPPED}


def read_cargo(content: bytes, _workspace: str) -> list[ReportedTest]:
    """The tests that `cargo test` prints: crate, source file and test. Lines of documentation tests are left out."""
    tests: list[ReportedTest] = []
    groups: tuple[str | None, ...] = ()
    started = False
    for line in _lines(content):
        if found := _CARGO_RESULT.match(line):
            name = re.sub(r" \(line \d+\)", "", found["name"]).removesuffix(" - should panic")
            tests.append(ReportedTest(case_name(*groups, name), _CARGO_OUTCOMES[found["outcome"]]))
        elif found := _CARGO_TARGET.match(line):
            groups = _cargo_groups(found["target"], found["program"])
        elif found := _CARGO_DOCS.match(line):
            groups = (found["crate"], "documentation")
        elif line.startswith(("running ", "error", "test result:")):
            started = True
    if not tests and not groups and not started:
        raise UnreadableReportError("the report is not the output of `cargo test`: it names no target and no test")
    return tests


def _cargo_groups(target: str, program: str | None) -> tuple[str | None, ...]:
    """The crate and the source file; cargo before 1.53 only names the program."""
    crate = _PROGRAM_HASH.sub("", (program or target).rpartition("/")[2])
    return (crate, target) if program is not None else (crate,)
