"""GitHub's own program `gh`, which knows whom it is signed in as."""

from shutil import which
from subprocess import TimeoutExpired

from outweigh.adapters.forges.rest import TIMEOUT_SECONDS, Reply
from outweigh.apart import run_apart
from outweigh.ports.forges import ForgeError

PROGRAM = "gh"
_SHOWN = 300


def gh_installed() -> bool:
    """Whether there is such a program here."""
    return which(PROGRAM) is not None


class GhTransport:
    """Requests by `gh api`; the token never passes through us."""

    def __init__(self, host: str) -> None:
        self._host = host

    def send(self, method: str, path: str, body: bytes | None) -> Reply:
        """One request; `gh` prints the answer with its headers, also that of a refusal."""
        command = [PROGRAM, "api", "--include", "--hostname", self._host, "--method", method, path.lstrip("/")]
        try:
            done = run_apart(
                [*command, *(["--input", "-"] if body is not None else [])],
                stdin=body or b"",
                timeout_seconds=TIMEOUT_SECONDS,
            )
        except (OSError, TimeoutExpired) as fault:
            raise ForgeError(f"{PROGRAM} did not do its work: {fault}.") from fault
        reply = _reply(done.stdout)
        if reply is None:
            said = done.stderr.decode(errors="replace").strip()[:_SHOWN]
            raise ForgeError(f"{PROGRAM} has no answer: {said or f'exit code {done.returncode}'}. Is it signed in?")
        return reply


def _reply(printed: bytes) -> Reply | None:
    head, _, body = printed.replace(b"\r\n", b"\n").partition(b"\n\n")
    first, *lines = head.decode(errors="replace").split("\n")
    words = first.split()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return None
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Reply(status=int(words[1]), headers=headers, body=body)
