"""The contract of suite readers. Subclass it, write a small example, and pytest runs the tests."""

import random
from abc import ABC, abstractmethod
from pathlib import Path

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError
from outweigh.interop.suite_writer import suite_files
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.verdict.policy import check_policy

SUITE_OVERRIDES = SuiteOverrides(agent="claude-code", model=None)
_WRONG_VALUES = (
    b"null",
    b"-1",
    b'"x"',
    b'""',
    b"[]",
    b"{}",
    b"1e400",
    b"true",
    b"\xff",
    b"NaN",
    b'"../x"',
    b'"\\ud800"',
)


def write_and_load(draft: SuiteDraft, folder: Path) -> LoadedSuite:
    """Write a draft below a folder and load it as any suite is loaded."""
    for path, file in suite_files(draft).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        if file.executable:
            place.chmod(0o755)
    return load_suite(folder, check_policy=check_policy)


class SuiteReaderContract(ABC):
    """Claims about a suite reader: from any source comes a suite that can be loaded, or an error for the user."""

    mutations = 60

    @abstractmethod
    def reader(self) -> SuiteReader:
        """The reader under test."""

    @abstractmethod
    def example(self, folder: Path) -> Path:
        """Write a small valid source below a folder and return the path that a user would name."""

    def overrides(self) -> SuiteOverrides:
        """The options that a user gives with the example."""
        return SUITE_OVERRIDES

    def test_recognises_its_own(self, tmp_path: Path) -> None:
        """A user need not name the format."""
        assert self.reader().recognises(self.example(tmp_path))

    def test_recognises_nothing_strange(self, tmp_path: Path) -> None:
        """Neither a missing path, nor an empty file, nor noise."""
        (tmp_path / "empty").mkdir()
        strange = {"none": b"", "noise": bytes(range(256)), "a.json": b"{}", "b.json": b"[]", "c.yaml": b"a: *b\n"}
        for name, content in strange.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / "loop").symlink_to(tmp_path / "loop")

        for name in ("empty", *strange, "loop", "missing"):
            assert not self.reader().recognises(tmp_path / name), name

    def test_says_what_it_looks_for(self) -> None:
        """For the list that a user sees whose source was not recognised."""
        assert self.reader().name
        assert self.reader().looks_for

    def test_gives_a_suite_that_can_be_loaded(self, tmp_path: Path) -> None:
        """The strict suite loader accepts it, with every task of the draft."""
        draft = self.reader().read(self.example(tmp_path / "source"), self.overrides())

        suite = write_and_load(draft, tmp_path / "suite")

        assert [task.id for task in suite.tasks] == sorted(task.name for task in draft.tasks)
        assert suite.spec.baseline == draft.spec.baseline

    def test_reads_the_same_twice(self, tmp_path: Path) -> None:
        """So that a suite can be converted again."""
        path = self.example(tmp_path)

        assert self.reader().read(path, self.overrides()) == self.reader().read(path, self.overrides())

    def test_never_breaks_on_what_is_broken(self, tmp_path: Path) -> None:
        """A damaged file is a UsageError, or the suite can be written and loaded all the same."""
        path = self.example(tmp_path / "source")
        files = [each for each in sorted(path.rglob("*")) if each.is_file()] if path.is_dir() else [path]
        rng = random.Random(0)
        for number in range(self.mutations):
            file = rng.choice(files)
            whole = file.read_bytes()
            file.write_bytes(_corrupt_file(whole, rng))
            self.reader().recognises(path)
            try:
                draft = self.reader().read(path, self.overrides())
                suite_files(draft)
            except UsageError:
                continue
            finally:
                file.write_bytes(whole)
            # What the reader accepts, the loader must accept, too.
            assert write_and_load(draft, tmp_path / f"suite-{number}").tasks


def _corrupt_file(content: bytes, rng: random.Random) -> bytes:
    """The file truncated, with a wrong value, with a part missing, or with bytes that are not text."""
    place = rng.randrange(len(content) + 1)
    match rng.randrange(4):
        case 0:
            return content[:place]
        case 1:
            start = content.find(b":", place)
            ends = (found for mark in b",}\n" if (found := content.find(mark, start + 1)) > 0)
            return content[: start + 1] + b" " + rng.choice(_WRONG_VALUES) + content[min(ends, default=len(content)) :]
        case 2:
            return content[:place] + rng.choice(_WRONG_VALUES) + content[place + rng.randrange(8) :]
        case _:
            return content[:place] + content[place + rng.randrange(1, 40) :]
