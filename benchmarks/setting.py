"""What a benchmark is given."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A folder for temporary files, and whether the long measurements are wanted too."""

    folder: Path
    full: bool
