"""Bundles for tests, and what a forger does to one: change a member, and recompute every hash that covers it."""

import hashlib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from tests.cli.stores import write_store

from outweigh.cli.main import main
from outweigh.model.codec import encode
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import UNKNOWN_COST
from outweigh.store.bundle import BundledFile, BundleManifest, pack_bundle
from outweigh.testing.builders import a_judgment, runs_of_arm

JUDGMENTS = "stores/small/judgments-engine.jsonl"
PRICES = 'name = "ours"\n[models."model-1"]\ninput_usd_per_million = 2.0\noutput_usd_per_million = 8.0\n' + (
    "cache_read_usd_per_million = 0.2\ncache_write_usd_per_million = 2.5\n"
)

Change = Callable[[bytes], bytes]


def small_store(folder: Path, suite: str = "small") -> Path:
    """Two arms on three tasks, judged, without a recorded cost."""
    agent = AgentIdentity(kind=AgentKind.REAL, name="agent", version="1.0", model="model-1")
    told: dict[str, Any] = {"agent": agent, "cost": UNKNOWN_COST}
    plain = runs_of_arm("plain", [[True, False]] * 3, **told)
    new = runs_of_arm("new", [[True, True]] * 3, **told)
    write_store(folder, plain + new, ("plain", "new"), suite=suite)
    judgments = [encode(a_judgment(run, 0.5)) + b"\n" for run in plain + new]
    (folder / "judgments-engine.jsonl").write_bytes(b"".join(judgments))
    return folder


def small_bundle(folder: Path) -> Path:
    """The bundle of that store with the user's own prices."""
    folder.mkdir(exist_ok=True)
    (folder / "prices.toml").write_text(PRICES)
    target = folder / "study.outweigh.zip"
    words = (str(small_store(folder / "store")), "-o", str(target), "--prices", str(folder / "prices.toml"))
    assert main(("store", "bundle", *words)) == 0
    return target


def members(bundle: Path) -> dict[str, bytes]:
    """Every member by its name."""
    with zipfile.ZipFile(bundle) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def forge(bundle: Path, scratch: Path, changes: Mapping[str, Change], manifest: Change = bytes) -> Path:
    """The bundle with changed members, packed as outweigh packs it, and with every hash recomputed."""
    root = scratch / "root"
    content = {**members(bundle)}
    for name, change in changes.items():
        before = content.get(name, b"")
        content[name] = change(before)
        assert content[name] != before, name
    listed = manifest(content.pop("bundle.json"))
    for name, each in content.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(each)
    files = tuple(
        BundledFile(path=name, bytes=len(each), sha256=hashlib.sha256(each).hexdigest())
        for name, each in sorted(content.items())
    )
    target = scratch / bundle.name
    pack_bundle(root, msgspec.structs.replace(msgspec.json.decode(listed, type=BundleManifest), files=files), target)
    return target
