"""A history is read without executing or writing anything, whatever is in the repository."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.mining.mined_repository import DAY, START, MinedRepository, candidates, reasons

from outweigh.errors import UsageError
from outweigh.mining.candidate import RejectionReason
from outweigh.mining.change_rules import HistorySettings
from outweigh.mining.history import explain, scan_history
from outweigh.mining.repository import open_history

FIX = {"src/code.py": "one = 1\ntwo = 2\n", "tests/test_code.py": "def test_one(): ...\ndef test_two(): ...\n"}


@pytest.fixture
def repository(tmp_path: Path) -> MinedRepository:
    return MinedRepository(tmp_path / "repository")


def everything(folder: Path) -> dict[str, tuple[int, int, bytes | None]]:
    """Every file below a folder with its time, mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mtime_ns, status.st_mode, path.read_bytes() if path.is_file() else None)
    return found


def test_nothing_of_a_hostile_repository_is_executed_and_nothing_is_written(
    repository: MinedRepository, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    program.chmod(0o755)
    fix = repository.change("Add two", {**FIX, ".gitattributes": "* filter=trap diff=trap merge=trap text eol=crlf\n"})
    for name in ("filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "diff.trap.textconv"):
        repository.git("config", name, str(program))
    for name in (
        "diff.trap.command",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "gpg.program",
    ):
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        (repository.folder / ".git/hooks" / hook).symlink_to(program)
    repository.write({"src/code.py": "changed but not committed\n", "new.py": "untracked\n"})
    before = everything(repository.folder)

    scan = repository.scan()

    assert candidates(scan) == {fix}
    assert everything(repository.folder) == before
    assert not trap.exists()


def test_a_partial_clone_fetches_nothing_with_the_program_that_it_names(
    repository: MinedRepository, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    program.chmod(0o755)
    head = repository.change("Add two", FIX)
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://example.org/there",
        "core.sshCommand": str(program),
        "protocol.ssh.allow": "always",
    }.items():
        repository.git("config", name, value)
    (repository.folder / ".git/objects" / head[:2] / head[2:]).unlink()

    with pytest.raises(UsageError), open_history(repository.folder):
        pass

    assert not trap.exists()


def test_replaced_and_grafted_commits_are_read_as_they_are(repository: MinedRepository) -> None:
    first = repository.git("rev-parse", "HEAD")
    fix = repository.change("Add two", FIX)
    repository.git("replace", fix, first)
    (repository.folder / ".git/info/grafts").write_text(f"{fix}\n")

    (found,) = repository.scan().candidates

    assert (found.fix, found.base) == (fix, first)


def test_names_and_messages_that_are_not_valid_text_are_no_crash(repository: MinedRepository) -> None:
    fix = repository.change("Add two", FIX)
    name = os.fsdecode(b"src/caf\xe9.py")
    strange = repository.change("Add three", {name: "three = 3\n", "tests/test_code.py": "def test_three(): ...\n"})
    untested = repository.change("Add four", {os.fsdecode(b"src/th\xe9.py"): "four = 4\n"})
    tree = repository.git("rev-parse", f"{fix}^{{tree}}")
    body = f"tree {tree}\nparent {untested}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\n".encode()
    commit = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=body + b"caf\xe9 \x1b[31mred\x07\n")
    repository.git("update-ref", "HEAD", commit)

    scan = repository.scan()

    assert candidates(scan) == {fix}
    assert reasons(scan)[strange] is RejectionReason.UNSUPPORTED_FILES
    assert {rejection.commit: rejection.detail for rejection in scan.rejections}[untested] == "src/th\\udce9.py"
    assert all(rejection.detail.isprintable() for rejection in scan.rejections)


def test_a_message_in_another_encoding_is_read_and_its_control_characters_are_left_out(
    repository: MinedRepository,
) -> None:
    repository.write(FIX)
    repository.git("add", "--all")
    repository.git("config", "i18n.commitEncoding", "ISO-8859-1")
    repository.git("commit", "--quiet", "--file=-", stdin=b"Caf\xe9\n\n\x1b[31mred\x1b[0m \xa0done")

    (found,) = repository.scan().candidates

    assert found.message == "Café\n\n[31mred[0m done"


def test_only_the_newest_commits_are_looked_at_and_the_others_are_counted(repository: MinedRepository) -> None:
    old = repository.change("Add two", FIX)
    new = [
        repository.change(f"Add {i}", {"src/code.py": f"a = {i}\n", "tests/test_code.py": f"b({i})\n"})
        for i in range(3)
    ]
    settings = HistorySettings(most_commits=3)

    scan = repository.scan(settings)

    assert candidates(scan) == set(new)
    assert (scan.commits, scan.not_looked_at) == (3, 2)
    with open_history(repository.folder) as history:
        assert "2 older commits were not" in explain(history, settings, old)


def test_dates_choose_the_commits_and_the_others_are_out_of_range(repository: MinedRepository) -> None:
    made = [
        repository.change(f"Add {i}", {"src/code.py": f"a = {i}\n", "tests/test_code.py": f"b({i})\n"})
        for i in range(4)
    ]
    dates = [datetime.fromtimestamp(START + (4 + 2 * i) * DAY, tz=UTC) for i in range(4)]

    scan = repository.scan(HistorySettings(since=dates[1], until=dates[2]))

    assert candidates(scan) == {made[1], made[2]}
    assert {reasons(scan)[name] for name in (made[0], made[3])} == {RejectionReason.OUT_OF_RANGE}
    assert (scan.commits, scan.not_looked_at) == (5, 0)


def test_a_long_history_is_read_by_a_few_processes(repository: MinedRepository, tmp_path: Path) -> None:
    stream = [b"blob\nmark :1\ndata 0\n\n"]
    for i in range(1, 2_001):
        text = f"a = {i}\n".encode()
        stream.append(f"commit refs/heads/long\ncommitter a <a@b> {START + i} +0000\ndata 5\nwork\n".encode())
        for path in ("src/a.py", "tests/test_a.py"):
            stream.append(f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text)
    repository.git("fast-import", "--quiet", stdin=b"".join(stream))
    repository.git("symbolic-ref", "HEAD", "refs/heads/long")
    counted = tmp_path / "bin"
    counted.mkdir()
    git = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, check=True, text=True).stdout.strip()
    (counted / "git").write_text(f'#!/bin/sh\necho x >> {tmp_path}/count\nexec {git} "$@"\n')
    (counted / "git").chmod(0o755)
    code = (
        "import sys; from pathlib import Path; from outweigh.mining.history import scan_history;"
        "from outweigh.mining.change_rules import HistorySettings;"
        "from outweigh.mining.repository import open_history\n"
        "with open_history(Path(sys.argv[1])) as h: print(len(scan_history(h, HistorySettings()).candidates))"
    )
    environment = {**os.environ, "PATH": f"{counted}:{os.environ['PATH']}"}

    done = subprocess.run(
        [sys.executable, "-c", code, str(repository.folder)], env=environment, capture_output=True, check=True
    )

    assert done.stdout.strip() == b"1999"
    assert len((tmp_path / "count").read_text().split()) < 40


