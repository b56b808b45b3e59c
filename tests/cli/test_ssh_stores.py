"""Stores on a host that is reached by SSH: a real sshd on loopback, and nobody who answers questions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Outweigh
from tests.loopback_ssh import SshHost, missing_part, ssh_host
from tests.prerequisites import needs, require
from tests.team_stores import contents, write_team_store

RUNS = "runs-engine.jsonl"


@pytest.fixture
@needs("ssh")
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshHost]:
    require("ssh", missing_part())
    folder = tmp_path / "ssh"
    folder.mkdir()
    with ssh_host(folder) as found:
        monkeypatch.setenv("HOME", str(found.home))
        monkeypatch.setenv("XDG_CACHE_HOME", str(found.home / "cache"))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        yield found


def test_a_store_goes_to_a_host_and_back_and_its_verdict_is_the_same(
    host: SshHost, tmp_path: Path, outweigh: Outweigh
) -> None:
    store, there = write_team_store(tmp_path / "demo"), tmp_path / "srv" / "demo"
    address = f"sftp://builder{there}"

    out = outweigh("store", "copy", str(store), address)
    again = outweigh("store", "copy", str(store), address)
    back = outweigh("store", "copy", address, str(tmp_path / "back"))
    verdicts = [outweigh("verdict", each, "--format", "json") for each in (str(store), address)]

    assert (out.code, back.code) == (0, 0), out.err + back.err
    assert "nothing to copy: 3 artifacts and all files were there already" in again.out
    assert contents(there) == contents(tmp_path / "back") == contents(store)
    assert verdicts[1].out.replace(address, str(store)) == verdicts[0].out


def test_a_store_that_grows_on_a_host_is_read_anew_and_an_edited_byte_is_found(
    host: SshHost, tmp_path: Path, outweigh: Outweigh
) -> None:
    there = write_team_store(tmp_path / "demo", tasks=4)
    address = f"sftp://127.0.0.1:{host.port}{there}/"
    host.known_hosts.with_name("config").write_text(
        f"Host 127.0.0.1\n  IdentityFile {tmp_path}/ssh/user_key\n", encoding="utf-8"
    )
    assert outweigh("store", "show", address, "--format", "json").json()["arms"]["plain"]["done"] == 4

    more = write_team_store(tmp_path / "more", tasks=6)
    (there / RUNS).write_bytes((more / RUNS).read_bytes())
    assert outweigh("store", "show", address, "--format", "json").json()["arms"]["plain"]["done"] == 6

    content = (there / RUNS).read_bytes()
    (there / RUNS).write_bytes(content.replace(b'"duration_seconds":60', b'"duration_seconds":90', 1))
    edited = outweigh("verdict", address)
    assert edited.code == 3
    assert "does not match its checksum" in edited.err


def test_a_host_that_is_not_known_or_has_another_key_is_refused(
    host: SshHost, tmp_path: Path, outweigh: Outweigh
) -> None:
    address = f"sftp://builder{write_team_store(tmp_path / 'demo')}"
    known = host.known_hosts.read_text(encoding="utf-8")

    host.known_hosts.write_text("", encoding="utf-8")
    unknown = outweigh("verdict", address)
    other = (tmp_path / "ssh" / "user_key.pub").read_text(encoding="utf-8").split()[1]
    host.known_hosts.write_text(known.replace(known.split()[2], other), encoding="utf-8")
    replaced = outweigh("verdict", address)

    assert (unknown.code, replaced.code) == (2, 2)
    assert "is not in ~/.ssh/known_hosts" in unknown.err
    assert "has another host key than ~/.ssh/known_hosts says" in replaced.err
    assert not (host.home / "cache").exists()


def test_a_folder_of_a_host_with_several_stores_is_a_history(host: SshHost, tmp_path: Path, outweigh: Outweigh) -> None:
    for name in ("one", "two"):
        write_team_store(tmp_path / "srv" / "team" / name)

    answer = outweigh("history", f"sftp://builder{tmp_path}/srv", "--format", "json")

    assert answer.code == 0, answer.err
    stores = {point["store"] for arm in answer.json()["arms"] for point in arm["points"]}
    assert stores == {f"sftp://builder{tmp_path}/srv/team/one"}  # the runs of the other are the same ones


def test_nothing_and_no_key_are_one_sentence_each(host: SshHost, tmp_path: Path, outweigh: Outweigh) -> None:
    missing = outweigh("verdict", f"sftp://builder{tmp_path}/missing")
    (tmp_path / "ssh" / "authorized_keys").write_text("", encoding="utf-8")
    refused = outweigh("verdict", f"sftp://builder{tmp_path}/missing")

    assert missing.err == f"outweigh: there is no store at sftp://builder{tmp_path}/missing.\n"
    assert refused.code == 2
    assert "cannot be reached: Authentication failed" in refused.err
    assert refused.err.count("\n") == 1
