"""Which instances a list of what was resolved is about: such a list says nothing about the rest of its suite."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from os import scandir
from pathlib import Path
from shlex import quote

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.result_files import read_json, read_json_lines
from outweigh.interop.swe_bench_reports import (
    is_final_report,
    is_result_line,
    line_instance,
    named_failures,
    read_resolved_list,
    report_outcomes,
    single_outcomes,
)
from outweigh.model.untrusted_json import as_dict
from outweigh.ports.importers import ImportNotes


class NamedSuites:
    """The instances that results side by side name, for the lists among them.

    Side by side are files in one folder, or folders of one file each. Where one of them names every instance of its
    suite, as result lines, maps and reports do, the lists are about the same ones. Otherwise they are about what any
    list names: what another submission resolved, and this one does not list, it did not resolve.
    """

    def __init__(
        self, results: Mapping[Path, Sequence[Path]], predictions: Mapping[Path, Sequence[Path]], *, is_benchmark: bool
    ) -> None:
        self._whole: dict[Path, dict[Path, frozenset[str]]] = defaultdict(dict)
        self._named: dict[Path, set[str]] = defaultdict(set)
        self._lists: Counter[Path] = Counter()
        self._logged: set[Path] = set()
        for folder, files in results.items():
            is_alone = len(files) == 1
            if (is_alone and folder in predictions) or (is_benchmark and not is_alone):
                continue
            for file in files:
                self._add(file, folder, folder.parent if is_alone and len(results) > 1 else folder)

    def _add(self, file: Path, folder: Path, place: Path) -> None:
        whole, listed = _instances(file)
        if whole is not None:
            self._whole[place][file] = whole
        elif listed is not None:
            logged = _logged_instances(folder)
            self._named[place] |= listed | logged
            self._logged |= {place} if logged else set()
            self._lists[place] += 1

    def suite_of(self, file: Path, folder: Path, root: Path, notes: ImportNotes) -> frozenset[str] | None:
        """The suite of a list; None of a file that needs none, and where nothing names one."""
        place = next((each for each in (folder, folder.parent) if self._lists[each]), None)
        if place is None or _instances(file)[1] is None:
            return None
        if whole := self._whole.get(place):
            tasks = frozenset[str]().union(*whole.values())
            self._tell_whole(place, tasks, whole, root, notes)
            return tasks
        if self._lists[place] < 2:
            return None
        tasks = frozenset(self._named[place])
        self._tell_listed(place, tasks, root, notes)
        return tasks

    def _tell_whole(
        self, place: Path, tasks: frozenset[str], whole: Mapping[Path, frozenset[str]], root: Path, notes: ImportNotes
    ) -> None:
        others = len(self._named[place] - tasks)
        more = f" The lists name {others:,} more, which are left out." if others else ""
        notes.warn(
            f"the {len(tasks):,} instances of {quote_names([each.name for each in whole])} are taken for the suite of "
            f"the lists beside it, so what these do not list counts as failed.{more} {_name_the_suite(root)}"
        )

    def _tell_listed(self, place: Path, tasks: frozenset[str], root: Path, notes: ImportNotes) -> None:
        if place in self._logged:
            how = "names or has logs of are taken for the suite. If some are missing, pass rates are too high;"
        else:
            how = "names are taken for the suite. What none of them resolved is missing, and pass rates are too high;"
        notes.warn(
            f"no file of {place.name} names all instances, so the {len(tasks):,} that any of its "
            f"{self._lists[place]:,} submissions {how} which arm resolves more is not affected. {_name_the_suite(root)}"
        )


def _name_the_suite(root: Path) -> str:
    return f"Name the suite with `outweigh import swe-bench {quote(str(root))} -o RUNS --tasks FILE`."


def _instances(file: Path) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """The instances of a file that names its whole suite, or else those that a list of resolved ones names."""
    unheard = ImportNotes()
    try:
        if file.suffix == ".jsonl":
            lines = (line.value for line in read_json_lines(file, unheard))
            return frozenset(line_instance(line) or "" for line in lines if is_result_line(line)), None
        document = read_json(file, unheard)
    except EvidenceError:
        return None, None
    table = as_dict(document)
    if is_final_report(document):
        return frozenset(each.instance for each in report_outcomes(table)), None
    if (resolved := read_resolved_list(document)) is not None:
        return None, resolved | named_failures(table)
    return frozenset(each.instance for each in single_outcomes(table)) or None, None


def _logged_instances(folder: Path) -> frozenset[str]:
    """The instances that a submission has logs of; their folders are called by them."""
    try:
        entries = [entry.name for entry in scandir(folder / "logs") if entry.is_dir()]
    except OSError:
        return frozenset()
    return frozenset(name for name in entries if "__" in name)
