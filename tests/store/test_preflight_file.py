from pathlib import Path

from outweigh.model.preflight_result import Preflight
from outweigh.store.preflight_file import read_preflight, write_preflight


def test_what_was_tried_before_any_run_is_read_back_from_a_folder_that_was_missing(tmp_path: Path) -> None:
    preflight = Preflight(suite="suite", tasks=())

    write_preflight(tmp_path / "new", preflight)

    assert read_preflight(tmp_path / "new") == preflight
    assert read_preflight(tmp_path) is None
