"""Installs the runs of many public agents on the same tasks, so that tests on them reach no registry.

    python -m scripts.install_public_runs FOLDER

The sources of AgentDojo 0.1.26 (MIT) hold the runs of its paper; later ones do not. Twenty-one agents did the same 97
tasks once as they are, and once for every injection that an attacker puts in. What is there already is left alone.
Sources that cannot be had must not stop a build: tests that need them say so.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

VERSION = "0.1.26"
PLAIN, ATTACKED = "agentdojo-plain.jsonl", "agentdojo-attacked.jsonl"
ATTACK = "important_instructions"
INCOMPLETE = "claude-3-sonnet-20240229-repeat_user_prompt"

Row = dict[str, Any]


def read_runs(archive: Path) -> Iterator[tuple[str | None, Row]]:
    """Every run of a user's task with the name of the attack; `repeat` counts the injections of a task."""
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = PurePosixPath(member.name).parts
            if not member.isfile() or "runs" not in parts or not member.name.endswith(".json"):
                continue
            file = tar.extractfile(member)
            run = msgspec.json.decode(file.read()) if file is not None else {}
            if not run or not run["user_task_id"].startswith("user_task") or parts[2] == INCOMPLETE:
                continue
            injection = run["injection_task_id"]
            yield (
                run["attack_type"],
                {
                    "task_id": f"{run['suite_name']}/{run['user_task_id']}",
                    "family": run["suite_name"],
                    "arm": parts[2],
                    "repeat": 1 if injection is None else 1 + int(injection.rpartition("_")[2]),
                    "success": run["utility"],
                    "duration_seconds": run["duration"],
                },
            )


def write_runs(archive: Path, folder: Path) -> None:
    """The runs as tables of rows, one for each of the two ways in which tasks were given."""
    tables: dict[str | None, list[Row]] = {None: [], ATTACK: []}
    for attack, row in read_runs(archive):
        tables.get(attack, []).append(row)
    folder.mkdir(parents=True, exist_ok=True)
    for attack, name in ((None, PLAIN), (ATTACK, ATTACKED)):
        rows = sorted(tables[attack], key=lambda row: (row["task_id"], row["arm"], row["repeat"]))
        part = folder / f".{name}"
        part.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        part.rename(folder / name)


def _download(folder: Path) -> list[Path]:
    """The sources, fetched by pip, which uv cannot do itself."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}") or "uv"
    pip = [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip", "download", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-binary", "agentdojo", f"agentdojo=={VERSION}", "-d", folder], check=False)
    return list(folder.glob("agentdojo-*.tar.gz"))


def main() -> None:
    """Download the sources and keep the runs, unless they are there."""
    folder = Path(sys.argv[1])
    if all((folder / name).is_file() for name in (PLAIN, ATTACKED)):
        print("public runs: nothing to install")
        return
    with tempfile.TemporaryDirectory() as part:
        archives = _download(Path(part))
        if not archives:
            print(f"public runs: the sources of agentdojo {VERSION} cannot be had; tests on them are skipped")
            return
        write_runs(archives[0], folder)
    print(f"public runs: those of agentdojo {VERSION} are in {folder}")


if __name__ == "__main__":
    main()
