"""Skills as people write them."""

import json
from pathlib import Path
from typing import Any

SKILL = """\
---
name: csv-report
description: Say what is in a table, as a short report.
---
Count rows and columns before you write anything.
"""
EVALS = [
    {
        "id": 1,
        "prompt": "What is in data/sales.csv? Write it to report.md.",
        "expected_output": "A report of three sentences.",
        "files": ["evals/files/sales.csv"],
        "expectations": ["The report names every column.", "The report says how many rows there are."],
    },
    {"id": 2, "prompt": "Which tables could I ask you about?", "expected_output": "It asks for a file."},
]


def a_skill(folder: Path, evals: Any = None, **files: str) -> Path:
    """A skill's folder with evals, unless they are False; other files by path, with `__` for a slash and `_dot_` for a
    dot.
    """
    document = {"skill_name": "csv-report", "evals": EVALS} if evals is None else evals
    content = {"SKILL.md": SKILL, "evals/files/sales.csv": "month,revenue\n1,10\n", "scripts/count.sh": "wc -l\n"}
    if document is not False:
        content["evals/evals.json"] = json.dumps(document)
    content.update({name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()})
    for name, text in content.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (folder / "scripts/count.sh").chmod(0o755)
    return folder


def one_eval(**fields: Any) -> dict[str, Any]:
    """A document with one eval."""
    return {"evals": [{"id": 1, "prompt": "Do it.", "expected_output": "It is done.", **fields}]}
