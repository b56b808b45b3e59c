"""How far the training data of a model goes, as its maker says: tasks before that day may be known to it."""

import tomllib
from datetime import date
from functools import cache
from importlib.resources import files

CUTOFFS_FILE = "training_cutoffs.toml"


def training_cutoff(model: str) -> date | None:
    """The stated day; None where nobody has stated one for this model.

    A name goes on with a date or a variant ("claude-sonnet-4-5-20250929"), but not with another version: what is known
    of "claude-opus-4" says nothing about "claude-opus-4-9".
    """
    known = _stated_cutoffs()
    fitting = [name for name in known if model == name or _is_variant(model, name)]
    return known[max(fitting, key=len)] if fitting else None


def _is_variant(model: str, name: str) -> bool:
    rest = model.removeprefix(name)
    if rest == model or not rest.startswith("-"):
        return False
    following = rest[1:].split("-")[0]
    return not following.isdecimal() or len(following) >= len("2025")


@cache
def _stated_cutoffs() -> dict[str, date]:
    return dict(tomllib.loads(files("outweigh.mining").joinpath(CUTOFFS_FILE).read_text())["models"])
