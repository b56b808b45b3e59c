"""`make mutants`: try a seeded sample of mutants and list those that no test notices.

Fails when more than 5 % of those tried survive without an entry in tests/mutants.toml that says why.
"""

import argparse
import importlib
import os
import signal
import socket
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scripts.mutants.operators import Mutant, MutantKey
from scripts.mutants.sample import PACKAGES, all_mutants, draw
from scripts.mutants.server import NOT_SWAPPED, Request, Server
from scripts.mutants.trial import PATIENCE, Covered, Map, Slot, TestTime, calls_by_function, wait

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
RESULTS = WORK / "results.jsonl"
EXPLAINED = ROOT / "tests" / "mutants.toml"
UNEXPLAINED_SHARE = 0.05
LONGEST_TESTS = 10.0
"""Seconds of CPU for the tests of one mutant, as measured in the first run; fastest first, so few are left out."""

FOLDERS = tuple(f"tests/{package}" for package in PACKAGES)
ALSO = (
    "tests/report",
    "tests/app",
    "tests/cli/promote",
    "tests/cli/test_verdict.py",
    "tests/cli/test_plan.py",
    "tests/cli/test_baseline.py",
    "tests/cli/test_import.py",
)
"""Tests of callers, for functions that their own package's tests reach only through them."""

HEAVY = ("numpy", "scipy.stats", "statsmodels.api", "hypothesis", "msgspec", "pytest", "asyncio")
BY_PROCESS = {
    "store/append_log.py": "tests/store/test_power_cut.py",
    "store/durable_files.py": "tests/store/test_power_cut.py",
}
"""Tests that run a module in a process of its own, where the map does not see it."""


class Result(msgspec.Struct):
    """What became of one mutant."""

    key: MutantKey
    line: int
    outcome: str
    seconds: float
    tests: int


@dataclass(frozen=True, slots=True)
class Suite:
    """Every test that may notice a mutant."""

    times: dict[str, TestTime]
    covered: Covered

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Tests that call the mutated function, fastest first."""
        chosen = self._calling(mutant)
        if extra := BY_PROCESS.get(mutant.file):
            chosen |= {name for name in self.times if name.startswith(extra)}
        total = 0.0
        kept: list[str] = []
        for name in sorted(chosen, key=lambda test: self.times[test].seconds):
            total += self.times[name].seconds
            if total > LONGEST_TESTS and kept:
                break
            kept.append(name)
        return kept

    def _calling(self, mutant: Mutant) -> set[str]:
        """For what runs on import (constants, defaults), all tests that call the module or test its package."""
        if not mutant.on_import:
            return set(self.covered.get(f"{mutant.file}:{mutant.function}", ()))
        folder = f"tests/{mutant.file.split('/')[0]}/"
        calling = {name for call, names in self.covered.items() if call.startswith(f"{mutant.file}:") for name in names}
        return calling | {name for name in self.times if name.startswith(folder)}


class Bench:
    """A copy of the sources with a server that forks for each mutant."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        ours, theirs = socket.socketpair()
        self._server = slot.start([*FOLDERS, *ALSO], [Server(theirs.makefile("rwb"))], every=True)
        theirs.close()
        self._line = ours.makefile("rwb")
        if self._line.readline() != b"0\n":
            sys.exit(f"the tests cannot be collected: see {slot.log}")

    def close(self) -> None:
        """Stop the server."""
        os.kill(self._server, signal.SIGKILL)
        os.waitpid(self._server, 0)

    def run(self, mutant: Mutant, tests: list[str], seconds: float) -> int | None:
        """Pytest's code for one mutant, another where it took more than so many seconds of CPU or far longer."""
        with self._slot.mutated(mutant.file, mutant.source):
            code = NOT_SWAPPED if mutant.on_import else self._ask(mutant, tests, seconds)
            return wait(self._slot.start(tests, seconds=seconds), PATIENCE * seconds) if code == NOT_SWAPPED else code

    def _ask(self, mutant: Mutant, tests: list[str], seconds: float) -> int | None:
        request = Request(mutant.file, mutant.function, mutant.source, tests, seconds)
        self._line.write(msgspec.json.encode(request) + b"\n")
        self._line.flush()
        return msgspec.json.decode(self._line.readline(), type=int | None)


