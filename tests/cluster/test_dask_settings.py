"""Claims about the settings of Dask that outweigh leaves out, and that users are told to."""

import re
from pathlib import Path

from outweigh.cluster.dask_settings import QUIET, quiet_dask, quiet_variables

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_variables_that_users_are_told_to_set_are_those_that_outweigh_sets() -> None:
    said = dict(re.findall(r"(DASK_\w+)=(\S+)", PAGE.read_text()))

    assert said.items() <= quiet_variables().items()
    assert {name for name in quiet_variables() if "__CLIENT__" not in name} == said.keys()


def test_dask_is_quiet_where_outweigh_starts_it_and_as_it_was_afterwards() -> None:
    import dask  # noqa: PLC0415 - an extra
    import distributed  # noqa: F401, PLC0415 - its defaults

    before = {name: dask.config.get(name) for name in QUIET}
    with quiet_dask():
        within = {name: dask.config.get(name) for name in QUIET}

    assert within == QUIET
    assert {name: dask.config.get(name) for name in QUIET} == before
