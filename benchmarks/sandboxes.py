"""What walls cost: opening a sandbox, one command in it, and leaving, beside a plain process."""

import subprocess
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from threading import Event

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.adapters.sandboxes.bubblewrap import BubblewrapSandboxes
from outweigh.adapters.sandboxes.container import ContainerSandboxes
from outweigh.adapters.sandboxes.local import LocalSandboxes
from outweigh.ports import SandboxProvider, SandboxRequest

ROUNDS = 15
IMAGE = "rootfs:/"
"""The machine's own files as a container image: nothing has to be fetched or built."""


def measure(setting: Setting) -> list[Ratio]:
    """Every kind that works here; none has a target, the rows are there to choose by."""
    providers: list[SandboxProvider] = [LocalSandboxes(), BubblewrapSandboxes(), ContainerSandboxes()]
    working = [provider for provider in providers if provider.missing() is None]
    return [row for provider in working for row in _row(provider, setting.folder)]


def _row(provider: SandboxProvider, folder: Path) -> list[Ratio]:
    plain = partial(subprocess.run, ["/bin/true"], check=True)
    image = IMAGE if provider.name == "container" else None
    try:
        seconds = median_seconds({"plain": plain, "walls": partial(_visit, provider, folder, image)}, ROUNDS)
    except Exception as fault:
        return [
            Ratio(name=f"{provider.name}: {fault}"[:80], measured=0.0, target=None, better="lower", note="left out")
        ]
    return [
        Ratio(
            name=f"a {provider.name} sandbox, opened, used once and left : a plain process",
            measured=seconds["walls"] / seconds["plain"],
            target=None,
            better="lower",
            note=f"{1e3 * seconds['walls']:.1f} ms : {1e3 * seconds['plain']:.1f} ms",
        )
    ]


def _visit(provider: SandboxProvider, folder: Path, image: str | None) -> None:
    place = Path(mkdtemp(dir=folder))
    for name in ("workspace", "home"):
        (place / name).mkdir()
    request = SandboxRequest(
        workspace=place / "workspace",
        home=place / "home",
        label="outweigh-benchmark",
        read_only=(),
        doors=(),
        image=image,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )
    with provider.open(request) as sandbox:
        sandbox.exec(["true"], environment={}, timeout_seconds=60)
