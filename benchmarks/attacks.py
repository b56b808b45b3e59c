"""The attacks that the tests make, counted: escapes from sandboxes, failed runs that should vanish, forged checks, and
abuses of the gateway. Every attack is a test; this runs them and says how many were tried and how many worked.

`python -m benchmarks attacks` takes minutes; `--full` also makes every laundering attack in a container.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting

ROOT = Path(__file__).resolve().parent.parent
ATTACKS: Mapping[str, tuple[str, ...]] = {
    "escapes from bubblewrap": ("tests/sandbox/test_bubblewrap_isolation.py", "tests/sandbox/test_session_keyring.py"),
    "escapes from a container": ("tests/sandbox/test_container_isolation.py",),
    "system calls that are denied": ("tests/sandbox/test_denied_calls.py",),
    "results that a started program forges": (
        "tests/sandbox/test_forged_results.py",
        "tests/sandbox/test_confine_program.py",
        "tests/engine/checks/test_confined_checks.py",
    ),
    "escapes by the workspace that an agent leaves": ("tests/engine/test_hostile_agent.py",),
    "checks that a known cheat passes": ("tests/engine/test_attack.py",),
    "failed runs that are left out": ("tests/engine/test_laundering.py",),
    "requests beyond what the gateway allows": (
        "tests/gateway/test_request_policy.py",
        "tests/gateway/test_secrecy.py",
        "tests/gateway/test_egress.py",
        "tests/gateway/test_caps.py",
        "tests/gateway/test_request_body.py",
    ),
}
ALL_ATTACKS = "OUTWEIGH_ALL_ATTACKS"
"""Set for tests that otherwise make a part of their attacks in a container."""


def measure(setting: Setting) -> list[Ratio]:
    """The share of attacks of each kind that worked."""
    return [_row(kind, files, setting) for kind, files in ATTACKS.items()]


def _row(kind: str, files: tuple[str, ...], setting: Setting) -> Ratio:
    report = setting.folder / "attacks.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *files]
    environment = {**os.environ, **({ALL_ATTACKS: "1"} if setting.full else {})}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if not report.exists():
        raise RuntimeError(f"the attacks did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = count_outcomes(report.read_text())
    report.unlink()
    tried = found["held"] + found["worked"]
    return Ratio(
        name=f"{kind} : tries",
        measured=found["worked"] / tried if tried else 1.0,
        target=0.0,
        better="lower",
        note=f"{tried} tried, {found['worked']} worked, {found['not tried']} not possible here",
    )


def count_outcomes(junit: str) -> Counter[str]:
    """How many attacks held, worked or were not tried. A test that breaks off counts as an attack that worked."""
    found: Counter[str] = Counter()
    for case in ElementTree.fromstring(junit).iter("testcase"):
        ended = {child.tag for child in case}
        found["worked" if ended & {"failure", "error"} else "not tried" if "skipped" in ended else "held"] += 1
    return found
