"""`outweigh report --check`: a report whose records changed says so."""

from pathlib import Path
from typing import Any

import pytest

from outweigh.model.codec import encode, refuse_invalid
from outweigh.model.evidence_hash import EvidenceHash, evidence_sha256_v1
from outweigh.store.store import Store
from outweigh.testing.builders import a_run, runs_of_arm

ARMS = ("--baseline", "a", "--candidate", "b")
kinds = pytest.mark.parametrize("kind", ["html", "md", "json"])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    outcomes = [[True, False, True]] * 7
    target = tmp_path / "runs.jsonl"
    everything = [*runs_of_arm("a", outcomes), *runs_of_arm("b", outcomes)]
    target.write_bytes(b"".join(encode(run) + b"\n" for run in everything))
    return target


def append(runs: Path, arm: str) -> None:
    with runs.open("ab") as file:
        file.write(encode(a_run("task-8", arm, 1)) + b"\n")


@kinds
def test_a_report_over_the_same_records_is_fresh(outweigh: Any, runs: Path, tmp_path: Path, kind: str) -> None:
    report = str(tmp_path / f"report.{kind}")
    outweigh("report", str(runs), *ARMS, "-o", report)

    answer = outweigh("report", str(runs), "--check", report)

    assert (answer.code, answer.out) == (0, f"fresh: {report} rests on these records\n")


@kinds
def test_a_report_is_stale_once_its_arms_have_another_run(outweigh: Any, runs: Path, tmp_path: Path, kind: str) -> None:
    report = str(tmp_path / f"report.{kind}")
    outweigh("report", str(runs), *ARMS, "-o", report)
    append(runs, "b")

    answer = outweigh("report", str(runs), "--check", report)

    assert answer.code == 1
    assert answer.out.startswith(f"STALE: the records of a, b have changed since {report} was written.")


@kinds
def test_a_report_that_an_earlier_release_stamped_is_fresh_by_the_first_version_of_the_hash(
    outweigh: Any, runs: Path, tmp_path: Path, kind: str
) -> None:
    report = tmp_path / f"report.{kind}"
    outweigh("report", str(runs), *ARMS, "-o", str(report))
    digests = [located.digest for located in Store.open(runs).records(refuse_invalid)]
    now, earlier = EvidenceHash.of(digests).hexdigest(), evidence_sha256_v1(digests)
    assert now in report.read_text()
    report.write_text(report.read_text().replace(now, earlier))

    assert outweigh("report", str(runs), "--check", str(report)).code == 0
    append(runs, "b")
    assert outweigh("report", str(runs), "--check", str(report)).code == 1


def test_runs_of_other_arms_do_not_make_it_stale(outweigh: Any, runs: Path, tmp_path: Path) -> None:
    report = str(tmp_path / "report.html")
    outweigh("report", str(runs), *ARMS, "-o", report)
    append(runs, "c")

    assert outweigh("report", str(runs), "--check", report).code == 0


def test_a_report_whose_arm_has_gone_is_stale(outweigh: Any, runs: Path, tmp_path: Path) -> None:
    report = str(tmp_path / "report.html")
    outweigh("report", str(runs), *ARMS, "-o", report)
    runs.write_bytes(b"".join(encode(run) + b"\n" for run in runs_of_arm("a", [[True]])))

    answer = outweigh("report", str(runs), "--check", report)

    assert answer.code == 1
    assert "the records of b have gone" in answer.out


@pytest.mark.parametrize(("name", "content"), [("report.html", "<html></html>"), ("report.csv", "a,b\n")])
def test_what_is_no_report_is_refused(outweigh: Any, runs: Path, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)

    answer = outweigh("report", str(runs), "--check", str(tmp_path / name))

    assert answer.code == 2
    assert "not a report" in answer.err


def test_a_file_that_is_not_there_is_named(outweigh: Any, runs: Path, tmp_path: Path) -> None:
    answer = outweigh("report", str(runs), "--check", str(tmp_path / "no.html"))

    assert answer.code == 2
    assert "no.html" in answer.err


def test_writing_and_checking_at_once_is_refused(outweigh: Any, runs: Path) -> None:
    assert outweigh("report", str(runs), "--check", "a.html", "-o", "b.html").code == 2


def test_without_a_file_the_page_is_printed(outweigh: Any, runs: Path) -> None:
    answer = outweigh("report", str(runs), *ARMS)

    assert answer.code == 0
    assert "Change and margin of every gate" in answer.out
    assert "Where this comes from" in answer.out
