"""A disk that loses everything that was not synced, computed from what a process asked of a real one.

The process runs with lossy_disk.c preloaded, which logs its requests in order. From the log follows what the strictest
file system that POSIX allows would hold after a power cut: the content of a file as it was when the file was last
synced, under the names that its folder had when the folder was last synced.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("lossy_disk.c")


def compiler_missing() -> str | None:
    """Why the shim cannot be built here; None where it can."""
    if not sys.platform.startswith("linux"):
        return "writes are intercepted by preloading a library, which is done on Linux only"
    return None if shutil.which("cc") else "a C compiler is not installed, so that writes cannot be intercepted"


def build_shim(folder: Path) -> Path:
    """Compile the library that is preloaded."""
    library = folder / "lossy_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


@dataclass(slots=True)
class Content:
    """A file as the process sees it, and as it was when it was last synced."""

    now: bytes = b""
    synced: bytes = b""


@dataclass(slots=True)
class Disk:
    """Files by number, and names of files and folders, each as it is now and as it is synced."""

    files: dict[str, Content] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    synced_names: dict[str, str] = field(default_factory=dict)

    def apply(self, request: str) -> None:
        """One line of the log."""
        kind, _, rest = request.partition(" ")
        match kind:
            case "entry":
                number, name = rest.split(" ", 1)
                self.files[number] = Content()
                self.names[name] = number
            case "folder":
                self.names[rest] = "folder"
            case "write":
                number, offset, content = rest.split(" ")
                self._write(self._file(number), int(offset), bytes.fromhex(content))
            case "cut":
                number, size = rest.split(" ")
                file = self._file(number)
                file.now = file.now[: int(size)]
            case "sync":
                number, name = rest.split(" ", 1)
                self._sync(number, name)
            case "move":
                source, target = rest.split("\t")
                self.names[target] = self.names.pop(source)
            case "remove":
                self.names.pop(rest)

    def left_behind(self, root: Path, target: Path) -> Path:
        """What a power cut leaves, laid out in a folder of its own."""
        target.mkdir()
        for name, number in sorted(self.synced_names.items()):
            path = target / Path(name).relative_to(root)
            if not path.parent.is_dir():
                continue  # the folder itself is lost, and what it holds with it
            if number == "folder":
                path.mkdir()
            else:
                path.write_bytes(self.files[number].synced)
        return target

    def _file(self, number: str) -> Content:
        return self.files.setdefault(number, Content())

    def _write(self, file: Content, offset: int, content: bytes) -> None:
        before = file.now[:offset].ljust(offset, b"\0")
        file.now = before + content + file.now[offset + len(content) :]

    def _sync(self, number: str, name: str) -> None:
        if number in self.files and self.names.get(name) == number:
            self.files[number].synced = self.files[number].now
            return
        inside = {entry: target for entry, target in self.names.items() if str(Path(entry).parent) == name}
        gone = [entry for entry in self.synced_names if str(Path(entry).parent) == name]
        for entry in gone:
            del self.synced_names[entry]
        self.synced_names |= inside


@dataclass(frozen=True, slots=True)
class Traced:
    """What a program printed and the disk after each of its acknowledgements."""

    printed: str
    root: Path
    log: Sequence[str]

    def power_cuts(self, folder: Path) -> Iterator[tuple[Sequence[str], Path]]:
        """For a power cut after each acknowledgement: everything acknowledged by then, and the folder that is left."""
        disk = Disk()
        acknowledged: list[str] = []
        for request in self.log:
            if not request.startswith("acknowledged "):
                disk.apply(request)
                continue
            acknowledged.append(request.removeprefix("acknowledged "))
            yield tuple(acknowledged), disk.left_behind(self.root, folder / f"cut-{len(acknowledged)}")


def run_traced(shim: Path, program: str, folder: Path, fault: str | None = None) -> Traced:
    """Run Python code on the folder `ROOT`; its function `acknowledge` says what must not be lost from then on."""
    root, log = folder / "root", folder / "log"
    root.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_PRELOAD": str(shim),
        "LOSSY_ROOT": f"{root}",
        "LOSSY_LOG": str(log),
    }
    if fault is not None:
        environment["LOSSY_FAULT"] = fault
    done = subprocess.run(
        [sys.executable, "-c", _PREAMBLE + program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Traced(done.stdout, root, log.read_text(encoding="utf-8").splitlines())


_PREAMBLE = """
import os
from pathlib import Path
ROOT = Path(os.environ["LOSSY_ROOT"])
LOG = os.open(os.environ["LOSSY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def acknowledge(what):
    os.write(LOG, f"acknowledged {what}\\n".encode())
"""
