"""The tables and pages that a bundle has of its stores, each with the command that makes it again.

They are made from the unpacked stores by names that are the same everywhere (`stores/NAME`), so that neither the folder
nor the day is in them. The command of a table, typed in the unpacked bundle, gives the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from shlex import join, quote

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.compare import CompareRequest, compare
from outweigh.app.decide import DecideRequest, DecisionResult, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.export import ExportRequest, export_chunks
from outweigh.app.judge_parts import PartsRequest, judge_store_parts
from outweigh.app.ladder import LadderRequest
from outweigh.app.ladder_study import study_ladder
from outweigh.app.report import REPORTERS, ReportRequest, report_decision
from outweigh.app.report_files import LADDER_FILES
from outweigh.app.study_inputs import tabulate_prices, tabulate_records
from outweigh.app.suite_check import SuiteCheckRequest, check_suite
from outweigh.errors import OutweighError
from outweigh.report.document import Report
from outweigh.report.formatting import option_words
from outweigh.report.json_output import JsonReporter
from outweigh.report.ladder_page import ladder_report
from outweigh.store.bundle import DERIVED_FOLDER, PRICES_NAME
from outweigh.store.bundled_stores import STORES_FOLDER
from outweigh.store.run_artifacts import safe_file_name
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet

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


TableFiles = Mapping[str, bytes]
"""The files of a table, by their paths in the bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """A table or page before it is made. Its path ends in a slash where the command writes a folder of files.

    `make` raises an OutweighError where the command would refuse.
    """

    path: str
    stores: tuple[str, ...]
    command: str
    make: Callable[[], TableFiles]


def study_tables(study: Study) -> Iterator[StudyTable]:
    """Every table of a study: about each store, about all of them where there are several, records and prices."""
    for name in study.names:
        yield from _Scope(study, name, (name,)).tables()
    if len(study.names) > 1:
        yield from _Scope(study, TOGETHER, study.names).tables()
    whole = study.stores(study.names)
    for name, make in (
        ("prices.json", lambda: tabulate_prices(whole, study.prices)),
        ("records.csv", lambda: tabulate_records(whole)),
    ):
        path = f"{DERIVED_FOLDER}/{name}"
        yield StudyTable(path=path, stores=study.names, command=_OWN_COMMAND, make=_only_file(path, make))


def _only_file(path: str, make: Callable[[], bytes]) -> Callable[[], TableFiles]:
    return lambda: {path: make()}


class _Scope:
    """The tables about some stores, in one folder. What several of them need is computed once."""

    def __init__(self, study: Study, folder: str, names: tuple[str, ...]) -> None:
        self._study = study
        self._folder = f"{DERIVED_FOLDER}/{folder}"
        self._names = names
        self._stores = study.stores(names)

    def tables(self) -> Iterator[StudyTable]:
        """The tables in the order in which people read them."""
        yield self._printed("verdict.json", "verdict", self._verdict, arms=True)
        yield from self._reports()
        for candidate in self._candidates():
            name = f"compare-{safe_file_name(candidate)}.json"
            yield self._printed(name, "compare", self._comparison(candidate), arms=True, candidate=candidate)
        yield self._ladder()
        if self._stores.experiment is not None and self._stores.experiment.parts:
            yield self._printed("parts-verdict.json", "parts verdict", self._parts)
        yield self._printed("suite-check.json", "suite check", self._suite_check)
        yield self._runs()

    @property
    def _evidence(self) -> EvidenceRequest:
        return EvidenceRequest(stores=self._stores, prices=self._study.prices)

    @cached_property
    def _request(self) -> DecideRequest:
        arms = ArmChoice(baseline=self._study.baseline, command=self._words("verdict", arms=True))
        return DecideRequest(evidence=self._evidence, arms=arms)

    @cached_property
    def _decided(self) -> DecisionResult:
        return decide(self._request)

    def _verdict(self) -> Report:
        return self._decided.document()

    def _words(self, verb: str, *, arms: bool = False, candidate: str | None = None) -> str:
        places = [f"{STORES_FOLDER}/{quote(name)}" for name in self._names]
        baseline = self._study.baseline if arms else None
        named = (("--baseline", baseline), ("--candidate", candidate))
        options = [join(option_words(option, value)) for option, value in named if value is not None]
        prices = () if self._study.prices is None else ("--prices", PRICES_NAME)
        return " ".join(["outweigh", verb, *places, *options, *prices])

    def _printed(
        self, name: str, verb: str, make: Callable[[], Report], *, arms: bool = False, candidate: str | None = None
    ) -> StudyTable:
        path = f"{self._folder}/{name}"
        return StudyTable(
            path=path,
            stores=self._names,
            command=f"{self._words(verb, arms=arms, candidate=candidate)} --format json > {path}",
            make=_only_file(path, lambda: JsonReporter().render(make()).encode()),
        )

    def _reports(self) -> Iterator[StudyTable]:
        for suffix in (".html", ".md", ".json"):
            path = f"{self._folder}/report{suffix}"
            command = f"{self._words('report', arms=True)} -o {path}"
            make = _only_file(path, partial(self._page, command, suffix))
            yield StudyTable(path=path, stores=self._names, command=command, make=make)

    def _page(self, command: str, suffix: str) -> bytes:
        page = report_decision(ReportRequest(decide=self._request, command=command), self._decided)
        return REPORTERS[suffix]().render(page.document()).encode()

    def _comparison(self, candidate: str) -> Callable[[], Report]:
        arms = ArmChoice(baseline=self._study.baseline, candidates=(candidate,))
        return lambda: compare(CompareRequest(evidence=self._evidence, arms=arms)).document()

    def _candidates(self) -> tuple[str, ...]:
        """The arms to compare with the baseline one by one; none where there are many, or no verdict is given."""
        try:
            names = tuple(each.name for each in self._decided.candidates)
        except OutweighError:
            return ()
        return names if len(names) <= MOST_COMPARED else ()

    def _ladder(self) -> StudyTable:
        folder = f"{self._folder}/ladder/"

        def make() -> TableFiles:
            files = LADDER_FILES.contents(ladder_report(study_ladder(LadderRequest(evidence=self._evidence))))
            return {f"{folder}{name}": content.encode() for name, content in files.items()}

        return StudyTable(path=folder, stores=self._names, command=f"{self._words('ladder')} -o {folder}", make=make)

    def _parts(self) -> Report:
        return judge_store_parts(PartsRequest(evidence=self._evidence)).document()

    def _suite_check(self) -> Report:
        return check_suite(SuiteCheckRequest(evidence=self._evidence))

    def _runs(self) -> StudyTable:
        path = f"{self._folder}/runs.csv"
        request = ExportRequest(evidence=self._evidence, target=Path(path))
        make = _only_file(path, lambda: b"".join(export_chunks(request, lambda _: None)))
        return StudyTable(path=path, stores=self._names, command=f"{self._words('store export')} -o {path}", make=make)
