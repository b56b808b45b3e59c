"""What is mined is tried with what the change needs, by the commands that the user states."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
from tests.mining.tally_history import make_tally_history
from tests.prerequisites import needs
from tests.repositories import Repository

from outweigh.app.mine_suite import MineRequest, mine_suite, refuse_without_candidates
from outweigh.app.observer import StopSignals
from outweigh.errors import UsageError
from outweigh.mining.candidate import HistoryScan
from outweigh.mining.journal import JOURNAL_FILE
from outweigh.workspace.overlay_mount import overlay_mounts_below

PACKAGE = '{"name": "kettle", "version": "1.0.0", "dependencies": {%s}}\n'
CHECK = 'grep -q tea "/opt/dependencies/wanted.json" && grep -q "boil" src/kettle.js\n'


@needs("bubblewrap")
def test_a_dependency_that_the_change_adds_is_installed_for_its_task(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "kettle")
    repository.commit(
        {"package.json": PACKAGE % "", "src/kettle.js": "exports.fill = () => 1;\n", "tests/run.sh": "true\n"}
    )
    repository.write(
        {
            "package.json": PACKAGE % '"tea": "1"',
            "src/kettle.js": "exports.fill = () => 1;\nexports.boil = () => require('tea');\n",
            "tests/run.sh": CHECK,
        }
    )
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message=Add boil\n\n`boil()` of `src/kettle.js` makes tea.")

    mined = mine_suite(
        MineRequest(
            repository=repository.folder,
            folder=tmp_path / "mined",
            setup="cp package.json /opt/dependencies/wanted.json",
            test="sh tests/run.sh",
        )
    )

    (result,) = mined.results.values()
    assert result.is_proven, result


@needs("bubblewrap")
def test_a_dependency_that_the_change_gives_up_is_there_for_its_base(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "kettle")
    repository.commit(
        {
            "package.json": PACKAGE % '"tea": "1"',
            "src/kettle.js": "exports.fill = () => require('tea');\n",
            "tests/run.sh": 'grep -q tea "/opt/dependencies/wanted.json"\n',
        }
    )
    repository.write(
        {
            "package.json": PACKAGE % "",
            "src/kettle.js": "exports.fill = () => 1;\nexports.boil = () => 2;\n",
            "tests/run.sh": 'grep -q "boil" src/kettle.js\n',
        }
    )
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message=Add boil\n\n`boil()` of `src/kettle.js` needs no tea.")

    mined = mine_suite(
        MineRequest(
            repository=repository.folder,
            folder=tmp_path / "mined",
            setup="cp package.json /opt/dependencies/wanted.json",
            test="sh tests/run.sh",
        )
    )

    (result,) = mined.results.values()
    assert result.is_proven, result


@needs("bubblewrap")
def test_a_folder_that_another_process_mines_into_is_left_alone(tmp_path: Path) -> None:
    """The other process may be writing the last line, which is a half one until it has ended."""
    history, folder = make_tally_history(tmp_path / "tally", features=1), tmp_path / "mined"
    folder.mkdir()
    (folder / JOURNAL_FILE).write_bytes(b'{"half a li')
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is mining"):
            mine_suite(MineRequest(repository=history, folder=folder))
    finally:
        os.close(lock)
    assert (folder / JOURNAL_FILE).read_bytes() == b'{"half a li'


@needs("bubblewrap")
@pytest.mark.parametrize("was_there", [True, False])
def test_a_folder_without_any_result_is_left_as_it_was(tmp_path: Path, was_there: bool) -> None:
    history, folder = make_tally_history(tmp_path / "tally", features=1), tmp_path / "mined"
    if was_there:
        folder.mkdir()
    stopped = StopSignals()
    stopped.drain.set()

    mine_suite(MineRequest(repository=history, folder=folder), signals=stopped)

    assert folder.exists() is was_there
    assert not was_there or list(folder.iterdir()) == []


@needs("bubblewrap")
def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """A process is killed while it mines, which leaves its folder and the mounts in it."""
    history = make_tally_history(tmp_path / "tally", features=2)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "outweigh", "init", str(tmp_path / "mined"), "--from-git", str(history)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list(temporary.glob("outweigh-mining-*/proof-*/tries/*")) and process.poll() is None:
            sleep(0.01)
        process.kill()
    assert list(temporary.glob("outweigh-mining-*"))

    done = subprocess.run(command, env=environment, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert overlay_mounts_below(temporary) == []
    assert list(temporary.iterdir()) == []


@needs("bubblewrap")
def test_a_program_that_all_installations_need_and_that_is_missing_ends_it_at_once(tmp_path: Path) -> None:
    """The Python that started this one has no uv beside it, and neither has the path of these commands."""
    python = Path(sys._base_executable)  # type: ignore[attr-defined]
    if python.with_name("uv").exists():
        pytest.skip("there is a uv beside the system's Python")
    repository = Repository(tmp_path / "kettle")
    repository.commit({"requirements.txt": "tea\n", "kettle.py": "", "tests/test_kettle.py": "import kettle\n"})
    boils = "def test_boils():\n    assert kettle.boils\n"
    repository.commit({"kettle.py": "boils = True\n", "tests/test_kettle.py": f"import kettle\n\n\n{boils}"})
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "bwrap", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    found = [path for path in sys.path if path]
    done = subprocess.run(
        [python, "-m", "outweigh", "init", "mined", "--from-git", repository.folder],
        env={"PATH": str(programs), "PYTHONPATH": ":".join(found), "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "uv is not installed, which installs Python packages; run `pip install uv`." in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "mined").exists()


@pytest.mark.parametrize(
    ("older", "words"), [(80_000, "of. 80,000 older commits were not looked at. Look"), (0, "of. Look at")]
)
def test_a_long_history_without_candidates_says_what_was_not_looked_at(tmp_path: Path, older: int, words: str) -> None:
    scan = HistoryScan(candidates=(), rejections=(), commits=20_000, not_looked_at=older)

    with pytest.raises(UsageError) as raised:
        refuse_without_candidates(MineRequest(repository=tmp_path, folder=tmp_path / "mined"), scan)

    assert words in str(raised.value)
