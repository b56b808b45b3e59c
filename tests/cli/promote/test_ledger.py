"""The ledger of a repository's verdicts: `outweigh ci` enters them, and every reader of the store is held to it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.promote.promotable import Promotable
from tests.conftest import Outweigh
from tests.loopback_forge import LoopbackForge

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.ledger import default_ledger
from outweigh.store.ledger import LedgerLine, enter_in_ledger, read_ledger
from outweigh.store.store_set import StoreSet


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "ledger.log"


def judged(change: Promotable, ledger: Path, *more: str) -> list[str]:
    """Judge the runs that the store holds already."""
    return ["ci", *change.project.sides("better", "--ledger", str(ledger), *more)]


def enter(ledger: Path, line: LedgerLine) -> None:
    enter_in_ledger(ledger, (line.evidence_sha256,), lambda _: line)


def spent(ledger: Path, verdicts: int) -> None:
    """A ledger with so many verdicts about changes that did nothing."""
    for number in range(verdicts):
        line = LedgerLine(
            entered_at=datetime(2026, 1, 1, tzinfo=UTC),
            suite="suite",
            evidence_sha256=f"{number:064x}",
            decision="neutral",
            p_value=None,
            level=0.001,
            promotable=False,
        )
        enter(ledger, line)


def verdict_of(change: Promotable, outweigh: Outweigh) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outweigh("verdict", str(change.store), "--format", "json").out)
    return found


def test_the_first_verdict_begins_a_ledger_with_everything_left_and_says_so(
    change: Promotable, ledger: Path, outweigh: Outweigh
) -> None:
    answer = outweigh(*judged(change, ledger))

    (line,) = read_ledger(ledger).lines
    assert (answer.code, line.decision, line.promotable) == (0, "improved", True)
    assert (line.level, line.p_value) == pytest.approx((0.1 / 51, 2 * 0.5**12))
    assert line.evidence_sha256 == verdict_of(change, outweigh)["evidence_sha256"]
    assert "Ledger: verdict 1 of 1 here, 1 of them promotable." in answer.out
    assert "needs p ≤ 0.002; it has p = 0.00049." in answer.out
    assert "10.0 are left." in answer.out
    assert "promoted 46, 35 and 27 times in 100 as verdict 10, 50 and 100" in answer.out
    assert f"There was no ledger, so one begins with all of its 10 %: {ledger}" in answer.out
    assert "Ledger: verdict 1 of 1" in (change.store / "comment.md").read_text()


def test_the_same_evidence_looked_at_twice_is_entered_once(
    change: Promotable, ledger: Path, outweigh: Outweigh
) -> None:
    outweigh(*judged(change, ledger))
    before = ledger.read_bytes()
    answer = outweigh(*judged(change, ledger))

    assert ledger.read_bytes() == before
    assert "There was no ledger" not in answer.out


def test_an_entry_by_the_hash_of_an_earlier_release_holds_for_the_same_evidence(
    change: Promotable, ledger: Path, outweigh: Outweigh, forge: LoopbackForge
) -> None:
    outweigh(*judged(change, ledger))
    (line,) = read_ledger(ledger).lines
    evidence = read_evidence(EvidenceRequest(stores=StoreSet.open([change.store])))
    earlier = evidence.sha256_v1(*evidence.arms)
    assert earlier not in (None, line.evidence_sha256)
    for path in (ledger, change.store / "ledger.log"):
        path.unlink()
        enter(path, replace(line, evidence_sha256=earlier))
    before = ledger.read_bytes()

    outweigh(*judged(change, ledger))
    assert ledger.read_bytes() == before
    assert verdict_of(change, outweigh)["may_promote"] is True
    assert outweigh(*change.execute(forge, "--evidence", str(earlier))).code == 0


def test_many_verdicts_ask_for_more_and_forbid_the_promotion_but_leave_the_decision(
    change: Promotable, ledger: Path, outweigh: Outweigh, forge: LoopbackForge
) -> None:
    spent(ledger, 60)
    answer = outweigh(*judged(change, ledger))

    report = json.loads((change.store / "report.json").read_text())["verdicts"][0]
    found = verdict_of(change, outweigh)
    for verdict in (report, found):
        assert (verdict["decision"], verdict["may_promote"]) == ("improved", False)
        assert "the ledger of verdicts asks for p ≤ 0.00041, and this improvement has p = 0.00049." in " ".join(
            verdict["blockers"]
        )
    assert answer.code == 0
    assert "Promotion refused" in (change.store / "comment.md").read_text()
    refused = outweigh(*change.execute(forge))
    assert (refused.code, forge.requests, change.untouched()) == (1, [], True)
    assert "the ledger of verdicts asks for" in " ".join(refused.out.split())


def test_a_verdict_that_the_ledger_allows_is_promoted(
    change: Promotable, ledger: Path, outweigh: Outweigh, forge: LoopbackForge
) -> None:
    spent(ledger, 40)
    outweigh(*judged(change, ledger))

    assert verdict_of(change, outweigh)["may_promote"] is True
    assert outweigh(*change.execute(forge)).code == 0


def test_records_that_changed_since_the_entry_are_not_promoted(
    change: Promotable, ledger: Path, outweigh: Outweigh
) -> None:
    outweigh(*judged(change, ledger))
    copied = change.store / "ledger.log"
    entry = verdict_of(change, outweigh)["evidence_sha256"]
    copied.unlink()
    spent(copied, 1)

    found = verdict_of(change, outweigh)
    assert found["evidence_sha256"] == entry
    assert found["may_promote"] is False
    assert "has no entry about these records" in " ".join(found["blockers"])


def test_a_ledger_that_cannot_be_written_forbids_the_promotion_and_nothing_else(
    change: Promotable, tmp_path: Path, outweigh: Outweigh
) -> None:
    (tmp_path / "file").touch()
    answer = outweigh(*judged(change, tmp_path / "file" / "ledger.log"))

    assert answer.code == 0
    assert "The ledger of verdicts could not be written, so nothing may be promoted" in answer.out
    assert (verdict_of(change, outweigh)["decision"], verdict_of(change, outweigh)["may_promote"]) == (
        "improved",
        False,
    )


def test_a_change_that_did_nothing_spends_its_level(untested: Promotable, ledger: Path, outweigh: Outweigh) -> None:
    untested.test(passes=(True, True))
    answer = outweigh(*judged(untested, ledger))

    (line,) = read_ledger(ledger).lines
    assert (line.promotable, line.p_value) == (False, None)
    assert "nothing improved, and that level is used up" in answer.out
    assert "9.8 are left" in answer.out


def test_without_an_option_the_ledger_lies_beside_the_pins_or_beside_the_store(
    change: Promotable, tmp_path: Path, outweigh: Outweigh
) -> None:
    outweigh("ci", *change.project.sides("better", "--reuse", str(tmp_path / "pins")))
    assert read_ledger(tmp_path / "pins" / "ledger.log").verdicts == 1
    outweigh("ci", *change.project.sides("better", "--reuse", str(change.store)))
    assert read_ledger(change.store.parent / "ledger.log").verdicts == 1
    (tmp_path / "pins" / "first").mkdir()
    (tmp_path / "pins" / "first" / "pin.json").touch()
    assert default_ledger([str(tmp_path / "pins" / "first")], change.store) == tmp_path / "pins" / "ledger.log"


def test_a_file_of_the_store_that_is_named_alone_is_held_to_the_ledger_too(
    change: Promotable, ledger: Path, outweigh: Outweigh
) -> None:
    spent(ledger, 60)
    outweigh(*judged(change, ledger))
    words = ("--baseline", "base", "--candidate", "head", "--gates", "pass_rate", "--format", "json")
    found = json.loads(outweigh("verdict", str(change.store / "runs-engine.jsonl"), *words).out)

    assert (found["decision"], found["may_promote"]) == ("improved", False)
    assert "the ledger of verdicts asks for" in " ".join(found["blockers"])


def test_a_literal_rule_states_no_error_rate_and_is_not_entered(
    untested: Promotable, ledger: Path, outweigh: Outweigh
) -> None:
    suite = untested.project.suite / "suite.toml"
    kept = [line for line in suite.read_text().splitlines() if not line.startswith('"policy"')]
    untested.project.repository.git("checkout", "--quiet", "main")
    untested.project.repository.commit({"evals/suite.toml": "\n".join([*kept, '"policy" = {"name" = "gates"}', ""])})
    untested.project.branch("literal", {"CLAUDE.md": "The answer is 42.\n"})
    untested.test("literal")
    answer = outweigh("ci", *untested.project.sides("literal", "--ledger", str(ledger)))

    assert "Policy gates states no error rate" in answer.out
    assert not ledger.exists()
    assert not (untested.store / "ledger.log").exists()
