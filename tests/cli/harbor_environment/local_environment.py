"""An environment for Harbor on this machine, and agents for it, which Harbor's own Python imports by path.

It is a folder seen through bubblewrap, made by the few lines of a Dockerfile that the tests' tasks have. `/flags` in it
is a folder of the test.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent  # type: ignore[import-not-found]
from harbor.environments.base import BaseEnvironment, ExecResult  # type: ignore[import-not-found]
from harbor.environments.capabilities import EnvironmentCapabilities  # type: ignore[import-not-found]

FOLDERS = ("app", "logs/agent", "logs/verifier", "logs/artifacts", "tests", "solution", "home")
SYSTEM = (
    *("--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"),
    *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
    *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
)


class LocalEnvironment(BaseEnvironment):  # type: ignore[misc]
    """What a container would be. A file `break` among the flags breaks the next start, once."""

    def __init__(self, *given: Any, flags: str, **named: Any) -> None:
        super().__init__(*given, **named)
        self._flags = Path(flags)
        self._root = Path(tempfile.mkdtemp(prefix="environment-"))
        self._workdir = "/"

    @staticmethod
    def type() -> str:
        return "local-environment"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities()

    def _validate_definition(self) -> None:
        assert (self.environment_dir / "Dockerfile").is_file()

    async def start(self, force_build: bool) -> None:
        if (self._flags / "break").exists():
            (self._flags / "break").unlink()
            raise RuntimeError("the cloud is having a bad day")
        for name in FOLDERS:
            (self._root / name).mkdir(parents=True)
        for line in (self.environment_dir / "Dockerfile").read_text().splitlines():
            await self._build(*line.split(" ", 1))

    async def _build(self, word: str, rest: str) -> None:
        match word:
            case "WORKDIR":
                self._workdir = rest
            case "COPY":
                source, target = rest.split()
                place = self._inside(str(Path(self._workdir, target)))
                shutil.copytree(self.environment_dir / source, place, dirs_exist_ok=True)
            case "RUN":
                done = await self.exec(rest)
                assert done.return_code == 0, done

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._inside(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._inside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        shown = [word for place in self._root.iterdir() for word in ("--bind", str(place), f"/{place.name}")]
        known = {"PATH": "/usr/bin:/bin", "HOME": "/home", **(self._merge_env(env) or {})}
        given = [word for name, value in known.items() for word in ("--setenv", name, value)]
        process = await asyncio.create_subprocess_exec(
            *("bwrap", "--unshare-pid", "--die-with-parent", *SYSTEM, *shown),
            *("--bind", str(self._flags), "/flags", "--clearenv", *given, "--chdir", cwd or self._workdir),
            *("sh", "-c", command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except BaseException:
            # With the process that bubblewrap has only just begun, which would wait for it for ever, and we for that.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)

    def _inside(self, path: str) -> Path:
        return self._root / str(path).lstrip("/")


class TellingAgent(BaseAgent):  # type: ignore[misc]
    """Solves the task, shows the test what it was given, and says what it used."""

    work = "echo 42 >answer.txt"

    @staticmethod
    def name() -> str:
        return "telling"

    def version(self) -> str:
        return "7.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        await environment.exec('printf %s "$ASKED" >/flags/asked.txt', env={"ASKED": instruction})
        await environment.exec("find . -type f | sort >/flags/files.txt; env >/flags/variables.txt")
        await environment.exec(self.work)
        context.n_input_tokens, context.n_cache_tokens, context.n_output_tokens = 1_000, 200, 50
        context.cost_usd = 0.25


class ReadingAgent(TellingAgent):
    """Solves the task when its instructions say how."""

    work = "grep -q 42 CLAUDE.md && echo 42 >answer.txt"
