"""The tables and pages that a bundle has of its stores, each with the command that makes it again.

They are made from the unpacked stores by names that are the same everywhere (`stores/NAME`), so that neither the folder
nor the day is in them. The command of a table, typed in the unpacked bundle, gives the same bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from outweigh.app.choose_arms import ArmChoice, choose_arms
from outweigh.app.compare import CompareRequest, compare
from outweigh.app.decide import DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.export import ExportRequest, export_chunks
from outweigh.app.ladder import LadderRequest, build_ladder
from outweigh.app.report import REPORTERS, ReportRequest, report
from outweigh.app.study_inputs import tabulate_prices, tabulate_records
from outweigh.app.suite_check import SuiteCheckRequest, check_suite
from outweigh.errors import OutweighError
from outweigh.report.document import Report
from outweigh.report.json_output import JsonReporter
from outweigh.report.ladder_page import ladder_report
from outweigh.store.bundle import DERIVED_FOLDER, PRICES_NAME
from outweigh.store.bundled_stores import STORES_FOLDER
from outweigh.store.run_artifacts import safe_file_name
from outweigh.store.store import Store, StoreSet

MOST_COMPARED = 10
"""Of more candidates than this, only `report.json` has the comparisons."""

TOGETHER = "together"
"""The folder of tables about all stores of a bundle."""

_OWN_COMMAND = "outweigh store bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The unpacked stores of a bundle, and the options that its tables are made with."""

    root: Path
    names: tuple[str, ...]
    baseline: str | None

    def stores(self, names: Sequence[str]) -> StoreSet:
        """These stores, by the names that they have in every bundle."""
        place = self.root / STORES_FOLDER
        return StoreSet([Store.unpacked(f"{STORES_FOLDER}/{name}", place / name) for name in names])

    @property
    def prices(self) -> str | None:
        """The file with the user's own prices, where the bundle has one."""
        file = self.root / PRICES_NAME
        return str(file) if file.is_file() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """A table before it is made; `make` raises an OutweighError where the command would refuse."""

    path: str
    stores: tuple[str, ...]
    command: str
    make: Callable[[], bytes]


def study_tables(study: Study) -> Iterator[StudyTable]:
    """Every table of a study: about each store, about all of them where there are several, records and prices."""
    for name in study.names:
        yield from _Scope(study, name, (name,)).tables()
    if len(study.names) > 1:
        yield from _Scope(study, TOGETHER, study.names).tables()
    yield StudyTable(
        path=f"{DERIVED_FOLDER}/prices.json",
        stores=study.names,
        command=_OWN_COMMAND,
        make=lambda: tabulate_prices(study.stores(study.names), study.prices),
    )
    yield StudyTable(
        path=f"{DERIVED_FOLDER}/records.csv",
        stores=study.names,
        command=_OWN_COMMAND,
        make=lambda: tabulate_records(study.stores(study.names)),
    )


class _Scope:
    """The tables about some stores, in one folder."""

    def __init__(self, study: Study, folder: str, names: tuple[str, ...]) -> None:
        self._study = study
        self._folder = f"{DERIVED_FOLDER}/{folder}"
        self._names = names

    def tables(self) -> Iterator[StudyTable]:
        """The tables in the order in which people read them."""
        yield self._printed("verdict.json", "verdict", self._verdict, arms=True)
        yield self._printed("ladder.json", "ladder", self._ladder)
        yield self._printed("suite-check.json", "suite check", self._suite_check)
        for suffix in (".html", ".md", ".json"):
            yield self._report(suffix)
        for candidate in self._candidates():
            name = f"compare-{safe_file_name(candidate)}.json"
            yield self._printed(name, "compare", self._comparison(candidate), arms=True, candidate=candidate)
        yield self._written("runs.csv", "store export", self._runs)

    def _evidence(self) -> EvidenceRequest:
        return EvidenceRequest(stores=self._study.stores(self._names), prices=self._study.prices)

    def _arms(self, command: str, candidate: str | None = None) -> ArmChoice:
        candidates = () if candidate is None else (candidate,)
        return ArmChoice(baseline=self._study.baseline, candidates=candidates, command=command)

    def _words(self, verb: str, *, arms: bool, candidate: str | None = None) -> str:
        places = [f"{STORES_FOLDER}/{quote(name)}" for name in self._names]
        prices = () if self._study.prices is None else ("--prices", PRICES_NAME)
        baseline = self._study.baseline if arms else None
        named = (("--baseline", baseline), ("--candidate", candidate))
        options = [f"{option} {quote(value)}" for option, value in named if value is not None]
        return " ".join(["outweigh", verb, *places, *options, *prices])

    def _printed(
        self, name: str, verb: str, make: Callable[[str], Report], *, arms: bool = False, candidate: str | None = None
    ) -> StudyTable:
        command = f"{self._words(verb, arms=arms, candidate=candidate)} --format json"
        path = f"{self._folder}/{name}"
        return StudyTable(
            path=path,
            stores=self._names,
            command=f"{command} > {path}",
            make=lambda: JsonReporter().render(make(command)).encode(),
        )

    def _written(self, name: str, verb: str, make: Callable[[str], bytes], *, arms: bool = False) -> StudyTable:
        path = f"{self._folder}/{name}"
        command = f"{self._words(verb, arms=arms)} -o {path}"
        return StudyTable(path=path, stores=self._names, command=command, make=lambda: make(command))

    def _verdict(self, command: str) -> Report:
        return decide(DecideRequest(evidence=self._evidence(), arms=self._arms(command))).document()

    def _ladder(self, command: str) -> Report:  # noqa: ARG002 - one signature for all
        return ladder_report(build_ladder(LadderRequest(evidence=self._evidence())))

    def _suite_check(self, command: str) -> Report:  # noqa: ARG002 - one signature for all
        return check_suite(SuiteCheckRequest(evidence=self._evidence()))

    def _comparison(self, candidate: str) -> Callable[[str], Report]:
        def make(command: str) -> Report:
            arms = self._arms(command, candidate)
            return compare(CompareRequest(evidence=self._evidence(), arms=arms)).document()

        return make

    def _report(self, suffix: str) -> StudyTable:
        def make(command: str) -> bytes:
            decided = DecideRequest(evidence=self._evidence(), arms=self._arms(command))
            page = report(ReportRequest(decide=decided, command=command)).document()
            return REPORTERS[suffix]().render(page).encode()

        return self._written(f"report{suffix}", "report", make, arms=True)

    def _runs(self, command: str) -> bytes:  # noqa: ARG002 - one signature for all
        request = ExportRequest(evidence=self._evidence(), target=Path("runs.csv"))
        return b"".join(export_chunks(request, lambda _: None))

    def _candidates(self) -> tuple[str, ...]:
        """The arms to compare with the baseline one by one; none where there are many, or no baseline is known."""
        request = self._evidence()
        try:
            chosen = choose_arms(request.stores, self._arms("outweigh compare"), read_evidence(request), several=True)
        except OutweighError:
            return ()
        return chosen.candidates if len(chosen.candidates) <= MOST_COMPARED else ()
