"""The words of ours that pages explain when they are pointed at. The glossary says the same, and more."""

import re
from collections.abc import Mapping
from typing import NamedTuple

TERMS: Mapping[str, str] = {
    "Arm": "one configuration under test.",
    "Baseline": "the arm that a candidate is compared with.",
    "Candidate": "the arm that may replace the baseline.",
    "Gate": "a named condition that a candidate must meet.",
    "Margin": "how much worse a candidate may be on a gate and still count as not worse.",
    "Tolerance": "how much more of a resource an improvement may use; it must be shown to stay below.",
    "Not shown": "the runs do not tell whether the gate holds.",
    "Typical run": "the geometric mean over tasks, which a few expensive runs hardly move.",
    "Total": "the mean over all runs, which is what you pay for.",
    "Composite": "one number per run: weighted dimensions, adjusted by cost, between 0 and 1.",
    "Objective": "the share of checks that passed.",
    "Non-cache tokens": "input and output tokens, without what is read from or written to the prompt cache.",
    "Cost of a pass": "all dollars spent, divided by the runs that passed.",
    "pass@k": "the chance that at least one of k runs of a task passes.",
    "pass^k": "the chance that all of k runs of a task pass.",
    "Counted run": "a run that tells something about its arm.",
    "Excluded": "left out because the infrastructure broke the run or it never started.",
    "Flaky": "some of an arm's runs of a task passed and some did not.",
    "Promotion": "opening a pull request with exactly what was tested.",
    "Trade-off": "better quality for more of a resource than the margin allows.",
    "Inconclusive": "the runs do not show enough to decide.",
    "Neutral": "the runs show that nothing changed by more than the margins.",
    "Profile": "the weights of a composite.",
    "Fingerprint": "a hash of everything that makes an arm or a set of records what it is.",
}
"""By the name that the glossary has, each with its first sentence there."""

_NAMES = sorted(TERMS, key=len, reverse=True)
_PATTERNS = {
    name: re.escape(name).replace(r"@k", r"@\d+").replace(r"\^k", r"\^\d+") + ("s?" if name[-1].isalpha() else "")
    for name in TERMS
}
_ANY = re.compile(
    "|".join(f"(?P<t{place}>(?<![\\w-]){_PATTERNS[name]}(?![\\w-]))" for place, name in enumerate(_NAMES)),
    re.IGNORECASE,
)


class FoundTerm(NamedTuple):
    """Where a term stands in a text, and its name in the glossary."""

    start: int
    end: int
    name: str


def find_terms(text: str) -> list[FoundTerm]:
    """The terms in a text from left to right, every one as often as it stands there."""
    return [
        FoundTerm(found.start(), found.end(), _NAMES[int((found.lastgroup or "t0")[1:])])
        for found in _ANY.finditer(text)
    ]


def term_anchor(name: str) -> str:
    """The id of a term's entry on a page."""
    return "term-" + re.sub(r"[^a-z]+", "-", name.lower().replace("@", "-at-").replace("^", "-all-")).strip("-")
