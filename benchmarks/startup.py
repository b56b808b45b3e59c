"""Start-up: what a user waits for before anything is computed, and a small verdict from beginning to end."""

from functools import partial

from benchmarks.measure import (
    A_VERDICT,
    OUTWEIGH,
    PYTHON,
    Command,
    median_seconds,
    processor_seconds_of_processes,
    run,
)
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from benchmarks.synthetic import write_records
from benchmarks.verdicts import DEFAULT_POLICY, verdict_command

_AT_ONCE = ("--version", "--help")
_POLICIES = ("gates", "composite", DEFAULT_POLICY)
_TARGET = 1 / 3
_RECORDS = 1_000


def measure(setting: Setting) -> list[Ratio]:
    """The two answers that need no evidence, then three verdicts."""
    return [*_answers_at_once(), *_small_verdicts(setting)]


def _answers_at_once() -> list[Ratio]:
    commands: dict[str, Command] = {"pass": (*PYTHON, "-c", "pass")}
    commands |= {option: (*OUTWEIGH, option) for option in _AT_ONCE}
    seconds = median_seconds({name: partial(run, command) for name, command in commands.items()}, rounds=21)
    return [
        _against(f"outweigh {option} : python -c pass", seconds[option], seconds["pass"], target=6)
        for option in _AT_ONCE
    ]


def _small_verdicts(setting: Setting) -> list[Ratio]:
    file = write_records(setting.folder / "small.jsonl", _RECORDS)
    scipy: Command = (*PYTHON, "-c", "import scipy.stats")
    seconds = median_seconds(
        {
            "scipy": partial(run, scipy),
            **{policy: partial(run, verdict_command(file, policy), A_VERDICT) for policy in _POLICIES},
        },
        rounds=12,
        clock=processor_seconds_of_processes,
    )
    return [
        _against(
            f"verdict by {policy}, {_RECORDS:,} records : import scipy.stats",
            seconds[policy],
            seconds["scipy"],
            target=_TARGET,
        )
        for policy in _POLICIES
    ]


def _against(name: str, ours: float, theirs: float, target: float) -> Ratio:
    note = f"{1e3 * ours:.0f} ms : {1e3 * theirs:.0f} ms"
    return Ratio(name=name, measured=ours / theirs, target=target, better="lower", note=note)
