"""`outweigh verdict` on one screen, whole with --verbose, and the exit codes of a trade-off."""

from pathlib import Path
from typing import Any

import pytest
from tests.verdict.two_arms import experiment

from outweigh.model.codec import encode

ARMS = ("--baseline", "old", "--candidate", "new")


def stored(tmp_path: Path, gain: float, speed: float) -> str:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(encode(record) + b"\n" for record in experiment(gain, speed=speed)))
    return str(path)


@pytest.mark.parametrize("required", ["improved", "not-regressed"])
def test_a_trade_off_exits_1_whatever_is_required(outweigh: Any, tmp_path: Path, required: str) -> None:
    answer = outweigh("verdict", stored(tmp_path, 0.3, 1.4), *ARMS, "--require", required, "--format", "json")

    verdict = answer.json()
    assert (answer.code, verdict["decision"], verdict["may_promote"]) == (1, "trade_off", False)


def test_a_value_settles_a_trade_off(outweigh: Any, tmp_path: Path) -> None:
    runs = stored(tmp_path, 0.3, 1.4)

    assert outweigh("verdict", runs, *ARMS, "--value", "50").code == 0
    assert outweigh("verdict", runs, *ARMS, "--value", "0.01").code == 1


def test_the_text_fits_a_screen_and_verbose_has_the_rest(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = Path(stored(tmp_path, 0.3, 0.9)).name

    brief = outweigh("verdict", runs, *ARMS).out.splitlines()
    whole = outweigh("verdict", runs, *ARMS, "--verbose").out

    assert len(brief) <= 24
    assert max(map(len, brief)) <= 100
    assert "How firm is it?" in whole
    assert "difference" in whole
    assert not any("difference" in line for line in brief)


def test_the_json_is_the_same_with_and_without_verbose_and_has_the_chances(outweigh: Any, tmp_path: Path) -> None:
    runs = stored(tmp_path, 0.3, 0.9)

    plain = outweigh("verdict", runs, *ARMS, "--format", "json").json()

    assert plain == outweigh("verdict", runs, *ARMS, "--format", "json", "--verbose").json()
    chances = plain["gates"][0]["chances"]
    assert chances["better"] > 0.99
    assert chances["worse_beyond_margin"] < 0.01
    assert plain["gates"][1]["total"]["chances"].keys() == {"better", "worse_beyond_margin", "gain_if_repeated"}
