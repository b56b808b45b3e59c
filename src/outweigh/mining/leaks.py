"""Looks for the change in what an agent would see: workspace, git objects, home and installed packages.

Single lines of a change are often idioms that stand elsewhere, so runs of lines and new names are looked for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from outweigh.engine.preflight import PreflightContext, private_sandbox_request
from outweigh.engine.stages import CHECK_ENVIRONMENT
from outweigh.engine.task_dependencies import hide_from_agent
from outweigh.mining.fix_text import FixText
from outweigh.mining.python_plan import PYTHON_INSIDE
from outweigh.model.failure import detail_line
from outweigh.model.task import Task
from outweigh.model.task_environment import DEPENDENCIES_INSIDE
from outweigh.ports.sandboxes import CommandEnding, SandboxError

_WINDOW = 3
_PACKAGE_WINDOWS = 4
"""So many runs of three lines are one of six: shorter ones, such as the parameters of `__exit__`, are idioms."""
_LEAST_LETTERS = 50
"""Shorter runs, such as three closing brackets, are the same everywhere."""
_LEAST_NAMES = 3
_SHORTEST_NAME = 6
_SECONDS = 600.0
_MOST_LINES = 2000
_SYSTEM_FOLDERS = (
    *("/usr/lib/python3/dist-packages", "/usr/local/lib/python3*", "/usr/share/nodejs"),
    *("/usr/lib/node_modules", "/usr/local/lib/node_modules", "/usr/share/gocode", "/usr/share/rubygems-integration"),
)
_PACKAGE_FOLDERS = (DEPENDENCIES_INSIDE, *_SYSTEM_FOLDERS)
_SPECIAL_METHOD = re.compile(r"(?:async )?def __\w+__\(")
_IMPORT = re.compile(r"(?:from|import|use|using|include|require|package|#include|export \* from)\b|.*\brequire\(")
_LICENCE = re.compile(r"\bcopyright|\blicen[cs]|warrant(?:y|ies)|\bliab|redistribut|\bthe software\b", re.IGNORECASE)
"""Words of the terms that stand in countless packages; every third line of them has one."""
_WORD = re.compile(r"[\w$]+")
_FILE_MARK = b"\n\x01file "
_LINES_MARK = b"\x01lines\n"
# Tracked files that nothing has changed are those of the base by construction, so that only others are looked at. The
# copy of an interpreter has the standard library and nothing else, and projects copy lines from there.
_SCRIPT = r"""
cd /tmp && cat > all
awk -v RS='\001' 'NR == 1 { printf "%s", $0 > "names" } NR == 2 { printf "%s", $0 > "package-names" }
    NR == 3 { printf "%s", $0 > "lines" }' all
touch names package-names lines
cat names lines > own
cat package-names lines > packages
cd - > /dev/null
git() { command git -c safe.directory='*' -c core.fsmonitor=false "$@"; }
git rev-list --all --objects --no-object-names | sort -u > /tmp/known
git cat-file --batch-all-objects --batch-check='%(objectname)' | sort -u > /tmp/there
cmp -s /tmp/known /tmp/there || echo "git objects that no branch leads to"
[ "$(git rev-list --all --count)" = 1 ] || echo "more than one commit in git"
[ -z "$(git remote)" ] || echo "a git remote"
{
    [ ! -s /tmp/own ] || git ls-files -z --others --modified | xargs -0 -r grep -lasF -D skip -f /tmp/own --
    [ ! -s /tmp/own ] || grep -rlasF -D skip -f /tmp/own -- "$HOME"
    [ ! -s /tmp/packages ] || grep -rlasF -D skip -f /tmp/packages -- SYSTEM
    [ ! -s /tmp/packages ] || find DEPENDENCIES -mindepth 1 -maxdepth 1 -not -path PYTHON -print0 2>/dev/null |
        xargs -0 -r grep -rlasF -D skip -f /tmp/packages --
} | head -n 500 | while IFS= read -r file; do
    printf '\n\001file %s\n' "$file"
    [ ! -s /tmp/names ] || grep -owahF -f /tmp/names -- "$file" | sort -u | head -n 200
    printf '\001lines\n'
    [ ! -s /tmp/lines ] || grep -ahF -B 6 -A 6 -f /tmp/lines -- "$file" | cut -c 1-500 | head -n 500
