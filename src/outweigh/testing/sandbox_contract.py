"""The contract of sandboxes and their ports.

Subclass it, return your provider and a folder, and pytest runs the tests.

Commands in the tests need nothing but a POSIX shell, `setsid`, and for ports `bash` or `nc`.
"""

from dataclasses import replace

from outweigh.ports.sandboxes import CommandEnding, Mount, Sandbox, SandboxError
from outweigh.testing.sandbox_fixtures import (
    COMMAND_TIMEOUT_SECONDS,
    DAEMON_SCRIPT,
    SHORT_TIMEOUT_SECONDS,
    WAIT_FOR_DAEMON,
    is_unchanging,
    run_shell,
)
from outweigh.testing.sandbox_port_contract import SandboxPortContract

# Variables that a sandbox or its shell may add to the environment.
ADDED_VARIABLES = frozenset(
    {"HOME", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "container", "TERM", "OUTWEIGH_SANDBOX"}
)
_FLOOD_MEBIBYTES = 160
_STREAMED_BYTES = 20 * 2**20


class SandboxContract(SandboxPortContract):
    """Claims about a sandbox provider."""

    def test_runs_a_command_in_the_workspace(self) -> None:
        """Output, working folder and files are those of the workspace."""
        with self.opened() as sandbox:
            done = run_shell(sandbox, "pwd; echo made >file; echo trouble >&2")

            assert (done.ending, done.exit_code) == (CommandEnding.EXITED, 0)
            assert done.stdout.decode().strip() == sandbox.workspace
            assert done.stderr == b"trouble\n"
            assert (sandbox.host_workspace / "file").read_bytes() == b"made\n"

    def test_gives_back_the_exit_code(self) -> None:
        """Also for a signal, a missing command, and a file that is not executable."""
        with self.opened() as sandbox:
            sandbox.write("plain", b"no program")
            missing = sandbox.exec(["no-such-command"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)
            closed = sandbox.exec(["./plain"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)

            assert [run_shell(sandbox, script).exit_code for script in ("exit 7", "kill -9 $$")] == [7, 137]
            assert (missing.exit_code, closed.exit_code) == (127, 126)

    def test_feeds_the_standard_input(self) -> None:
        """Input larger than a pipe buffer arrives whole; without input, reading ends at once."""
        with self.opened() as sandbox:
            fed = sandbox.exec(
                ["wc", "-c"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS, stdin=b"x" * 300_000
            )
            unread = sandbox.exec(
                ["true"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS, stdin=b"x" * 300_000
            )
            unfed = sandbox.exec(["cat"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)

            assert fed.stdout.split() == [b"300000"]
            assert (unread.exit_code, unfed.exit_code, unfed.stdout) == (0, 0, b"")

    def test_the_environment_is_what_was_given(self) -> None:
        """No variable of the engine reaches the command, and values arrive byte for byte."""
        with self.opened() as sandbox:
            done = run_shell(sandbox, 'env | cut -d= -f1; printf %s "$GIVEN" >value', GIVEN="a b\n$c'\"é", LINE="1")

            seen = set(done.stdout.decode().split()) - {"$c'\"é"}
            assert {"GIVEN", "LINE", "HOME", "PATH"} <= seen
            assert seen - {"GIVEN", "LINE"} <= ADDED_VARIABLES
            assert sandbox.read("value", 100) == "a b\n$c'\"é".encode()

    def test_home_is_private_writable_and_kept(self) -> None:
        """What one command writes to its home, the next one finds."""
        with self.opened() as sandbox:
            run_shell(sandbox, 'echo kept >"$HOME/note"')

            assert run_shell(sandbox, f'test "$HOME" = {sandbox.home} && cat "$HOME/note"').stdout == b"kept\n"
            assert (sandbox.host_home / "note").read_bytes() == b"kept\n"

    def test_a_mounted_folder_is_read_only_unless_it_is_writable(self) -> None:
        """Both are outside the workspace; without isolation only the writable one is as it was requested."""
        given, kept = (self.folder() / name for name in ("given", "kept"))
        for place in (given, kept):
            place.mkdir(parents=True)
        (given / "note").write_text("given\n")
        given_mount, kept_mount = (
            Mount(source=given, target="/given"),
            Mount(source=kept, target="/a/kept", writable=True),
        )
        with self.provider().open(replace(self.request(), mounts=(given_mount, kept_mount))) as sandbox:
            source, target = sandbox.mounted_at(given_mount), sandbox.mounted_at(kept_mount)
            copied = run_shell(sandbox, f"cp '{source}/note' '{target}/note'")
            planted = run_shell(sandbox, f"echo planted >'{source}/note' || echo planted >'{source}/more'")

        assert (copied.exit_code, (kept / "note").read_text()) == (0, "given\n"), copied.stderr
        if self.is_isolated():
            assert planted.exit_code != 0
            assert [path.read_text() for path in given.iterdir()] == ["given\n"]

    def test_hidden_paths_of_a_mounted_folder_are_empty(self) -> None:
        """A folder and a file, also by a link; everything beside them is there. Without isolation nothing is hidden."""
        given = self.folder() / "given"
        (given / "later").mkdir(parents=True)
        for name in ("later/code", "file", "beside"):
            (given / name).write_text("shown\n")
        (given / "link").symlink_to("later")
        mount = Mount(source=given, target="/given", hidden=("link", "file", "absent", "../other"))
        with self.provider().open(replace(self.request(), mounts=(mount,))) as sandbox:
            root = sandbox.mounted_at(mount)
            done = run_shell(sandbox, f"cd '{root}' && cat beside file; ls later link/; echo x >later/code")

        if self.is_isolated():
            assert done.stdout.decode().split() == ["shown", "later:", "link/:"]
            assert (given / "later" / "code").read_text() == "shown\n"

    def test_a_timeout_ends_the_whole_tree(self) -> None:
        """Also a process that left the session, and one that ignores SIGTERM."""
        with self.opened() as sandbox:
            script = f"trap '' TERM; {DAEMON_SCRIPT} {WAIT_FOR_DAEMON} echo begun; while :; do sleep 0.1; done"
            done = run_shell(sandbox, script, SHORT_TIMEOUT_SECONDS)

            assert (done.ending, done.exit_code, done.stdout) == (CommandEnding.TIMED_OUT, None, b"begun\n")
            assert is_unchanging(sandbox.host_workspace / "beat")

    def test_asks_before_it_kills(self) -> None:
        """A command has a moment to save its work."""
        with self.opened() as sandbox:
            run_shell(
                sandbox, "trap 'echo last words >note; exit' TERM; while :; do sleep 0.05; done", SHORT_TIMEOUT_SECONDS
            )

            assert sandbox.read("note", 100) == b"last words\n"

    def test_cancelling_ends_a_command_that_would_never_end(self) -> None:
        """And no further command is started."""
        request = self.request()
        with self.provider().open(request) as sandbox:
            done = sandbox.exec(
                ["sh", "-c", "trap '' TERM; echo begun; while :; do sleep 0.1; done"],
                environment={},
                timeout_seconds=COMMAND_TIMEOUT_SECONDS,
                on_output=lambda _: request.cancel.set(),
            )

            assert done.ending is CommandEnding.CANCELLED
            assert run_shell(sandbox, "echo started").ending is CommandEnding.CANCELLED

    def test_a_flood_of_output_neither_blocks_nor_is_kept(self) -> None:
        """The beginning is kept, the rest is dropped, and the command runs to its end."""
        with self.opened() as sandbox:
            block = f"head -c {_FLOOD_MEBIBYTES * 2**20} /dev/zero"
            done = run_shell(sandbox, f"{block}; {block} >&2; exit 3")

            assert (done.exit_code, done.truncated) == (3, True)
            assert 0 < len(done.stdout) <= 2**26
            assert 0 < len(done.stderr) <= 2**26

    def test_a_listener_receives_all_output_while_the_command_runs(self) -> None:
        """The command waits for a reply to its output; a listener also receives what is not kept."""
        heard: list[bytes] = []
        with self.opened() as sandbox:

            def on_output(chunk: bytes) -> None:
                heard.append(chunk)
                sandbox.write("received", b"")

            script = (
                f"echo begun; until [ -e received ]; do sleep 0.02; done; head -c {_STREAMED_BYTES} /dev/zero; echo end"
            )
            done = sandbox.exec(
                ["sh", "-c", script], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS, on_output=on_output
            )

        assert (done.ending, done.truncated) == (CommandEnding.EXITED, True)
        assert b"".join(heard) == b"begun\n" + bytes(_STREAMED_BYTES) + b"end\n"

    def test_a_listener_that_fails_leaves_nothing_running(self) -> None:
        """Its exception is raised, and the sandbox can be used again."""
        with self.opened() as sandbox:

            def on_output(chunk: bytes) -> None:
                raise LookupError(chunk)

            fault: LookupError | None = None
            try:
                script = f"{DAEMON_SCRIPT} {WAIT_FOR_DAEMON} echo begun; sleep 600"
                sandbox.exec(
                    ["sh", "-c", script], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS, on_output=on_output
                )
            except LookupError as raised:
                fault = raised

            assert fault is not None
            assert is_unchanging(sandbox.host_workspace / "beat")
            assert run_shell(sandbox, "echo again").stdout == b"again\n"

    def test_binary_output_arrives_byte_for_byte(self) -> None:
        """Nothing is decoded on the way."""
        garbage = bytes(range(256)) * 4
        with self.opened() as sandbox:
            sandbox.write("garbage", garbage)
            done = sandbox.exec(["cat", "garbage"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)

            assert (done.stdout, done.truncated) == (garbage, False)

    def test_nothing_is_alive_after_leaving(self) -> None:
        """A daemon ends with the sandbox at the latest."""
        with self.opened() as sandbox:
            run_shell(sandbox, f"{DAEMON_SCRIPT} {WAIT_FOR_DAEMON}")
            beat = sandbox.host_workspace / "beat"

        assert beat.stat().st_size > 0
        assert is_unchanging(beat)

    def test_reads_and_writes_files(self) -> None:
        """Missing folders are made, missing files read as None, and limits are respected."""
        with self.opened() as sandbox:
            sandbox.write("deep/er/script", b"#!/bin/sh\necho ran\n", executable=True)
            ran = sandbox.exec(["deep/er/script"], environment={}, timeout_seconds=COMMAND_TIMEOUT_SECONDS)

            assert ran.stdout == b"ran\n"
            assert sandbox.read("deep/er/script", 3) == b"#!/"
            for path in ("absent", "absent/below", "deep", "deep/er/script/x"):
                assert sandbox.read(path, 9) is None

    def test_a_path_that_leads_out_is_refused(self) -> None:
        """Whether it is absolute, goes upwards, or follows a link that the agent made."""
        outside = self.folder() / "outside"
        outside.mkdir()
        (outside / "secret").write_bytes(b"secret")
        with self.opened() as sandbox:
            run_shell(sandbox, f"ln -s {outside} away; ln -s {outside}/secret file; ln -s ../.. up; ln -s loop loop")

            for path in ("/etc/hostname", "../x", "a/../../x", "away/secret", "file", "up/outside/secret", "loop"):
                assert _refused_or_none(sandbox, path)
            for path in ("/tmp/x", "../x", "away/new", "up/new"):
                assert _write_is_refused(sandbox, path)
            assert [path.name for path in outside.iterdir()] == ["secret"]

    def test_writing_never_goes_through_a_link(self) -> None:
        """The target of the agent's link stays as it is."""
        outside = self.folder() / "victim"
        outside.write_bytes(b"untouched")
        with self.opened() as sandbox:
            run_shell(sandbox, f"ln -s {outside} tests.sh")
            if not _write_is_refused(sandbox, "tests.sh"):
                assert sandbox.read("tests.sh", 100) == b"new"

        assert outside.read_bytes() == b"untouched"

    def test_a_planted_pipe_blocks_nobody(self) -> None:
        """Reading anything but a regular file is None at once; writing replaces it."""
        with self.opened() as sandbox:
            run_shell(sandbox, "mkfifo pipe")

            assert sandbox.read("pipe", 10) is None
            sandbox.write("pipe", b"file")
            assert sandbox.read("pipe", 10) == b"file"

    def test_sweeping_finds_nothing_when_nothing_was_left(self) -> None:
        """A sandbox that was closed leaves nothing to clean up."""
        request = replace(self.request(), label="swept:trial")
        with self.provider().open(request) as sandbox:
            run_shell(sandbox, DAEMON_SCRIPT)

        assert self.provider().sweep("swept:") == []


def _refused_or_none(sandbox: Sandbox, path: str) -> bool:
    """Whether reading a path is refused or None; in a sandbox with its own file system a link may lead to nothing."""
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
