"""Runners of JavaScript and TypeScript tests: jest, vitest, mocha, AVA and `node --test`."""

import json
import re
import shlex
from collections.abc import Sequence
from itertools import islice
from typing import Any, Self

from outweigh.mining.runners.base_runner import BaseRunner, quoted
from outweigh.mining.runners.recognise import KnownCommand, expand, recognise
from outweigh.mining.runners.runner import ReadFile
from outweigh.mining.runners.script_blocks import matches_name

_ENDING = r"\.(?:[cm]?[jt]sx?)$"
_NO_HELPER = r"(?!.*(?:fixture|helper|support|util|setup|mock))"
_LOOKED_AT = 20


def known_script(read: ReadFile) -> KnownCommand | None:
    """The runner that `npm test` of a commit starts, else one that another of its test scripts does.

    Commands before it that build what is tested are kept; tests are run on what they leave, even if one fails.
    """
    scripts = _scripts(read)
    others = sorted(name for name in scripts if re.search("test|unit|mocha|jest", name) and name != "test")
    for name in ("test", *others):
        builds: list[str] = []
        for command in (*_expanded(f"pre{name}", read), *_expanded(name, read)):
            known = recognise(command)
            if known is not None:
                return KnownCommand(known.runner, "; ".join((*builds, known.program)))
            builds += [command] if _BUILD.search(command) else []
    return None


_NO_TESTS = re.compile(
    r"^(?:npx )?(?:\S*/)?(?:xo|\w*lint\w*|standard|prettier|tsc|tsd|aud|attw|publint|exit|evalmd)\b|no test|\baudit\b"
)


def stated_test_command(read: ReadFile) -> str | None:
    """What `npm test` or `make test` of a commit runs besides linters, whatever it is; None where they run nothing."""
    commands = [each for each in _expanded("test", read) if each and not _NO_TESTS.search(each)]
    if commands:
        return f'PATH="$PWD/node_modules/.bin:$PATH"; {" && ".join(commands)}'
    targets = re.findall(rb"^(test|check)\s*:(?!=)", read("Makefile") or b"", re.MULTILINE)
    return f"make {targets[0].decode()}" if targets else None


_BUILD = re.compile(
    r"^(?!.*\b(?:eslint|lint|--noEmit)\b).*\b(?:tsc|babel|rollup|webpack|esbuild|swc|tsup|build|compile)\b"
)


def _expanded(script: str, read: ReadFile) -> list[str]:
    return expand_command(_scripts(read).get(script, ""), read)


def expand_command(command: str, read: ReadFile) -> list[str]:
    """The commands that a command stands for, through scripts of `package.json` and targets of a Makefile."""
    return expand(command, _scripts(read), lambda: (read("Makefile") or b"").decode("utf-8", "replace"))


def _scripts(read: ReadFile) -> dict[str, str]:
    stated = _package(read).get("scripts")
    return {name: text for name, text in stated.items() if isinstance(text, str)} if isinstance(stated, dict) else {}


