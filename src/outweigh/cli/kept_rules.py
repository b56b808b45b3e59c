"""Whether the rules of a store are still those that its runs were made under."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from outweigh.adapters.stores.bound_rules import fits_rules
from outweigh.adapters.stores.experiment_file import EXPERIMENT_FILE, recall_suite
from outweigh.adapters.stores.jsonl import STANDARD_INPUT
from outweigh.errors import EvidenceError
from outweigh.record.codec import Located
from outweigh.record.payment import REUSED
from outweigh.record.rules import RULES_LABEL
from outweigh.record.run_record import RunRecord


class KeptRules:
    """Looks at records as they are read, and afterwards at the rules beside them."""

    def __init__(self) -> None:
        self._named: dict[str, set[str]] = defaultdict(set)

    def watch(self, records: Iterable[Located]) -> Iterator[Located]:
        """Pass records on. Runs that were taken over from elsewhere were made under the rules there."""
        for located in records:
            run = located.record
            if isinstance(run, RunRecord) and RULES_LABEL in run.extra and REUSED not in run.extra:
                self._named[located.source].add(str(run.extra[RULES_LABEL]))
            yield located

    def refuse_edits(self, runs: Sequence[str]) -> None:
        """A rule that is changed once results are in decides nothing: the file must be what it was."""
        stores = {Path(path) for path in runs if path != STANDARD_INPUT}
        for source, named in self._named.items():
            folder = Path(source).parent
            experiment = recall_suite(folder) if folder in stores else None
            if experiment is not None and not all(fits_rules(experiment, one) for one in named):
                raise EvidenceError(
                    f"{folder / EXPERIMENT_FILE} was edited: its policy, profile or looked_at is not what its runs "
                    "were made under. Change it back; to read the records alone, by other rules, name the .jsonl files."
                )
