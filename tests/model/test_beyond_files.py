"""What of an arm a pull request cannot carry, and what a manifest says."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest

from outweigh.model.arm import Arm, ArmIdentity, McpServer, OverlayFile, differing_settings

FILE = OverlayFile(path="CLAUDE.md", sha256="0" * 64, executable=False)
ARM = Arm(
    name="arm",
    tier=1,
    agent="shell",
    model=None,
    overlay=(),
    skills=(),
    mcp_servers={},
    extra_prompt=None,
    environment={},
    secrets=(),
    flags=(),
    options={"script": "/somewhere/script.toml", "command": "true"},
    option_files={"script": "1" * 64},
)


def test_a_manifest_is_what_the_fingerprint_is_the_hash_of() -> None:
    identity = msgspec.json.decode(ARM.manifest, type=ArmIdentity)

    assert sha256(ARM.manifest).hexdigest() == ARM.fingerprint
    assert (identity.agent, identity.option_files) == ("shell", {"script": "1" * 64})
    assert identity.options == {"command": "true"}


def test_names_and_ranks_are_in_no_manifest() -> None:
    other = msgspec.structs.replace(ARM, name="other", tier=None)

    assert other.manifest == ARM.manifest


def test_files_and_the_skills_in_them_are_carried() -> None:
    assert differing_settings(ARM, msgspec.structs.replace(ARM, overlay=(FILE,), skills=("a",))) == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agent", "codex"),
        ("model", "opus"),
        ("mcp_servers", {"a": McpServer(url="http://x")}),
        ("extra_prompt", "Think."),
        ("environment", {"A": "1"}),
        ("secrets", ("KEY",)),
        ("flags", ("--fast",)),
        ("options", {"command": "false"}),
        ("option_files", {"script": "2" * 64}),
    ],
)
def test_everything_else_is_not(key: str, value: Any) -> None:
    assert differing_settings(ARM, msgspec.structs.replace(ARM, **{key: value})) == (key,)