done
exit 0
"""


def find_leak(task: Task, context: PreflightContext, fix: FixText) -> str | None:
    """Where the change can be read in the sandbox of an agent, and what of it; None where nothing was found."""
    windows = dict(_windows(fix))
    faults, *files = _search(task, context, fix, sorted(set(windows.values()))).split(_FILE_MARK)
    if faults.strip():
        return detail_line(faults.decode(errors="replace").strip())
    for each in files:
        path, _, found = each.partition(b"\n")
        names, _, lines = found.partition(_LINES_MARK)
        place = path.decode(errors="replace")
        leak = _leaked_lines(place, lines.decode(errors="replace"), windows, fix) or _leaked_names(
            place, names.decode(errors="replace"), fix
        )
        if leak is not None:
            return f"{place} has {leak}"
    return None


def _search(task: Task, context: PreflightContext, fix: FixText, lines: Sequence[str]) -> bytes:
    parts = (_long(fix.names), _package_names(fix), lines[:_MOST_LINES])
    stdin = "\x01".join("".join(f"{each}\n" for each in part) for part in parts)
    places = {"SYSTEM": " ".join(_SYSTEM_FOLDERS), "DEPENDENCIES": DEPENDENCIES_INSIDE, "PYTHON": PYTHON_INSIDE}
    command = ["sh", "-c", re.sub("|".join(places), lambda found: places[found[0]], _SCRIPT)]
    pristine = context.workspaces.prepare(task)
    with (
        private_sandbox_request(task, context, pristine, "leaks") as (request, _),
        context.sandboxes.open(hide_from_agent(request, task)) as sandbox,
    ):
        done = sandbox.exec(
            command, environment=CHECK_ENVIRONMENT, timeout_seconds=_SECONDS, stdin=stdin.encode(errors="replace")
        )
    if done.ending is not CommandEnding.EXITED or done.exit_code != 0 or done.truncated:
        raise SandboxError(f"the sandbox could not be searched: {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout


def _long(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if len(name) >= _SHORTEST_NAME)


def _package_names(fix: FixText) -> list[str]:
    """As many of the longest names as it takes: a file that has enough of all names has at least one of them."""
    names = sorted(_long(fix.defined), key=len, reverse=True)
    return names[: max(0, len(names) - _names_needed(fix) + 1)]


def _names_needed(fix: FixText) -> int:
    """How many names that a change defines someone else's package must have in a file so that it is no coincidence."""
    return max(_LEAST_NAMES, (len(_long(fix.defined)) + 1) // 2)


def _windows(fix: FixText) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every run of three added lines that says something, with its longest line.

    What stood in the changed files before, such as code that the change moves, is not of the change alone, and neither
    are the terms of a licence.
    """
    before = {window for lines in fix.before for window in _runs_of_three(lines)}
    for run in (*fix.runs, *fix.test_runs):
        for window in _runs_of_three(run):
            says_something = sum(map(len, window)) >= _LEAST_LETTERS and not any(map(_LICENCE.search, window))
            if says_something and window not in before:
                yield window, max(window, key=len)


def _runs_of_three(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    kept = [line for line in lines if not _IMPORT.match(line)]
    yield from (tuple(kept[start : start + _WINDOW]) for start in range(len(kept) - _WINDOW + 1))


def _idioms(fix: FixText) -> Iterator[tuple[str, ...]]:
    """Every run of three lines within the signature of a special method, which many write in the same words."""
    for run in (*fix.runs, *fix.test_runs):
        for first, line in enumerate(run):
            if _SPECIAL_METHOD.match(line):
                after = range(first, len(run))
                last = next((number for number in after if run[number].endswith(":")), first)
                yield from (run[start : start + _WINDOW] for start in range(first, last - _WINDOW + 2))


def _leaked_lines(path: str, shown: str, windows: Mapping[tuple[str, ...], str], fix: FixText) -> str | None:
    """Three lines in a row; in someone else's package six, or three with a name that the change defines."""
    found = set(_runs_of_three(filter(None, map(str.strip, shown.splitlines())))).intersection(windows)
    if _is_package(path):
        found -= set(_idioms(fix))
    if _is_package(path) and len(found) < _PACKAGE_WINDOWS:
        found = {run for run in found if not fix.defined.isdisjoint(_WORD.findall(" ".join(run)))}
    return f"lines of the change, such as {windows[min(found)]!r}" if found else None


def _leaked_names(path: str, shown: str, fix: FixText) -> str | None:
    names = (fix.defined if _is_package(path) else fix.names).intersection(shown.split())
    needed = _names_needed(fix) if _is_package(path) else 1
    return f"names that the change adds: {', '.join(sorted(names)[:3])}" if len(names) >= needed else None


def _is_package(path: str) -> bool:
    return path.startswith(tuple(folder.rstrip("*") for folder in _PACKAGE_FOLDERS))
