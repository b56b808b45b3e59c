"""What ProjectScylla calls things: experiments with the time of their start, models in a form for people."""

import re

from outweigh.adapters.importers.identity import stable_id

_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?=.)")
_MODEL = re.compile(r"claude-(opus|sonnet|haiku)-(\d+)-(\d{1,2})(?!\d)")


def family_of(experiment: str) -> str:
    """The test that an experiment was an execution of."""
    return stable_id(_STAMP.sub("", experiment))


def shown_model(model: str) -> str:
    """A model as the project's own tables have it, so that their runs and those of folders are the same arms."""
    found = _MODEL.search(model)
    return model if found is None else f"{found[1].title()} {found[2]}.{found[3]}"
