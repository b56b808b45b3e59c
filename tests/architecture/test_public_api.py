"""The names of `import outweigh`: what they are, whatever was imported before, and what they cost."""

import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pytest

import outweigh
import outweigh.report.document
import outweigh.verdict.policy
from outweigh import Decision, DecisionResult, ReportResult

RUNS = Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl"

IMPORTS = [
    "import outweigh",
    "import outweigh.verdict.policy",
    "import outweigh.verdict.policy as policy; policy.POLICIES",
    "from outweigh.verdict import policy; policy.POLICIES",
    "from outweigh import verdict, report; verdict.__code__, report.__code__",
    "import outweigh.report.document as document; document.Report",
    "from outweigh.cli.main import main; main(['--version'])",
]

ANY_ORDER = f"""
import sys

for order in {[(first, second) for first in IMPORTS for second in IMPORTS if first != second]!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "outweigh"]:
        del sys.modules[name]
    for statement in order:
        exec(statement, {{}})
    import outweigh
    for name in ("verdict", "report", "compare_arms", "open_store"):
        assert getattr(outweigh, name).__module__ == "outweigh.app.library", (name, order)
    import outweigh.verdict.policy, outweigh.report.document
    assert outweigh.verdict.policy is sys.modules["outweigh.verdict.policy"], order
    assert outweigh.report.document is sys.modules["outweigh.report.document"], order
"""


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_every_public_name_is_there_and_has_a_home() -> None:
    for name in outweigh.__all__:
        assert getattr(outweigh, name) is not None
        assert name in dir(outweigh)


def test_a_function_is_a_function_whatever_was_imported_before() -> None:
    python(ANY_ORDER)


@pytest.mark.parametrize("statement", IMPORTS)
def test_a_function_is_a_function_in_a_process_of_its_own(statement: str) -> None:
    check = "import outweigh; outweigh.verdict.__code__, outweigh.report.__code__"

    python(f"{statement}\n{check}")


def test_a_function_can_be_called_more_than_once() -> None:
    first, second = (outweigh.verdict(RUNS, baseline="T0-plain", candidate="T1-skill") for _ in range(2))

    assert first.decision is second.decision is Decision.REGRESSED


def test_type_checkers_see_the_functions_and_not_the_packages() -> None:
    assert_type(outweigh.verdict(RUNS, baseline="T0-plain", candidate="T1-skill"), DecisionResult)
    assert_type(outweigh.report(RUNS, baseline="T0-plain", candidate="T1-skill"), ReportResult)


@pytest.mark.parametrize("name", ["gather", "compare", "decide", "may_promote", "compare_tiers", "RecordReader"])
def test_nothing_public_decides_over_bare_records(name: str) -> None:
    """What blocks a promotion is known to a store and not to its records: unread rows, rules, judges' limits."""
    assert name not in outweigh.__all__
    assert name not in outweigh._HOME_OF


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'verdicts'"):
        _ = outweigh.verdicts


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ("numpy", "msgspec", "genai_prices", "outweigh.app")
    code = f"import outweigh, sys; print([name for name in {heavy} if name in sys.modules])"

    assert python(code) == "[]\n"