def _package(read: ReadFile) -> dict[str, Any]:
    try:
        found = json.loads(read("package.json") or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class ScriptRunnerBase(BaseRunner):
    """A runner that a script of `package.json` starts. `config` matches its own configuration files."""

    config: re.Pattern[str]

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether a test script starts it; else whether it is a dependency or has a configuration file."""
        script = known_script(read)
        if script is not None:
            return script.runner == self.name
        package = _package(read)
        named = (package.get(key) for key in ("dependencies", "devDependencies"))
        return any(isinstance(each, dict) and self.name in each for each in named) or any(map(self.config.match, files))

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """With the options of the script."""
        script = None if self.stated else known_script(read)
        return self if script is None or script.runner != self.name else type(self)(script.program)

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the file, then the titles of the blocks and of the test."""
        return reported == path if function is None and reported == path else _covers(path, function, reported)


def _covers(path: str, function: str | None, reported: str) -> bool:
    if not reported.startswith(f"{path}::"):
        return False
    return function is None or matches_name(function, reported.removeprefix(f"{path}::"))


class JestRunner(ScriptRunnerBase):
    """jest. Snapshots are compared and never written."""

    name = "jest"
    report_format = "jest"
    program = "jest"
    config = re.compile(r"^jest\.config\.")
    test_file = re.compile(rf"(?:(?:^|/)__tests__/(?:.*/)?[^/]*|[.-](?:test|spec)|(?:^|/)(?:test|spec)){_ENDING}")

    def start(self, files: Sequence[str], report: str) -> str:
        """Without coverage, whose limits would fail a run of some files."""
        paths = f" --runTestsByPath {quoted(files)}" if files else ""
        return f'{self.program} --ci --coverage=false --json --outputFile="{report}"{paths}'


class VitestRunner(ScriptRunnerBase):
    """vitest, whose JSON report has the form of jest's."""

    name = "vitest"
    report_format = "jest"
    program = "vitest"
    config = re.compile(r"^vitest\.config\.")
    test_file = re.compile(rf"(?:[.-](?:test|spec)|(?:^|/)(?:test|spec)|(?:^|/)__tests__/(?:.*/)?[^/]*){_ENDING}")

    def start(self, files: Sequence[str], report: str) -> str:
        """Once, without watching files."""
        return f'{self.program} --run --reporter=json --outputFile="{report}" {quoted(files)}'.rstrip()


class MochaRunner(ScriptRunnerBase):
    """mocha, whose JSON report is what it prints; older versions cannot write it to a file."""

    name = "mocha"
    report_format = "mocha"
    program = "mocha"
    config = re.compile(r"^\.mocharc\.|^test/mocha\.opts$")
    test_file = re.compile(
        rf"(?:(?:^|/)(?:test|tests|spec)/{_NO_HELPER}(?:.*/)?[^/]*|[._-](?:test|spec)|^(?:test|tests|spec)){_ENDING}"
    )

    def start(self, files: Sequence[str], report: str) -> str:
        """What is printed is the report, and shown, too."""
        run = f"{self.program} --reporter json {quoted(files)}".rstrip()
        return f'{run} > "{report}"; code=$?; cat "{report}"; exit $code'

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports join the titles by spaces; old versions leave the file out."""
        has_file = f"{path}::" in reported
        title = reported.removeprefix(f"{path}::")
        if function is None:
            return has_file
        if not has_file and re.match(rf"\S+{_ENDING[:-1]}::", reported):
            return False
        return matches_name(function.replace("::", " "), title)


# Starts AVA for every file, because it leaves the file out of names, or a part of it that depends on the other files.
_AVA_LOOP = r"""set -- FILES
[ $# -gt 0 ] || set -- $(find test tests -name '*.*js' -not -path '*/_*' -not -path '*/helpers/*' \
-not -path '*/fixtures/*' 2>/dev/null | sort)
code=0; one="${TMPDIR:-/tmp}/ava.tap"; echo 'TAP version 13' > "REPORT"
for file; do
  PROGRAM --tap "$file" > "$one" || code=1
  cat "$one"
  grep -E '^(not )?ok [0-9]+ - ' "$one" | grep -vE ' - (\w*Error\b|No tests found|.*exited with a non-zero exit code)' \
    | sed -E "s|^((not )?ok [0-9]+ - )|\\1$file::|" >> "REPORT"
done; exit $code"""


class AvaRunner(ScriptRunnerBase):
    """AVA. Files that could not be loaded are left out of the report."""

    name = "ava"
    report_format = "tap"
    program = "ava"
    config = re.compile(r"^ava\.config\.")
    test_file = re.compile(
        rf"(?:(?:^|/)(?:tests?|__tests__)/{_NO_HELPER}(?!(?:.*/)?_)(?:.*/)?[^/]*|[.-]test|(?:^|/)test){_ENDING}"
    )

    def start(self, files: Sequence[str], report: str) -> str:
        """A loop over the files that writes the report."""
        return _AVA_LOOP.replace("FILES", quoted(files)).replace("PROGRAM", self.program).replace("REPORT", report)


# Prints every test as a line of TAP, with its file and the tests around it.
_NODE_REPORTER = """
import path from "node:path";
export default async function* (source) {
  const around = [];
  yield "TAP version 13\\n";
  for await (const { type, data } of source) {
    if (type === "test:start") { around.length = data.nesting; around.push(data.name); continue; }
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite") continue;
    const file = data.file ? path.relative(process.cwd(), data.file) : null;
    const names = [...around.slice(0, data.nesting), data.name];
    const parts = [file, ...names.filter((name) => path.resolve(name) !== data.file)];
    const name = parts.filter(Boolean).join("::").replace(/\\s+/g, " ").replace(/[\\\\#]/g, "\\\\$&");
    const left_out = data.skip !== undefined ? " # SKIP" : data.todo !== undefined ? " # TODO" : "";
    yield `${type === "test:pass" ? "ok" : "not ok"} - ${name}${left_out}\\n`;
  }
}
"""
_REPORTER_URL = "data:text/javascript," + "".join(
    f"%{ord(letter):02X}" if letter in "%\n #?'\"`" else letter for letter in _NODE_REPORTER.strip()
)


class NodeTestRunner(ScriptRunnerBase):
    """`node --test`, with a reporter that names the file of every test."""

    name = "node --test"
    report_format = "tap"
    program = "node --test"
    config = re.compile(r"(?!)")
    test_file = re.compile(
        rf"(?:[._-](?:test|spec)|(?:^|/)test(?:-[^/]*)?|(?:^|/)test/{_NO_HELPER}(?:.*/)?[^/]*){_ENDING}"
    )

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether a test script starts it, or test files import `node:test`."""
        script = known_script(read)
        if script is not None:
            return script.runner == self.name
        tests = islice(filter(self.has_tests, files), _LOOKED_AT)
        return any(re.search(rb"['\"]node:test['\"]", read(path) or b"") for path in tests)

    def start(self, files: Sequence[str], report: str) -> str:
        """A second reporter prints what people read."""
        reporters = f'--test-reporter={shlex.quote(_REPORTER_URL)} --test-reporter-destination="{report}"'
        shown = "--test-reporter=tap --test-reporter-destination=stdout"
        return f"{self.program} {reporters} {shown} {quoted(files)}".rstrip()

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Whitespace in titles is one space in reports."""
        return (
            reported == path
            if function is None and reported == path
            else _covers(path, None if function is None else " ".join(function.split()), reported)
        )
