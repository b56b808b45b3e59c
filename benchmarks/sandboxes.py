"""What walls cost: opening a sandbox, one command in it, and leaving, beside a plain process; and what a door adds."""

import subprocess
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from threading import Event

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.ports.sandboxes import ForwardedPort, SandboxProvider, SandboxRequest
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider

ROUNDS = 15
IMAGE = "rootfs:/"
"""The machine's own files as a container image: nothing has to be fetched or built."""


def measure(setting: Setting) -> list[Ratio]:
    """Every kind that works here; none has a target, the rows are there to choose by."""
    providers: list[SandboxProvider] = [LocalSandboxProvider(), BubblewrapSandboxProvider(), ContainerSandboxProvider()]
    working = [provider for provider in providers if provider.missing() is None]
    return [row for provider in working for row in _rows(provider, setting.folder)]


def _rows(provider: SandboxProvider, folder: Path) -> list[Ratio]:
    visit = partial(_visit, provider, folder, IMAGE if provider.name == "container" else None)
    door = ForwardedPort(name="nobody", serve=lambda _: nullcontext())
    visits: dict[str, Callable[[], object]] = {
        "plain": partial(subprocess.run, ["/bin/true"], check=True),
        "walls": partial(visit, ()),
        "door": partial(visit, (door,)),
    }
    try:
        seconds = median_seconds(visits, ROUNDS)
    except Exception as fault:
        return [
            Ratio(name=f"{provider.name}: {fault}"[:80], measured=0.0, target=None, better="lower", note="left out")
        ]
    name = f"a {provider.name} sandbox, opened, used once and left"
    return [
        _row(f"{name} : a plain process", seconds["walls"], seconds["plain"]),
        _row(f"{name}, with a door : without", seconds["door"], seconds["walls"]),
    ]


def _row(name: str, over: float, under: float) -> Ratio:
    note = f"{1e3 * over:.1f} ms : {1e3 * under:.1f} ms"
    return Ratio(name=name, measured=over / under, target=None, better="lower", note=note)


def _visit(provider: SandboxProvider, folder: Path, image: str | None, ports: tuple[ForwardedPort, ...]) -> None:
    place = Path(mkdtemp(dir=folder))
    for name in ("workspace", "home"):
        (place / name).mkdir()
    request = SandboxRequest(
        workspace=place / "workspace",
        home=place / "home",
        label="outweigh-benchmark",
        read_only=(),
        ports=ports,
        image=image,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )
    with provider.open(request) as sandbox:
        sandbox.exec(["true"], environment={}, timeout_seconds=60)
