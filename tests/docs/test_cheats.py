"""docs/cheats.md states for every rule how many labelled cases it should find, and how many it finds."""

from pathlib import Path

from tests.transcript.labelled_cases import Measured, labelled_cases, measure, measured_at_first

from outweigh.app.scan import bundled_rules
from outweigh.transcript.cheat_scan import SEARCH_LIMIT
from outweigh.transcript.scan_material import FRAGMENT_LENGTH

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cheats.md"


def rule_table() -> str:
    """The table of the page."""
    cases = labelled_cases()
    first, now = measured_at_first(cases), measure(cases)
    rows = [
        f"| `{rule.id}` | {rule.title} | {rule.severity.value} | {_recall(first, rule.id)} | {_recall(now, rule.id)} |"
        for rule in bundled_rules().rules
    ]
    head = "| rule | finds that the agent | severity | recall at first | recall now |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _recall(measured: Measured, rule: str) -> str:
    found = measured.right[rule]
    labelled = found + measured.missed[rule]
    if not labelled:
        return "not measured"
    return f"{found / labelled:.2f} ({found} of {labelled})"


def test_the_table_of_rules_is_what_was_measured() -> None:
    assert rule_table() in PAGE.read_text(encoding="utf-8")


def test_the_page_states_what_the_cases_show() -> None:
    first, now = measured_at_first(labelled_cases()), measure(labelled_cases())

    assert (now.wrong.total(), now.missed.total()) == (0, 2)
    assert first.precision >= 0.9
    right = first.right.total()
    said = (
        f"{right} of {right + first.wrong.total()} findings were right (precision {first.precision:.2f}), and {right} "
        f"of {right + first.missed.total()} that should have been found were (recall {first.recall:.2f})"
    )
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert said in text
    assert "all findings are right, and two that should be there are missed" in text
    assert f"pieces of {FRAGMENT_LENGTH} characters, and a rule searches at most {SEARCH_LIMIT:,} of them" in text
