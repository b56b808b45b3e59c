"""What was recorded about a server stays known whatever the agent does to the records afterwards."""

import os
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.agents.programs import a_program, a_room

from outweigh.agents.codex.agent import CodexAgent
from outweigh.agents.server_start import RECORDS_FOLDER
from outweigh.agents.watch_records import RecordWatch
from outweigh.model.arm import Arm, McpServer
from outweigh.testing.agent_contract import an_agent_arm, an_attempt

LISTED = b'{"server": "zoo", "event": "listed", "tools": ["feed"]}'
ARM = an_agent_arm("codex", mcp_servers={"zoo": McpServer(command=["zoo"])})


def seen_of(home: Path, arm: Arm = ARM) -> bytes:
    watch = RecordWatch(home, arm)
    with watch.watching():
        pass
    return watch.seen


def test_a_record_that_the_agent_deletes_is_still_known(tmp_path: Path) -> None:
    script = (
        f"cat > /dev/null; printf '%s\\n' '{LISTED.decode()}' > ~/{RECORDS_FOLDER}/0.jsonl; "
        f"sleep 1; rm -r ~/{RECORDS_FOLDER}"
    )
    program = a_program(tmp_path / "bin" / "codex", script)
    arm = an_agent_arm("codex", {"program": str(program)}, mcp_servers=ARM.mcp_servers)

    with a_room(tmp_path) as room:
        done = CodexAgent().attempt(an_attempt(arm), room)

    assert not (room.host_home / RECORDS_FOLDER).exists()
    assert done.servers is not None
    assert done.servers.starts["zoo"].tools == ("feed",)
    assert done.artifacts["mcp-servers.jsonl"] == LISTED + b"\n"


def test_a_watch_ends_with_what_it_watches(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FOLDER).mkdir()
    watch = RecordWatch(tmp_path, ARM)
    with watch.watching():
        (tmp_path / RECORDS_FOLDER / "0.jsonl").write_bytes(LISTED + b"\n" + b"half a line")
        began = monotonic()
        while not watch.seen and monotonic() < began + 30:
            sleep(0.01)

    assert watch.seen == LISTED + b"\n"


@pytest.mark.parametrize("trick", ["folder", "file", "pipe", "nothing"])
def test_links_and_pipes_in_place_of_records_are_not_read(tmp_path: Path, trick: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "0.jsonl").write_bytes(LISTED + b"\n")
    home = tmp_path / "home"
    home.mkdir()
    if trick == "folder":
        (home / RECORDS_FOLDER).symlink_to(secret)
    elif trick == "file":
        (home / RECORDS_FOLDER).mkdir()
        (home / RECORDS_FOLDER / "0.jsonl").symlink_to(secret / "0.jsonl")
    elif trick == "pipe":
        (home / RECORDS_FOLDER).mkdir()
        os.mkfifo(home / RECORDS_FOLDER / "0.jsonl")

    assert seen_of(home) == b""


def test_a_file_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FOLDER).mkdir()
    for name in ("-1.jsonl", "z.jsonl"):
        (tmp_path / RECORDS_FOLDER / name).symlink_to("nowhere")
    (tmp_path / RECORDS_FOLDER / "0.jsonl").write_bytes(LISTED + b"\n")

    assert seen_of(tmp_path) == LISTED + b"\n"


def test_what_the_agent_writes_without_end_is_not_kept_without_end(tmp_path: Path) -> None:
    (tmp_path / RECORDS_FOLDER).mkdir()
    for number in range(4):
        lines = b"".join(b"%d %d\n" % (number, line) for line in range(100_000))
        (tmp_path / RECORDS_FOLDER / f"{number}.jsonl").write_bytes(lines)

    assert 500_000 < len(seen_of(tmp_path)) < 2**21
