"""Stores in a bucket: a real server of the S3 API on loopback, and commands as processes of their own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from s3fs import S3FileSystem
from tests.conftest import Answer, Outweigh
from tests.loopback_s3 import SECRET, Bucket, s3_server
from tests.team_stores import BEGUN, contents, write_team_store
from tests.web.page_reader import Reader

RUNS = "runs-engine.jsonl"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        yield address
    S3FileSystem.clear_instance_cache()


class Team:
    """A bucket of its own for every test, and one machine that reaches it."""

    def __init__(self, bucket: Bucket, home: Path, inside: Outweigh, process: Outweigh) -> None:
        self.bucket = bucket
        self.address = f"s3://{bucket.name}"
        self.home = home
        self.environment = bucket.environment(home)
        self.outweigh = inside
        self._process = process

    def outweigh_process(self, *arguments: str, **environment: str) -> Answer:
        return self._process(*arguments, environment=self.environment | environment)

    def cached(self) -> set[str]:
        cache = self.home / "cache"
        return {file.name for file in cache.rglob("*") if file.is_file()}


@pytest.fixture
def team(
    endpoint: str,
    tmp_path: Path,
    outweigh: Outweigh,
    outweigh_process: Outweigh,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Team:
    bucket = Bucket(endpoint, f"b{sha256(request.node.name.encode()).hexdigest()[:20]}")
    bucket.make()
    (tmp_path / "home").mkdir()
    for name, value in bucket.environment(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    return Team(bucket, tmp_path / "home", outweigh, outweigh_process)


def test_a_store_is_copied_to_a_bucket_and_its_verdict_is_the_one_of_the_folder(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo")
    address = f"{team.address}/stores/demo"

    copied = team.outweigh("store", "copy", str(store), address)
    here = team.outweigh("verdict", str(store), "--format", "json")
    there = team.outweigh("verdict", f"{address}/", "--format", "json")

    assert copied.code == 0, copied.err
    assert sorted(team.bucket.keys()) == sorted(f"stores/demo/{name}" for name in contents(store))
    assert there.code == here.code, there.err
    assert there.out.replace(address, str(store)) == here.out
    assert (copied.err + there.err).count("outweigh:") == 1


def test_a_store_that_is_alone_in_a_bucket_stands_for_it_and_several_are_named(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo")
    team.bucket.put_folder("a/one", store)

    alone = team.outweigh("verdict", team.address)
    team.bucket.put_folder("a/two", store)
    several = team.outweigh("verdict", team.address)

    assert f"reading {team.address}/a/one, the only store in {team.address}" in alone.err
    assert several.code == 2
    assert f"  {team.address}/a/one\n  {team.address}/a/two" in several.err


def test_a_second_reading_downloads_only_what_changed(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("demo", write_team_store(tmp_path / "demo"))
    address = f"{team.address}/demo"
    team.outweigh("verdict", address)
    cache = team.home / "cache"
    first = {file.stat().st_ino: file.name for file in cache.rglob("*.json*")}

    team.outweigh("verdict", address)
    assert {file.stat().st_ino: file.name for file in cache.rglob("*.json*")} == first

    changed = team.bucket.get("demo/experiment.json").replace(b"{", b"{ ", 1)
    team.bucket.put("demo/experiment.json", changed)
    team.outweigh("verdict", address)
    runs = [*cache.rglob(RUNS)]
    assert len(runs) == 2
    assert len({file.stat().st_ino for file in runs}) == 1


def test_what_was_added_to_a_store_in_a_bucket_is_in_the_next_verdict(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo", tasks=4)
    team.bucket.put_folder("demo", store)
    before = team.outweigh("store", "show", f"{team.address}/demo", "--format", "json").json()

    more = write_team_store(tmp_path / "more", tasks=9)
    team.bucket.put(f"demo/{RUNS}", (more / RUNS).read_bytes())
    after = team.outweigh("store", "show", f"{team.address}/demo", "--format", "json").json()

    assert (before["arms"]["plain"]["done"], after["arms"]["plain"]["done"]) == (4, 9)
    assert after["store"] == f"{team.address}/demo"


def test_rules_that_were_edited_in_a_bucket_are_found_as_in_a_folder(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("demo", write_team_store(tmp_path / "demo"))
    rules = team.bucket.get("demo/experiment.json")
    team.bucket.put("demo/experiment.json", rules.replace(b"objective_first", b"even"))

    answer = team.outweigh("verdict", f"{team.address}/demo/")

    assert answer.code == 3
    assert f"{team.address}/demo/experiment.json was edited" in answer.err


def test_an_edited_byte_in_a_bucket_is_found_by_reading_and_by_copying(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo")
    team.bucket.put_folder("demo", store)
    content = team.bucket.get(f"demo/{RUNS}")
    team.bucket.put(f"demo/{RUNS}", content.replace(b'"duration_seconds":60', b'"duration_seconds":90', 1))

    read = team.outweigh("verdict", f"{team.address}/demo")
    copied = team.outweigh("store", "copy", str(store), f"{team.address}/demo")

    assert read.code == 3
    assert f"{team.address}/demo/{RUNS}:1: the line does not match its checksum" in read.err
    assert copied.code == 3
    assert "from line 1 on: it was damaged or edited" in copied.err


def test_a_store_comes_back_from_a_bucket_and_goes_on_to_another(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo")
    assert team.outweigh("store", "copy", str(store), f"{team.address}/one").code == 0

    across = team.outweigh("store", "copy", f"{team.address}/one", f"{team.address}/two")
    back = team.outweigh("store", "copy", f"{team.address}/two", str(tmp_path / "back"))

    assert (across.code, back.code) == (0, 0)
    assert contents(tmp_path / "back") == contents(store)
    hashes = {answer.out.rpartition("sha256 ")[2] for answer in (across, back)}
    assert len(hashes) == 1


def test_a_copy_to_a_bucket_that_was_killed_is_refused_and_resumed(team: Team, tmp_path: Path) -> None:
    store, address = write_team_store(tmp_path / "demo", artifacts=300), f"{team.address}/demo"
    command = [sys.executable, "-m", "outweigh", "store", "copy", str(store), address]
    clean = {"PATH": os.environ["PATH"], **team.environment}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean) as copying:
        while len(team.bucket.keys("demo/artifacts/")) < 20 and copying.poll() is None:
            time.sleep(0.01)
        os.kill(copying.pid, signal.SIGKILL)
    there = len(team.bucket.keys("demo/artifacts/"))
    assert 20 <= there < 300
    team.bucket.put(f"demo/{RUNS}", (store / RUNS).read_bytes())

    refused = team.outweigh("verdict", address)
    resumed = team.outweigh("store", "copy", str(store), address)
    read = team.outweigh("verdict", address)

    assert refused.code == 3
    assert "is an unfinished copy of 'demo'" in refused.err
    assert resumed.code == 0, resumed.err
    already = int(resumed.out.partition("; ")[2].split()[0])
    assert there <= already < 300
    assert "demo/unfinished-copy.json" not in team.bucket.keys("")
    assert read.err == ""


def test_artifacts_are_fetched_when_they_are_asked_for_and_checked(team: Team, tmp_path: Path) -> None:
    store = write_team_store(tmp_path / "demo")
    team.bucket.put_folder("demo", store)
    digests = {file.name for file in (store / "artifacts").rglob("*") if file.is_file()}
    address = f"{team.address}/demo"

    team.outweigh("verdict", address)
    assert not digests & team.cached()
    shown = team.outweigh("diff", address, "task-0/plain/1", "task-0/better/1")
    assert shown.code == 0, shown.err
    scanned = team.outweigh("store", "scan", address)

    assert scanned.code == 0, scanned.err
    assert digests <= team.cached()
    assert "scan.json" not in team.cached()


def test_a_bucket_is_only_read_by_what_runs_and_judges(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("demo", write_team_store(tmp_path / "demo"))
    address = f"{team.address}/demo"
    before = team.bucket.keys()

    for arguments in (
        ("judge", address),
        ("baseline", "pin", address),
        ("store", "arms", address, "--rename", "better=best"),
        ("run", "-c", "examples/demo", "-o", address),
        ("import", str(tmp_path / "demo" / RUNS), "-o", address),
        ("report", address, "-o", f"{address}/report.html"),
        ("ladder", address, "-o", f"{address}/ladder.html"),
        ("store", "bundle", address, "-o", f"{address}/study.outweigh.zip"),
    ):
        answer = team.outweigh(*arguments)
        assert answer.code == 2, arguments
        assert "outweigh store copy" in answer.err, arguments
    assert team.bucket.keys() == before
    assert not Path("s3:").exists()


def test_a_report_about_a_store_in_a_bucket_is_written_beside_the_reader(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("stores/demo", write_team_store(tmp_path / "demo"))

    answer = team.outweigh("verdict", f"{team.address}/stores/demo")

    written = " ".join(answer.out.replace("\\\n", "").split())
    assert f"outweigh report {team.address}/stores/demo -o demo-report.html" in written


def test_a_hundred_stores_in_a_bucket_are_one_page_and_one_history(team: Team, tmp_path: Path) -> None:
    for number in range(100):
        name = f"store-{number:03}"
        begun, suite = BEGUN + timedelta(days=number), f"suite-{number % 4}"
        store = write_team_store(tmp_path / name, tasks=1, artifacts=0, begun=begun, suite=suite)
        team.bucket.put_folder(f"stores/{name}", store)
    reader = Reader(f"{team.address}/stores")

    page = reader.ask("/stores").text
    reader.catalogue.verdicts.stop()
    history = team.outweigh("history", team.address, "--suite", "suite-1", "--format", "json")

    assert len(re.findall(r'href="/e/[0-9a-f]{12}">store-', page)) == 100
    assert "100 stores of 4 suites" in page
    months = history.json()["spend"]["months"]
    assert [month["month"] for month in months] == ["2026-10", "2026-11", "2026-12", "2027-01"]
    assert sum(month["runs"] for month in months) == sum(month["unknown_costs"] for month in months) == 50
    assert sorted(each["store"] for each in history.json()["arms"][0]["points"]) == [
        f"{team.address}/stores/store-{number:03}" for number in range(1, 100, 4)
    ]


def test_the_viewer_shows_a_store_in_a_bucket_with_its_verdict_report_and_patches(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("demo", write_team_store(tmp_path / "demo"))
    reader = Reader(f"{team.address}/demo")

    home = reader.decided("/")
    report = reader.ask(reader.store("/report"))
    run = reader.ask(reader.store("/run?run=task-0/better/1"))

    assert "inconclusive" in home.text
    assert f"outweigh report {team.address}/demo" in report.text
    assert run.status == 200
    assert "is a store elsewhere, which is only read" in run.text
    assert str(team.home) not in home.text + report.text + run.text


@pytest.mark.parametrize("verb", ["verdict", "view", "history"])
def test_a_bucket_or_a_store_that_is_not_there_is_one_sentence(team: Team, verb: str) -> None:
    for address in (f"{team.address}/missing", "s3://no-such-bucket-here/x"):
        answer = team.outweigh(verb, address)

        assert answer.code == 2
        assert answer.err == f"outweigh: there is no store at {address}.\n"


def test_a_damaged_store_in_a_bucket_is_named_by_its_address(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("stores/good", write_team_store(tmp_path / "demo"))
    team.bucket.put("stores/bad/experiment.json", b"")

    history = team.outweigh("history", f"{team.address}/stores")
    verdict = team.outweigh("verdict", f"{team.address}/stores/bad")

    assert history.code == 0, history.err
    assert f"{team.address}/stores/bad is left out: " in history.err
    assert verdict.code == 3
    assert f"{team.address}/stores/bad/experiment.json cannot be read" in verdict.err
    assert str(team.home) not in history.err + verdict.err


def test_a_bucket_whose_name_no_bucket_can_have_is_said(team: Team) -> None:
    answer = team.outweigh("verdict", "s3://not a bucket/demo")

    assert answer.code == 2
    assert 'Invalid bucket name "not a bucket"' in answer.err


def test_credentials_that_are_wrong_or_missing_are_said_and_never_shown(team: Team, tmp_path: Path) -> None:
    missing = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")

    answer = team.outweigh_process("verdict", f"{team.address}/demo", AWS_EC2_METADATA_DISABLED="true", **missing)
    inside = team.outweigh_process("verdict", f"s3://AKIDLOOPBACK:{SECRET}@{team.bucket.name}/demo")

    assert answer.code == 2
    assert "credentials" in answer.err
    assert inside.code == 2
    assert SECRET not in answer.err + inside.err + inside.out


def test_a_server_that_is_not_there_is_one_sentence(team: Team) -> None:
    answer = team.outweigh_process("verdict", f"{team.address}/demo", AWS_ENDPOINT_URL="http://127.0.0.1:9")

    assert answer.code == 2
    assert answer.err.startswith(f"outweigh: {team.address}/demo cannot be reached: ")
    assert answer.err.count("\n") == 1


def test_a_scheme_that_no_package_here_knows_names_what_to_install(team: Team) -> None:
    known, unknown = (
        team.outweigh_process("verdict", "gs://bucket/demo"),
        team.outweigh_process("verdict", "nosuch://bucket/demo"),
    )

    assert known.code == unknown.code == 2
    assert "gcsfs" in known.err
    assert "nosuch:// is no scheme" in unknown.err


def test_without_the_extra_one_sentence_says_what_to_install(team: Team, tmp_path: Path) -> None:
    hiding = tmp_path / "hiding" / "fsspec"
    hiding.mkdir(parents=True)
    (hiding / "__init__.py").write_text("raise ModuleNotFoundError(name='fsspec')\n", encoding="utf-8")

    answer = team.outweigh_process("verdict", "s3://bucket/demo", PYTHONPATH=str(hiding.parent))

    assert answer.code == 2
    assert "a store at s3:// needs packages that are not installed" in answer.err
    assert "'s3fs" in answer.err


def test_the_cache_can_be_removed_at_any_time(team: Team, tmp_path: Path) -> None:
    team.bucket.put_folder("demo", write_team_store(tmp_path / "demo"))
    first = team.outweigh_process("verdict", f"{team.address}/demo", "--format", "json")
    shutil.rmtree(team.home / "cache")

    assert team.outweigh_process("verdict", f"{team.address}/demo", "--format", "json").out == first.out
