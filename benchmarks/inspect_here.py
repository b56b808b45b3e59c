"""inspect_ai in a folder of its own: benchmarks compare with it, and nothing else needs it."""

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import PYTHON, run


def installed_inspect(folder: Path) -> Path | None:
    """Its interpreter, installed for the occasion with what its data frames need; None where it cannot be had."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    home = folder / "inspect"
    python = home / "bin" / "python"
    if python.exists():
        return python
    if uv is None:
        return None
    try:
        run((*PYTHON, "-m", "venv", "--without-pip", str(home)))
        run((uv, "pip", "install", "--quiet", "--python", str(python), "inspect_ai", "pandas", "pyarrow"))
    except subprocess.CalledProcessError:
        return None
    return python
