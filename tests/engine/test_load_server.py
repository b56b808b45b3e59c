"""A tool server that no agent could start or reach is refused where the suite is read, and so is a plain secret."""

from pathlib import Path

import pytest

from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.errors import UsageError
from outweigh.model.arm import Arm, ArmSpec, McpServer

URL = "https://notes.example.org/mcp"


def loaded(folder: Path, server: McpServer, **arm: object) -> Arm:
    spec = ArmSpec(agent="claude-code", mcp_servers={"notes": server}, **arm)  # type: ignore[arg-type]
    return load_arm("tooled", {"tooled": spec}, ArmFiles(folder), "suite.toml")


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (McpServer(), "needs a `command` or a `url`"),
        (McpServer(command=["notes"], url=URL), "has both `command` and `url`; keep one"),
        (McpServer(command=["notes"], headers={"X-Team": "a"}), "headers: only a server with a `url`"),
        (McpServer(url="notes.example.org"), "url must be an address that starts with http:// or https://"),
        (McpServer(url="https://me:pw@notes.example.org"), "url holds a password"),
        (McpServer(url=URL, headers={"Authorization": "Bearer ${OTHER}"}), "Authorization names 'OTHER'; add it to"),
        (McpServer(url=URL, headers={"Authorization": "Bearer sk-live-1"}), "holds its value in plain text"),
        (McpServer(url=URL, headers={"X-Api-Key": "sk-live-1"}), "holds its value in plain text"),
    ],
)
def test_it_is_refused_with_the_way_out(tmp_path: Path, server: McpServer, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        loaded(tmp_path, server, secrets=["TOKEN"])

    assert "suite.toml: arms.tooled.mcp_servers.notes" in str(refused.value)
    assert words in str(refused.value)
    assert "sk-live-1" not in str(refused.value)


def test_headers_name_secrets_and_may_hold_what_is_none(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Team": "tools"}

    arm = loaded(tmp_path, McpServer(url=URL, headers=headers), secrets=["TOKEN"])

    assert arm.mcp_servers["notes"].headers == headers
    assert b"Bearer ${TOKEN}" in arm.manifest


def test_headers_and_the_time_to_start_tell_arms_apart_and_without_them_arms_are_what_they_were(tmp_path: Path) -> None:
    plain = loaded(tmp_path, McpServer(url=URL))
    headed = loaded(tmp_path, McpServer(url=URL, headers={"X-Team": "tools"}))
    slow = loaded(tmp_path, McpServer(url=URL, start_timeout_seconds=90))

    assert len({plain.fingerprint, headed.fingerprint, slow.fingerprint}) == 3
    assert b"headers" not in plain.manifest
    assert b"start_timeout_seconds" not in plain.manifest
