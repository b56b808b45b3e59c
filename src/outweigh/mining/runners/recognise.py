"""Recognises a known runner in a command of a person, a script of `package.json` or a Makefile."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_PROGRAMS = {
    **dict.fromkeys(("pytest", "py.test"), "pytest"),
    **dict.fromkeys(("jest", "jest.js"), "jest"),
    **dict.fromkeys(("vitest", "vitest.mjs"), "vitest"),
    **dict.fromkeys(("mocha", "_mocha", "mocha.js", "ts-mocha"), "mocha"),
    **dict.fromkeys(("mvn", "mvnw"), "Maven"),
    **dict.fromkeys(("gradle", "gradlew"), "Gradle"),
    "ava": "ava",
    "rspec": "RSpec",
    "phpunit": "PHPUnit",
    "ctest": "ctest",
}
_TWO_WORDS = {("go", "test"): "go test", ("cargo", "test"): "cargo test", ("dotnet", "test"): "dotnet"}
_VALUE_OPTIONS = frozenset(
    """
    -r --require --import --loader --experimental-loader --config -c --timeout -t --ui -u --file --opts -k -m -p -o -W
    --testEnvironment --env --env-file --ignore --deselect -tags -run -timeout --features -F --package --project
    --projects --dir --root --rootDir --extension --profile -P --test-name-pattern -I --conditions -C
    """.split()  # noqa: SIM905 - words are easier to read
)
_LEFT_OUT = re.compile(
    r"--(?:watch|coverage|collectCoverage|reporters?\b|json|outputFile|no-coverage|cov|junit|log-junit|bail|exitfirst"
    r"|maxfail|test-reporter|experimental-test-coverage|changed|onlyChanged|lastCommit|ui=|silent|inspect)|^-[Rbx]$|^-json$"
)
_WITH_VALUE = frozenset({"--reporter", "-R", "--reporters", "--outputFile", "--test-reporter", "--cov", "--junitxml"})
_KEPT_BEFORE = re.compile(r"^(?:[A-Za-z_]\w*=\S*|cross-env|env|bundle|exec|node|--\S+)$")
_COVERED = "cover"
"""What istanbul and those who follow it are told before the program to run."""
_SEPARATOR = re.compile(r"&&|\|\||;|\|")


@dataclass(frozen=True, slots=True)
class KnownCommand:
    """The name of a runner, and how a command starts it: without files, and without options about reports."""

    runner: str
    program: str


def recognise(command: str) -> KnownCommand | None:
    """The runner that a command starts; commands before it are kept, those after it are not."""
    before = ""
    for part in re.split(rf"({_SEPARATOR.pattern})", command):
        found = None if _SEPARATOR.fullmatch(part) else _recognise_part(part)
        if found is not None:
            return KnownCommand(found.runner, f"{before.lstrip()}{found.program}")
        before += part if before or not _SEPARATOR.fullmatch(part) else ""
        before += " " if not before.endswith(" ") else ""
    return None


def _recognise_part(part: str) -> KnownCommand | None:
    try:
        words = shlex.split(part, posix=False)
    except ValueError:
        return None
    for place, word in enumerate(words):
        name = word.rpartition("/")[2]
        following = words[place + 1] if place + 1 < len(words) else ""
        if name in _PROGRAMS:
            return _known(_PROGRAMS[name], words[:place], [word], words[place + 1 :])
        if (name, following) in _TWO_WORDS:
            return _known(_TWO_WORDS[name, following], words[:place], [word, following], words[place + 2 :])
        if re.fullmatch(r"python[\d.]*", name) and words[place + 1 : place + 3] == ["-m", "unittest"]:
            return KnownCommand("unittest", "python")
        if name == "node" and "--test" in words[place + 1 :]:
            return _known("node --test", words[:place], [word], words[place + 1 :])
    return None


def _known(runner: str, before: Sequence[str], head: Sequence[str], after: Sequence[str]) -> KnownCommand:
    if _COVERED in before:  # the options up to -- are those of the program that measures coverage
        before, after = [], after[after.index("--") + 1 :] if "--" in after else []
    kept = [word for word in before if _KEPT_BEFORE.match(word)]
    if runner == "pytest":
        kept, head = [word for word in kept if "=" in word and not word.startswith("-")], ["python", "-m", "pytest"]
    elif "node" not in kept:
        kept = [word for word in kept if not word.startswith("--")]
        head = [_plain_name(head[0]), *head[1:]]
    return KnownCommand(runner, " ".join((*kept, *head, *_options(after))))


def _plain_name(program: str) -> str:
    """A program of `node_modules` or `vendor` is on the path; wrappers of Maven and Gradle would be downloaded."""
    name = program.rpartition("/")[2]
    return {"mvnw": "mvn", "gradlew": "gradle", "_mocha": "mocha", "phpunit": program}.get(name, name)


def _options(words: Sequence[str]) -> list[str]:
    """The options without files, and without those about coverage, watching and reports."""
    kept: list[str] = []
    previous = ""
    for word in words:
        if word.startswith("-") and word != "--":
            kept += [] if _LEFT_OUT.search(word) else [word]
        elif previous in _VALUE_OPTIONS and previous not in _WITH_VALUE:
            kept.append(word)
        previous = word
    return kept


_RUN_SCRIPT = re.compile(
    r"^\s*(?:npm|yarn|pnpm|bun)(?:\s+(?:run|run-script))?\s+(?:-s\s+|--silent\s+)?(?P<name>[\w:.-]+)"
)
_MAKE = re.compile(r"^\s*make\s+(?:-\S+\s+)*(?P<target>[\w.-]+)")


def expand(command: str, scripts: dict[str, str], makefile: Callable[[], str], depth: int = 0) -> list[str]:
    """The commands that a command stands for, through scripts of `package.json` and targets of a Makefile."""
    found: list[str] = []
    for part in _SEPARATOR.split(command):
        script, target = _RUN_SCRIPT.match(part), _MAKE.match(part)
        name = None if script is None else script["name"]
        if name in ("t", "tst"):
            name = "test"
        if name is not None and name in scripts and depth < 5:
            found += expand(scripts[name], scripts, makefile, depth + 1)
        elif target is not None and depth < 5:
            found += _recipe(makefile(), target["target"])
        else:
            found.append(part.strip())
    return found


def _recipe(makefile: str, target: str, depth: int = 0) -> list[str]:
    """The commands of a target and of those that it needs."""
    joined = makefile.replace("\\\n", " ")
    found = re.search(
        rf"^{re.escape(target)}\s*::?(?P<needs>[^=\n]*)\n(?P<lines>(?:\t[^\n]*\n?|\s*\n)*)", joined, re.MULTILINE
    )
    if found is None:
        return []
    needed = [line for name in found["needs"].split() if depth < 5 for line in _recipe(makefile, name, depth + 1)]
    own = [line.strip().lstrip("@-+") for line in found["lines"].split("\n") if line.strip()]
    # Variables of make are not known here; options that contain them are left out.
    return needed + [re.sub(r"\S*\$[({][^)}]*[)}]\S*", "", line) for line in own]
