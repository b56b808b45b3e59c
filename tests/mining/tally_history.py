"""A small repository with a history to mine: every change adds a function to a package, with tests by unittest."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Feature(NamedTuple):
    """A change of the history: what its message says, the code, and a test of it."""

    name: str
    message: str
    code: str
    test: str


FEATURES = (
    Feature(
        "spread",
        "Add spread\n\n`spread(values)` is the difference between the largest and the smallest value, and 0 for an "
        "empty list.",
        "def spread(values):\n    return max(values) - min(values) if values else 0\n",
        "        self.assertEqual(spread([5, 1, 3]), 4)\n        self.assertEqual(spread([]), 0)\n",
    ),
    Feature(
        "running_total",
        "Add running_total\n\n`running_total(values)` returns the list of sums so far: [1, 2, 3] becomes [1, 3, 6].",
        "def running_total(values):\n    totals, total = [], 0\n    for value in values:\n        total += value\n"
        "        totals.append(total)\n    return totals\n",
        "        self.assertEqual(running_total([1, 2, 3]), [1, 3, 6])\n",
    ),
    Feature(
        "clamp",
        "Add clamp\n\n`clamp(value, low, high)` returns the value, but not less than `low` and not more than `high`.",
        "def clamp(value, low, high):\n    return max(low, min(high, value))\n",
        "        self.assertEqual(clamp(5, 0, 3), 3)\n        self.assertEqual(clamp(-1, 0, 3), 0)\n",
    ),
    Feature(
        "most_common",
        "Add most_common\n\n`most_common(values)` returns the value that occurs most often; of several, the one "
        "that comes first.",
        "def most_common(values):\n    return max(values, key=values.count)\n",
        "        self.assertEqual(most_common('abbcc'), 'b')\n",
    ),
    Feature(
        "pairs",
        "Add pairs\n\n`pairs(values)` returns every value together with the next one, as a list of tuples.",
        "def pairs(values):\n    return list(zip(values, values[1:]))\n",
        "        self.assertEqual(pairs([1, 2, 3]), [(1, 2), (2, 3)])\n",
    ),
    Feature(
        "scale",
        "Add scale\n\n`scale(values)` divides all values by the largest one, so that it becomes 1.",
        "def scale(values):\n    most = max(values)\n    return [value / most for value in values]\n",
        "        self.assertEqual(scale([1, 2, 4]), [0.25, 0.5, 1])\n",
    ),
    Feature(
        "outliers",
        "Add outliers\n\n`outliers(values, limit)` returns the values that are further from the mean than `limit`.",
        "def outliers(values, limit):\n    mean = sum(values) / len(values)\n"
        "    return [value for value in values if abs(value - mean) > limit]\n",
        "        self.assertEqual(outliers([1, 1, 1, 9], 5), [9])\n",
    ),
    Feature(
        "median",
        "Add median\n\n`median(values)` returns the middle of the sorted values, and the mean of the two in the middle "
        "where their number is even. An empty list raises ValueError.",
        "def median(values):\n    if not values:\n        raise ValueError\n    ordered = sorted(values)\n"
        "    half = len(ordered) // 2\n    if len(ordered) % 2:\n        return ordered[half]\n"
        "    return (ordered[half - 1] + ordered[half]) / 2\n",
        "        self.assertEqual(median([3, 1, 2]), 2)\n        self.assertEqual(median([4, 1, 2, 3]), 2.5)\n",
    ),
)

_TEST = """\
import unittest

from tally.{name} import {name}


class {title}Test(unittest.TestCase):
    def test_{name}(self):
{test}"""


def make_tally_history(folder: Path, *, features: int = len(FEATURES)) -> Path:
    """Make the repository: one commit without tests, then one for every feature."""
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _write(folder, "README.md", "# tally\n\nSmall sums about lists of numbers.\n")
    _write(folder, "tally/__init__.py", '"""Small sums about lists of numbers."""\n')
    _write(folder, "tests/__init__.py", "")
    _commit(folder, "Begin", day=1)
    for day, feature in enumerate(FEATURES[:features], 2):
        title = feature.name.title().replace("_", "")
        _write(folder, f"tally/{feature.name}.py", feature.code)
        _write(folder, f"tests/test_{feature.name}.py", _TEST.format(name=feature.name, title=title, test=feature.test))
        _commit(folder, feature.message, day=day)
    return folder


def _write(folder: Path, path: str, content: str) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)


def _commit(folder: Path, message: str, *, day: int) -> None:
    moment = f"2026-03-{day:02}T12:00:00+0000"
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", f"--message={message}", moment=moment)


def _git(folder: Path, *arguments: str, moment: str = "2026-03-01T12:00:00+0000") -> None:
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
        },
    )
