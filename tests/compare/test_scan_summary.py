"""Findings by arm: what is counted, and when two arms are said to differ."""

import pytest

from outweigh.compare.scan_summary import ArmScan, describe_difference, describe_findings, summarise_scans
from outweigh.model.scan_result import CheatFinding, RunScan, Severity


def finding(rule: str, severity: Severity) -> CheatFinding:
    return CheatFinding(rule=rule, title=f"did {rule}", severity=severity, times=3, place="step 1", excerpt="x")


def scan(name: str, *findings: CheatFinding, complete: bool = True) -> RunScan:
    return RunScan(run_id=name, attempt=1, looked_at=("diff",), complete=complete, findings=findings)


def arm(suspicious: int, scanned: int) -> ArmScan:
    scans = [scan(str(n), *([finding("x", Severity.HIGH)] if n < suspicious else [])) for n in range(scanned)]
    return summarise_scans([each.key for each in scans], {each.key: each for each in scans})


def test_runs_are_counted_once_for_each_rule_whatever_it_found_in_them() -> None:
    fact, sign = finding("fact", Severity.LOW), finding("sign", Severity.HIGH)
    scans = [scan("a", fact, sign), scan("b", fact, complete=False), scan("c")]

    found = summarise_scans([("a", 1), ("b", 1), ("c", 1), ("d", 1)], {each.key: each for each in scans})

    assert (found.runs, found.scanned, found.flagged, found.suspicious, found.unfinished) == (4, 3, 2, 1, 1)
    assert [(rule.rule, runs) for rule, runs in found.rules.items()] == [("sign", 1), ("fact", 2)]
    assert found.findings == (scans[0], scans[1])


def test_another_attempt_of_a_run_is_not_that_run() -> None:
    assert summarise_scans([("a", 2)], {("a", 1): scan("a")}).scanned == 0


# Fisher's exact test by hand: 5 of 5 against 0 of 5 has the chance 2 / C(10, 5) = .0079, 4 against 0 of 5
# 2 * C(6, 5) / C(10, 5) = .0476, and 4 against 1 of 5 2 * (C(5, 4) * C(5, 1) + 1) / C(10, 5) = .206.
@pytest.mark.parametrize(("before", "after", "named"), [(0, 5, "new"), (5, 0, "old"), (0, 4, "new"), (1, 4, None)])
def test_arms_are_said_to_differ_where_chance_is_unlikely(before: int, after: int, named: str | None) -> None:
    said = describe_difference({"old": arm(before, 5), "new": arm(after, 5)})

    assert (said is None) == (named is None)
    assert named is None or f"more frequent in runs of {named} ({max(before, after)} of 5)" in (said or "")


def test_nothing_is_said_about_a_difference_to_an_arm_that_nobody_scanned() -> None:
    assert describe_difference({"old": arm(0, 0), "new": arm(20, 20)}) is None


def test_a_sentence_about_findings_names_the_gravest_one() -> None:
    assert describe_findings({"old": arm(0, 3), "new": arm(2, 3)}) == (
        "old 0 of 3 runs suspicious, 0 with any finding; new 2 of 3 runs suspicious, 2 with any finding (did x: 2)"
    )
    assert describe_findings({"old": arm(0, 3), "new": arm(0, 3)}) is None
    assert describe_findings({}) is None
