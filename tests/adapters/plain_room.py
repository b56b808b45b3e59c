"""A room without walls: just enough of a sandbox to try agents in, for any machine."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from outweigh.ports import Completed, Ending, SandboxError


class PlainRoom:
    """Runs commands as ordinary processes in a folder."""

    def __init__(self, folder: Path) -> None:
        self.host_workspace = folder
        self.workspace = str(folder)
        self.environments: list[Mapping[str, str]] = []

    def exec(
        self, command: Sequence[str], *, environment: Mapping[str, str], timeout_seconds: float, stdin: bytes = b""
    ) -> Completed:
        self.environments.append(environment)
        began = monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=self.host_workspace,
                env=dict(environment),
                input=stdin,
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self._completed(Ending.TIMED_OUT, None, b"", b"", began)
        except FileNotFoundError as fault:
            return self._completed(Ending.EXITED, 127, b"", str(fault).encode(), began)
        return self._completed(Ending.EXITED, done.returncode, done.stdout, done.stderr, began)

    def read(self, path: str, limit: int) -> bytes | None:
        file = self._inside(path)
        return file.read_bytes()[:limit] if file.is_file() else None

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        file = self._inside(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if executable else 0o644)

    def _inside(self, path: str) -> Path:
        file = (self.host_workspace / path).resolve()
        if not file.is_relative_to(self.host_workspace.resolve()):
            raise SandboxError(f"{path!r} leads out of the workspace")
        return file

    def _completed(
        self, ending: Ending, exit_code: int | None, stdout: bytes, stderr: bytes, began: float
    ) -> Completed:
        return Completed(
            ending=ending,
            exit_code=exit_code,
            stdout=stdout,
            stderr=stderr,
            truncated=False,
            duration_seconds=monotonic() - began,
        )
