"""What every sandbox must do. Subclass the contract, give it your provider and a folder, and pytest runs the claims.

Commands in the claims need nothing but a POSIX shell, `setsid`, and for doors `bash` or `nc`.
"""

from dataclasses import replace

from outweigh.ports.sandboxes import Ending, Sandbox, SandboxError
from outweigh.testing.door_contract import DoorContract
from outweigh.testing.sandbox_setting import DAEMON, DAEMON_LIVES, PATIENCE_SECONDS, SOON_SECONDS, is_still, shell

# What a sandbox or the shell in it may add to the environment it was given.
ADDED_VARIABLES = frozenset(
    {"HOME", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "container", "TERM", "OUTWEIGH_SANDBOX"}
)
_PRINTED_MEBIBYTES = 160
_HEARD_BYTES = 20 * 2**20


class SandboxContract(DoorContract):
    """Claims about a SandboxProvider."""

    def test_runs_a_command_in_the_workspace(self) -> None:
        """Output, working folder and files are those of the workspace."""
        with self.opened() as sandbox:
            done = shell(sandbox, "pwd; echo made >file; echo trouble >&2")

            assert (done.ending, done.exit_code) == (Ending.EXITED, 0)
            assert done.stdout.decode().strip() == sandbox.workspace
            assert done.stderr == b"trouble\n"
            assert (sandbox.host_workspace / "file").read_bytes() == b"made\n"

    def test_gives_back_the_exit_code(self) -> None:
        """Also that of a signal, of a command that is not there, and of one that may not be run."""
        with self.opened() as sandbox:
            sandbox.write("plain", b"no program")
            missing = sandbox.exec(["no-such-command"], environment={}, timeout_seconds=PATIENCE_SECONDS)
            closed = sandbox.exec(["./plain"], environment={}, timeout_seconds=PATIENCE_SECONDS)

            assert [shell(sandbox, script).exit_code for script in ("exit 7", "kill -9 $$")] == [7, 137]
            assert (missing.exit_code, closed.exit_code) == (127, 126)

    def test_feeds_the_standard_input(self) -> None:
        """More than a pipe holds arrives whole; none given is an empty input, not a wait."""
        with self.opened() as sandbox:
            fed = sandbox.exec(["wc", "-c"], environment={}, timeout_seconds=PATIENCE_SECONDS, stdin=b"x" * 300_000)
            unread = sandbox.exec(["true"], environment={}, timeout_seconds=PATIENCE_SECONDS, stdin=b"x" * 300_000)
            unfed = sandbox.exec(["cat"], environment={}, timeout_seconds=PATIENCE_SECONDS)

            assert fed.stdout.split() == [b"300000"]
            assert (unread.exit_code, unfed.exit_code, unfed.stdout) == (0, 0, b"")

    def test_the_environment_is_what_was_given(self) -> None:
        """Nothing of the engine's own reaches the command, and values arrive byte for byte."""
        with self.opened() as sandbox:
            done = shell(sandbox, 'env | cut -d= -f1; printf %s "$GIVEN" >value', GIVEN="a b\n$c'\"é", LINE="1")

            seen = set(done.stdout.decode().split()) - {"$c'\"é"}
            assert {"GIVEN", "LINE", "HOME", "PATH"} <= seen
            assert seen - {"GIVEN", "LINE"} <= ADDED_VARIABLES
            assert sandbox.read("value", 100) == "a b\n$c'\"é".encode()

    def test_home_is_private_writable_and_kept(self) -> None:
        """What one command leaves at home, the next one finds."""
        with self.opened() as sandbox:
            shell(sandbox, 'echo kept >"$HOME/note"')

            assert shell(sandbox, f'test "$HOME" = {sandbox.home} && cat "$HOME/note"').stdout == b"kept\n"
            assert (sandbox.host_home / "note").read_bytes() == b"kept\n"

    def test_a_timeout_ends_the_whole_tree(self) -> None:
        """Also a process that left the session, and one that ignores being asked."""
        with self.opened() as sandbox:
            script = f"trap '' TERM; {DAEMON} {DAEMON_LIVES} echo begun; while :; do sleep 0.1; done"
            done = shell(sandbox, script, SOON_SECONDS)

            assert (done.ending, done.exit_code, done.stdout) == (Ending.TIMED_OUT, None, b"begun\n")
            assert is_still(sandbox.host_workspace / "beat")

    def test_asks_before_it_kills(self) -> None:
        """A command has a moment to write down what it has."""
        with self.opened() as sandbox:
            shell(sandbox, "trap 'echo last words >note; exit' TERM; while :; do sleep 0.05; done", SOON_SECONDS)

            assert sandbox.read("note", 100) == b"last words\n"

    def test_cancelling_ends_a_command_that_would_never_end(self) -> None:
        """And no further command is started."""
        request = self.request()
        with self.provider().open(request) as sandbox:
            done = sandbox.exec(
                ["sh", "-c", "trap '' TERM; echo begun; while :; do sleep 0.1; done"],
                environment={},
                timeout_seconds=PATIENCE_SECONDS,
                listen=lambda _: request.cancel.set(),
            )

            assert done.ending is Ending.CANCELLED
            assert shell(sandbox, "echo started").ending is Ending.CANCELLED

    def test_a_flood_of_output_neither_blocks_nor_is_kept(self) -> None:
        """The beginning is kept, the rest is dropped, and the command comes to its end."""
        with self.opened() as sandbox:
            block = f"head -c {_PRINTED_MEBIBYTES * 2**20} /dev/zero"
            done = shell(sandbox, f"{block}; {block} >&2; exit 3")

            assert (done.exit_code, done.truncated) == (3, True)
            assert 0 < len(done.stdout) <= 2**26
            assert 0 < len(done.stderr) <= 2**26

    def test_who_listens_hears_all_of_it_while_it_is_said(self) -> None:
        """The command waits for an answer to what it said; of a flood, also what is not kept is heard."""
        heard: list[bytes] = []
        with self.opened() as sandbox:

            def listen(chunk: bytes) -> None:
                heard.append(chunk)
                sandbox.write("heard", b"")

            script = f"echo begun; until [ -e heard ]; do sleep 0.02; done; head -c {_HEARD_BYTES} /dev/zero; echo end"
            done = sandbox.exec(["sh", "-c", script], environment={}, timeout_seconds=PATIENCE_SECONDS, listen=listen)

        assert (done.ending, done.truncated) == (Ending.EXITED, True)
        assert b"".join(heard) == b"begun\n" + bytes(_HEARD_BYTES) + b"end\n"

    def test_a_listener_that_fails_leaves_nothing_running(self) -> None:
        """Its fault is raised, and the sandbox can be used again."""
        with self.opened() as sandbox:

            def listen(chunk: bytes) -> None:
                raise LookupError(chunk)

            fault: LookupError | None = None
            try:
                script = f"{DAEMON} {DAEMON_LIVES} echo begun; sleep 600"
                sandbox.exec(["sh", "-c", script], environment={}, timeout_seconds=PATIENCE_SECONDS, listen=listen)
            except LookupError as raised:
                fault = raised

            assert fault is not None
            assert is_still(sandbox.host_workspace / "beat")
            assert shell(sandbox, "echo again").stdout == b"again\n"

    def test_binary_output_arrives_byte_for_byte(self) -> None:
        """Nothing is decoded on the way."""
        garbage = bytes(range(256)) * 4
        with self.opened() as sandbox:
            sandbox.write("garbage", garbage)
            done = sandbox.exec(["cat", "garbage"], environment={}, timeout_seconds=PATIENCE_SECONDS)

            assert (done.stdout, done.truncated) == (garbage, False)

    def test_nothing_is_alive_after_leaving(self) -> None:
        """A daemon that left session and output behind ends at the latest with the sandbox."""
        with self.opened() as sandbox:
            shell(sandbox, f"{DAEMON} {DAEMON_LIVES}")
            beat = sandbox.host_workspace / "beat"

        assert beat.stat().st_size > 0
        assert is_still(beat)

    def test_reads_and_writes_files(self) -> None:
        """Missing folders are made, missing files are None, and a limit is a limit."""
        with self.opened() as sandbox:
            sandbox.write("deep/er/script", b"#!/bin/sh\necho ran\n", executable=True)
            ran = sandbox.exec(["deep/er/script"], environment={}, timeout_seconds=PATIENCE_SECONDS)

            assert ran.stdout == b"ran\n"
            assert sandbox.read("deep/er/script", 3) == b"#!/"
            for path in ("absent", "absent/below", "deep", "deep/er/script/x"):
                assert sandbox.read(path, 9) is None

    def test_a_path_that_leads_out_is_refused(self) -> None:
        """Absolute, upwards, or through a link that the agent planted."""
        outside = self.folder() / "outside"
        outside.mkdir()
        (outside / "secret").write_bytes(b"secret")
        with self.opened() as sandbox:
            shell(sandbox, f"ln -s {outside} away; ln -s {outside}/secret file; ln -s ../.. up; ln -s loop loop")

            for path in ("/etc/hostname", "../x", "a/../../x", "away/secret", "file", "up/outside/secret", "loop"):
                assert _refused_or_none(sandbox, path)
            for path in ("/tmp/x", "../x", "away/new", "up/new"):
                assert _write_is_refused(sandbox, path)
            assert [path.name for path in outside.iterdir()] == ["secret"]

    def test_writing_never_goes_through_a_link(self) -> None:
        """What the agent linked to stays as it is."""
        outside = self.folder() / "victim"
        outside.write_bytes(b"untouched")
        with self.opened() as sandbox:
            shell(sandbox, f"ln -s {outside} tests.sh")
            if not _write_is_refused(sandbox, "tests.sh"):
                assert sandbox.read("tests.sh", 100) == b"new"

        assert outside.read_bytes() == b"untouched"

    def test_a_planted_pipe_blocks_nobody(self) -> None:
        """Reading what is no plain file is None at once; writing replaces it."""
        with self.opened() as sandbox:
            shell(sandbox, "mkfifo pipe")

            assert sandbox.read("pipe", 10) is None
            sandbox.write("pipe", b"file")
            assert sandbox.read("pipe", 10) == b"file"

    def test_sweeping_finds_nothing_when_nothing_was_left(self) -> None:
        """A sandbox that was left in order leaves no trace."""
        request = replace(self.request(), label="swept:trial")
        with self.provider().open(request) as sandbox:
            shell(sandbox, DAEMON)

        assert self.provider().sweep("swept:") == []


def _refused_or_none(sandbox: Sandbox, path: str) -> bool:
    """Inside a sandbox with its own view, a planted link may simply lead to nothing."""
    try:
        return sandbox.read(path, 100) is None
    except SandboxError:
        return True


def _write_is_refused(sandbox: Sandbox, path: str) -> bool:
    try:
        sandbox.write(path, b"new")
    except SandboxError:
        return True
    return False
