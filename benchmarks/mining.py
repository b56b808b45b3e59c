"""What a candidate of a history costs beside the test runs that prove it: three before the change, three after it."""

import os
import subprocess
from pathlib import Path
from statistics import median_low

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.app.mine_suite import MineRequest, mine_suite
from outweigh.mining.journal import MinedCandidate
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

CANDIDATES = 3
RUNS = 6
TEST_SECONDS = 1.0
_SOURCE = "def {name}(number):\n    return number * {factor}\n"
_TEST = """\
import time
import unittest

from numbers_by_name import {name}


class {title}Test(unittest.TestCase):
    def test_{name}_multiplies_a_number(self):
        while time.process_time() < {seconds}:
            pass
        self.assertEqual({name}(7), {expected})
"""
_PACKAGES = """python3 -c "
import os
for folder in range(400):
    os.makedirs(f'/opt/dependencies/lib/{folder}')
    for file in range(25):
        with open(f'/opt/dependencies/lib/{folder}/{file}.py', 'w') as out:
            out.writelines(f'line_{number} = {number * file}{chr(10)}' for number in range(150))
" """
_GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def measure(setting: Setting) -> list[Ratio]:
    """With nothing to install, and with ten thousand files installed for all candidates."""
    if (missing := BubblewrapSandboxProvider().missing()) is not None:
        return [Ratio(name="a candidate : its six test runs", measured=0.0, target=None, better="lower", note=missing)]
    repository = setting.folder / "mined"
    _make_history(repository)
    return [
        _row("nothing to install", repository, setting.folder / "mined-alone", None),
        _row("10,000 files of dependencies", repository, setting.folder / "mined-beside", _PACKAGES),
    ]


def _row(name: str, repository: Path, folder: Path, setup: str | None) -> Ratio:
    """The first candidate installs what all of them need, so that it is not among those that count."""
    found: list[MinedCandidate] = []
    request = MineRequest(
        repository=repository, folder=folder, tasks=CANDIDATES + 1, test="python3 -m unittest", setup=setup, jobs=1
    )
    mine_suite(request, listen=lambda progress: found.append(progress.found))
    ratios = {each.seconds / (RUNS * each.test_seconds): each for each in found[1:] if each.test_seconds}
    middle = median_low(ratios)
    each = ratios[middle]
    return Ratio(
        name=f"a candidate : its six test runs, {name}",
        measured=middle,
        target=2.0,
        better="lower",
        note=f"{each.seconds:.1f} s : {RUNS} × {each.test_seconds:.2f} s; {len(ratios)} of {len(found) - 1} proven",
    )


def _make_history(repository: Path) -> None:
    """Every commit adds a function and its test, which computes for a second."""
    (repository / "tests").mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    names = ["single", "double", "triple", "quadruple", "quintuple", "sextuple"][: CANDIDATES + 2]
    (repository / "tests/__init__.py").write_text("")
    source = ""
    for factor, name in enumerate(names, 1):
        source += _SOURCE.format(name=name, factor=factor)
        (repository / "numbers_by_name.py").write_text(source)
        test = _TEST.format(name=name, title=name.title(), seconds=TEST_SECONDS, expected=7 * factor)
        (repository / f"tests/test_{name}.py").write_text(test)
        _git(repository, "add", "-A")
        _git(repository, "commit", "-q", "-m", f"Add {name}, which multiplies a number by {factor}")


def _git(repository: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=repository, check=True, env={**os.environ, **_GIT})
