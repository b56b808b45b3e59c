"""Looks for signs of cheating in a run's diff and transcript, by rules that are data.

Time is bounded whatever an agent wrote: patterns repeat nothing without bound, fragments are short, and each rule
searches a limited number of them.
"""

from collections.abc import Iterator, Sequence

from outweigh.model.run_record import RunRecord
from outweigh.model.scan_result import CheatFinding, RunScan
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.cheat_rules import CheatRule, CheatRules, LookAt
from outweigh.transcript.file_changes import FileStatus
from outweigh.transcript.scan_material import Fragment, ScanMaterial, gather_material

SEARCH_LIMIT = 2_000
"""How many fragments with its words one rule searches; a run that has more of them is not scanned completely."""

EXCERPT_LENGTH = 160


def scan_run(run: RunRecord, steps: Sequence[AtifStep] | None, diff: str | None, rules: CheatRules) -> RunScan | None:
    """The findings of one run; None where neither its steps nor its diff were kept."""
    if steps is None and diff is None:
        return None
    material = gather_material(steps, diff)
    lowered = {part: [fragment.text.lower() for fragment in found] for part, found in material.fragments.items()}
    findings, complete = [], material.complete
    for rule in rules.rules:
        search = _RuleSearch(rule, rules, material, lowered)
        if (finding := search.finding()) is not None:
            findings.append(finding)
        complete &= search.complete
    looked_at = ("diff",) * (diff is not None) + ("transcript",) * (steps is not None)
    return RunScan(
        run_id=run.run_id, attempt=run.attempt, looked_at=looked_at, complete=complete, findings=tuple(findings)
    )


class _RuleSearch:
    """One rule applied to one run."""

    def __init__(
        self, rule: CheatRule, rules: CheatRules, material: ScanMaterial, lowered: dict[LookAt, list[str]]
    ) -> None:
        self.complete = True
        self._rule = rule
        self._rules = rules
        self._material = material
        self._lowered = lowered
        self._left = SEARCH_LIMIT

    def finding(self) -> CheatFinding | None:
        rule = self._rule
        found = [match for part in rule.looks_at for match in self._matches(part)]
        times = len(found)
        if rule.net:
            times -= sum(1 for _ in self._matches(LookAt.ADDED_LINE, in_new_files=True))
        if not found or times < 1 or (rule.net and not self.complete):
            return None
        place, text = found[0]
        return CheatFinding(
            rule=rule.id,
            title=rule.title,
            severity=rule.severity,
            times=times,
            place=_printable(place),
            excerpt=_printable(text),
        )

    def _matches(self, part: LookAt, *, in_new_files: bool = False) -> Iterator[tuple[str, str]]:
        """The place and text of every fragment that the rule finds."""
        rule = self._rule
        for fragment, lowered in zip(self._material.fragments[part], self._lowered[part], strict=True):
            if not rule.may_match(lowered) or not self._covers(fragment, in_new_files=in_new_files):
                continue
            if self._left == 0:
                self.complete = False
                return
            self._left -= 1
            text = fragment.text
            match = rule.find(text)
            # A changed line has the next one with it; what begins there is found there.
            own_line = text.partition("\n")[0] if part is LookAt.ADDED_LINE else text
            if match is not None and match.start() <= len(own_line):
                yield fragment.place, max(own_line, text[: match.end()], key=len)

    def _covers(self, fragment: Fragment, *, in_new_files: bool) -> bool:
        """Whether the rule looks into the file of a fragment. A file that moved to where it would too was not lost."""
        change = fragment.change
        if change is None:
            return True
        if self._rule.only_modified and change.kind is not FileStatus.MODIFIED and not in_new_files:
            return False
        covers = self._rules.covers_path
        return covers(self._rule, change.path) and not (change.moved_to and covers(self._rule, change.moved_to))


def _printable(text: str) -> str:
    """A text on one line, short and without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * EXCERPT_LENGTH]).split())
    return line if len(line) <= EXCERPT_LENGTH else f"{line[: EXCERPT_LENGTH - 1]}…"