def main() -> int:
    """Map, sample, try, report."""
    options = _options()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "CI": ""}
    for name in HEAVY:
        importlib.import_module(name)
    mutants = draw(all_mutants(ROOT / "src" / "outweigh"), options.sample, options.seed)
    if options.only:
        mutants = [mutant for mutant in mutants if options.only in f"{mutant.file}:{mutant.function}"]
    WORK.mkdir(parents=True, exist_ok=True)
    slots = [Slot(ROOT, WORK / f"slot-{number}") for number in range(options.jobs)]
    suite = _suite(slots[0], WORK / "map.json", fresh=not options.resume)
    print(f"{len(mutants)} mutants, {len(suite.times)} tests", flush=True)
    if not options.resume:
        RESULTS.unlink(missing_ok=True)
    if options.trust_reasons:
        accepted = [mutant for mutant in mutants if mutant.key in _reasons()]
        for mutant in accepted:
            _keep(Result(mutant.key, mutant.line, "survived", 0.0, 0))
    known = {result.key for result in _results()}
    _try_all([mutant for mutant in mutants if mutant.key not in known], suite, slots, options.minutes)
    drawn = {mutant.key for mutant in mutants}
    return _report([result for result in _results() if result.key in drawn], len(mutants))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=640, help="how many mutants")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=120.0, help="begin no further mutant after so long")
    parser.add_argument("--only", default="", help="part of file:function, such as promotion.py:may_promote")
    parser.add_argument("--trust-reasons", action="store_true", help="take explained mutants for survivors, untried")
    parser.add_argument("--resume", action="store_true", help="go on with the last run: its map of tests, its results")
    return parser.parse_args()


def _suite(slot: Slot, target: Path, *, fresh: bool) -> Suite:
    if fresh or not target.exists():
        slot.put_probes(PACKAGES)
        child = slot.start([*FOLDERS, *ALSO], [Map(target)], every=True)
        if code := wait(child, 3600):
            sys.exit(f"the tests must pass before anything is mutated (pytest ended with {code}): see {slot.log}")
        slot.copy_sources()
    times = msgspec.json.decode(target.read_bytes(), type=dict[str, TestTime])
    return Suite(times, calls_by_function(times))


def _keep(result: Result) -> None:
    with RESULTS.open("ab") as stream:
        stream.write(msgspec.json.encode(result) + b"\n")


def _results() -> list[Result]:
    lines = RESULTS.read_bytes().splitlines() if RESULTS.exists() else []
    return [msgspec.json.decode(line, type=Result) for line in lines]


def _try_all(mutants: list[Mutant], suite: Suite, slots: list[Slot], minutes: float) -> None:
    """Share the mutants among one process per slot."""
    end = time.monotonic() + 60 * minutes
    workers = []
    for number, slot in enumerate(slots):
        worker = os.fork()
        if not worker:
            try:
                _try_share(mutants[number :: len(slots)], suite, slot, end)
            finally:
                sys.stdout.flush()
                os._exit(0)
        workers.append(worker)
    for worker in workers:
        os.waitpid(worker, 0)


def _try_share(mutants: list[Mutant], suite: Suite, slot: Slot, end: float) -> None:
    bench = Bench(slot)
    for mutant in mutants:
        if time.monotonic() > end:
            break
        result = _try(mutant, suite, bench)
        _keep(result)
        if result.outcome == "survived":
            print(f"{mutant.file}:{mutant.line} {mutant.function}: {mutant.original} → {mutant.mutated}", flush=True)
    bench.close()


def _try(mutant: Mutant, suite: Suite, bench: Bench) -> Result:
    tests = suite.tests_of(mutant)
    begun = time.monotonic()
    outcome = "survived"
    if tests:
        code = bench.run(mutant, tests, 15.0 + 2 * sum(suite.times[name].seconds for name in tests))
        outcome = "survived" if code == 0 else "killed"
    return Result(mutant.key, mutant.line, outcome, time.monotonic() - begun, len(tests))


def _reasons() -> dict[MutantKey, str]:
    entries = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["mutant"] if EXPLAINED.exists() else []
    return {
        (entry["file"], entry["function"], entry["original"], entry["mutated"], entry.get("number", 1)): entry["reason"]
        for entry in entries
    }


def _report(results: list[Result], planned: int) -> int:
    reasons = _reasons()
    survivors = [result for result in results if result.outcome == "survived"]
    unexplained = [result for result in survivors if result.key not in reasons]
    for result in sorted(survivors, key=lambda item: item.key):
        file, function, original, mutated, number = result.key
        print(f"\n{file}:{result.line} {function} ({number}), {result.tests} tests\n  - {original}\n  + {mutated}")
        print(f"  {reasons.get(result.key, 'NOT EXPLAINED')}")
    share = len(unexplained) / len(results) if results else 1.0
    print(
        f"\n{len(results)} of {planned} mutants tried: {len(results) - len(survivors)} noticed, "
        f"{len(survivors)} survived, of which {len(unexplained)} ({share:.1%}) are not explained in "
        f"{EXPLAINED.relative_to(ROOT)}."
    )
    return int(share > UNEXPLAINED_SHARE)


if __name__ == "__main__":
    sys.exit(main())