@pytest.mark.parametrize("place", ["bare", "worktree", "detached", "folder inside"])
def test_every_kind_of_repository_has_its_history(repository: MinedRepository, tmp_path: Path, place: str) -> None:
    fix = repository.change("Add two", FIX)
    folder = tmp_path / "other"
    if place == "bare":
        repository.git("clone", "--quiet", "--bare", ".", str(folder))
    elif place == "worktree":
        repository.git("worktree", "add", "--quiet", "--detach", str(folder))
    elif place == "detached":
        repository.git("checkout", "--quiet", "--detach")
        folder = repository.folder
    else:
        folder = repository.folder / "src"

    with open_history(folder) as history:
        assert candidates(scan_history(history, HistorySettings())) == {fix}


def test_a_folder_without_history_is_refused_in_a_sentence(repository: MinedRepository, tmp_path: Path) -> None:
    repository.change("Add two", FIX)
    repository.git("config", "uploadpack.allowFilter", "true")
    address = f"file://{repository.folder}"
    empty = tmp_path / "empty"
    repository.git("init", "--quiet", str(empty))
    repository.git("clone", "--quiet", "--depth=1", address, str(tmp_path / "shallow"))
    repository.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", address, str(tmp_path / "partial"))

    for folder, says in {
        tmp_path: "is not in a git repository",
        empty: "without commits",
        tmp_path / "shallow": "git fetch --unshallow",
        tmp_path / "partial": "Fetch it completely, without a filter",
    }.items():
        with pytest.raises(UsageError, match=says) as refused, open_history(folder) as history:
            scan_history(history, HistorySettings())
        assert "\n" not in str(refused.value)
        assert not str(refused.value).endswith("..")


def test_without_git_there_is_a_sentence(
    repository: MinedRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UsageError, match="git was not found"), open_history(repository.folder):
        pass
