"""Harbor's command-line program: find it, check a job with it, start and stop jobs."""

import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.model.redact import redact_secrets
from outweigh.process import run_process, spawn

CHECK_SECONDS = 600.0
ALWAYS_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "HARBOR_TELEMETRY")
_PLAIN_OUTPUT = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}
_SHOWN_LINES = 6
_SHOWN_LENGTH = 800
# The shell writes its process id, which `exec` keeps.
_START_SCRIPT = 'echo $$ >"$1" && exec >"$2" 2>&1 && shift 2 && exec "$@"'


def find_harbor(named: str, folder: Path) -> str:
    """The program that the suite names: a path relative to the suite's folder, or a name on PATH."""
    found = shutil.which(str(folder / named) if "/" in named else named)
    if found is None:
        raise UsageError(
            f"there is no program {named!r}. Install Harbor with `uv tool install harbor` or `pip install harbor` "
            "(Python 3.12), or set `program` under [harbor]."
        )
    return str(Path(found).absolute())


def select_environment(names: Sequence[str], host: Mapping[str, str]) -> dict[str, str]:
    """The part of the caller's environment that Harbor gets: the usual variables, and the named ones."""
    missing = [name for name in names if name not in host]
    if missing:
        raise UsageError(f"the suite names {missing[0]}, which is not in the environment; export it first.")
    return {name: host[name] for name in (*ALWAYS_PASSED_VARIABLES, *names) if name in host} | _PLAIN_OUTPUT


class HarborProgram:
    """Starts jobs, each in a session of its own, with a minimal environment and no input."""

    def __init__(self, program: str, *, assume_yes: bool, secrets: Sequence[str] = ()) -> None:
        self.secrets = secrets
        self._program = program
        self._yes_option = ("--yes",) if assume_yes else ()

    def version(self, environment: Mapping[str, str]) -> str:
        """The version that the program prints."""
        done = self._ask(["--version"], environment)
        if done.returncode:
            raise UsageError(f"{self._program} does not work: {log_tail(done.stdout + done.stderr, self.secrets)}")
        return log_tail(done.stdout, self.secrets)

    def check_job(self, job: Path, environment: Mapping[str, str]) -> None:
        """Have Harbor check a job without running it: agents, environment, tasks and keys. UsageError if it refuses."""
        done = self._ask(["run", "-c", str(job), "--dry-run"], environment)
        if done.returncode:
            raise UsageError(f"Harbor refuses {job}: {log_tail(done.stdout + done.stderr, self.secrets)}")

    def start(self, job: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """Start a job. Its process inherits the lock, which the kernel releases however the process ends."""
        lock = os.open(lock_file(job), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return spawn(
                ["sh", "-c", _START_SCRIPT, "sh", str(pid_file(job)), str(log_file(job)), *self._command(job)],
                environment=environment,
                descriptors=(lock,),
            )
        finally:
            os.close(lock)

    def _ask(self, arguments: Sequence[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
        try:
            return run_process([self._program, *arguments], environment=environment, timeout_seconds=CHECK_SECONDS)
        except (OSError, subprocess.SubprocessError) as fault:
            raise UsageError(f"{self._program} cannot be asked: {fault}.") from fault

    def _command(self, job: Path) -> tuple[str, ...]:
        return (self._program, "run", "-c", str(job), "--quiet", *self._yes_option)


def is_job_running(job: Path) -> bool:
    """Whether a process of this job is alive, whoever started it."""
    try:
        with lock_file(job).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def stop_job(job: Path, *, at_once: bool) -> bool:
    """Ask Harbor to end a job and remove its environments, or kill it and all it started at once.

    False if no process was signalled: it has ended, or has just been started and not yet written its process id.
    """
    try:
        process = int(pid_file(job).read_text())
    except (OSError, ValueError):
        return False
    if not is_job_running(job):  # otherwise the process id is still the job's
        return False
    with suppress(ProcessLookupError):
        if at_once:
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)
    return True


def log_tail(output: bytes, secrets: Iterable[str] = ()) -> str:
    """The end of Harbor's output on one line, with secrets redacted, which Harbor knows and may print."""
    clean = redact_secrets(output, secrets).decode(errors="replace")
    lines = [line.strip() for line in clean.splitlines() if line.strip()]
    said = " ".join(lines[-_SHOWN_LINES:])
    return said if len(said) <= _SHOWN_LENGTH else f"… {said[-_SHOWN_LENGTH:]}"


def lock_file(job: Path) -> Path:
    """The file whose lock is held as long as the job's process lives."""
    return job.with_suffix(".lock")


def pid_file(job: Path) -> Path:
    """The file with the process id of the job."""
    return job.with_suffix(".pid")


def log_file(job: Path) -> Path:
    """The file with the output of the job."""
    return job.with_suffix(".log")
