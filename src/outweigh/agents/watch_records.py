"""Reads the records of tool servers while the agent runs, so that nothing it does later can take them away.

A run whose server never answered is excluded, so an agent that fails must not be able to delete the proof that it did.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from outweigh.agents.home_files import collect_artifacts
from outweigh.agents.server_start import RECORD_SUFFIX, RECORDS_ARTIFACT, RECORDS_FOLDER, recorded_servers
from outweigh.model.arm import Arm
from outweigh.ports.sandboxes import Sandbox

_LOOK_SECONDS = 0.1
_SIZE_LIMIT = 2**20


class RecordWatch:
    """The lines that were seen in the records of a trial's home. The agent can write anything there."""

    def __init__(self, home: Path, arm: Arm) -> None:
        self._folder, self._is_needed = home / RECORDS_FOLDER, bool(recorded_servers(arm))
        self._lines: dict[bytes, None] = {}
        self._size = 0
        self._ended = Event()

    @property
    def seen(self) -> bytes:
        """All lines so far, each once."""
        return b"".join(line + b"\n" for line in self._lines)

    def artifact(self, sandbox: Sandbox) -> dict[str, bytes]:
        """All that was recorded, as an artifact; read inside the sandbox, too, where every file can be read."""
        if not self._is_needed:
            return {}
        pattern = f"{RECORDS_FOLDER}/*{RECORD_SUFFIX}"
        self.add(collect_artifacts(sandbox, {RECORDS_ARTIFACT: pattern}).get(RECORDS_ARTIFACT, b""))
        return {RECORDS_ARTIFACT: self.seen}

    def add(self, content: bytes) -> None:
        """Add what was read; beyond a limit nothing is, and a handshake is among the first lines."""
        for line in content.splitlines():
            if line not in self._lines and self._size + len(line) <= _SIZE_LIMIT:
                self._lines[line] = None
                self._size += len(line)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again until the context ends, where there is anything to see."""
        if not self._is_needed:
            yield
            return
        watcher = Thread(target=self._watch, name="server-records")
        watcher.start()
        try:
            yield
        finally:
            self._ended.set()
            watcher.join()

    def _watch(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._ended.wait(_LOOK_SECONDS)
            with suppress(OSError):
                self._look()

    def _look(self) -> None:
        # Links are not followed: the agent could have put one in place of the folder or of a file.
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(RECORD_SUFFIX):
                        with suppress(OSError):
                            self._read(folder, entry.name)
        finally:
            os.close(folder)

    def _read(self, folder: int, name: str) -> None:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                whole, _, _ = os.read(file, _SIZE_LIMIT).rpartition(b"\n")
                self.add(whole)
        finally:
            os.close(file)
