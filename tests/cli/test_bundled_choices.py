"""A bundle of a store whose arms inherit: its choices are packed, read and verified."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.bundles import forge, members
from tests.cli.test_run_inheriting import ARMS, SMALL, Desk, inheriting
from tests.conftest import Outweigh

from outweigh.cli.main import main
from outweigh.model.line_seal import seal, unseal


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a suite that was run to its end."""
    desk = Desk(tmp_path_factory.mktemp("finished"))
    with desk.held:
        desk.write({**ARMS, "two": inheriting(2, 0, 1)}, **SMALL)
        ended = desk.run()
        assert ended.code == 0, ended.err
    target = desk.folder / "study.outweigh.zip"
    assert main(("store", "bundle", str(desk.store), "-o", str(target))) == 0
    return target


def choices_of(bundle: Path) -> str:
    return next(name for name in members(bundle) if name.endswith("/choices.jsonl"))


def edited(**fields: Any) -> Callable[[bytes], bytes]:
    """Changes the first choice, as a forger would who knows of the checksum."""

    def edit(content: bytes) -> bytes:
        first, *others = content.splitlines(keepends=True)
        return b"".join([seal(msgspec.json.encode(json.loads(unseal(first)) | fields)), *others])

    return edit


def test_choices_are_packed_counted_and_verified(bundle: Path, outweigh: Outweigh) -> None:
    found = outweigh("store", "verify", str(bundle), "--format", "json")

    assert found.code == 0, found.out
    assert json.loads(found.out)["choices"] == 1


def test_the_ladder_of_a_bundle_is_that_of_its_store(bundle: Path, outweigh: Outweigh) -> None:
    of_bundle, of_store = (
        outweigh("ladder", str(path), "--format", "json") for path in (bundle, bundle.parent / "store")
    )

    assert of_bundle.code == 0, of_bundle.err
    assert of_bundle.out == of_store.out


def test_an_edited_choice_is_named_although_every_hash_was_recomputed(
    bundle: Path, outweigh: Outweigh, tmp_path: Path
) -> None:
    name = choices_of(bundle)

    found = outweigh("store", "verify", str(forge(bundle, tmp_path / "forged", {name: edited(chosen="one-a")})))

    assert found.code == 1
    assert name in found.out
    assert "the choice for 'two' is 'one-a', and its records lead to 'one-b'" in " ".join(found.out.split())


def test_a_reason_of_a_choice_that_was_edited_is_named_by_its_line(
    bundle: Path, outweigh: Outweigh, tmp_path: Path
) -> None:
    name = choices_of(bundle)

    found = outweigh("store", "verify", str(forge(bundle, tmp_path / "forged", {name: edited(reason="we like it")})))

    assert found.code == 1
    assert f"({name}, 1), sha256" in found.out
