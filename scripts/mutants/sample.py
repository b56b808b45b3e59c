"""Which mutants a run tries: all of the functions that decide, and a seeded sample of the rest."""

import re
from pathlib import Path
from random import Random

from scripts.mutants.operators import Mutant, mutants_of

PACKAGES = ("verdict", "score", "compare", "stats", "store")

ALWAYS = (
    (
        "verdict/evidence_rule.py",
        r"examine_gate|apply_rule|alarmed_gates|_finding|_decide|_superior|_rejected|_weakest",
    ),
    ("verdict/evidence_policy.py", r"_blind_spots|_missing_tasks"),
    ("verdict/weigh_evidence.py", r"decision_of|_weigh_candidate|WeighedEvidence\.alarms"),
    ("verdict/weigh_looks.py", r"_supersedes|_is_complete|_before_the_first_look"),
    ("verdict/promotion.py", r".*"),
    ("verdict/blockers.py", r"blockers|_reasons|_unequal_losses|_same_content"),
    ("store/append_log.py", r".*"),
)
"""Functions whose mutants are all tried: the decision, promotion, what forbids it, and what makes records durable."""


def all_mutants(root: Path) -> list[Mutant]:
    """Every mutant of the packages, in a stable order."""
    files = [path for package in PACKAGES for path in sorted((root / package).glob("*.py"))]
    return [mutant for path in files for mutant in mutants_of(root, str(path.relative_to(root)))]


def draw(mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """The required mutants, filled up to `size` by chance; in random order, so that a part of a run is a sample too."""
    required = [mutant for mutant in mutants if always(mutant)]
    for file, functions in ALWAYS:
        if not any(mutant.file == file and re.fullmatch(functions, mutant.function) for mutant in required):
            raise SystemExit(f"no mutant of {file} ({functions}): adapt ALWAYS in {__name__} to the new names.")
    rest = [mutant for mutant in mutants if not always(mutant)]
    random = Random(seed)
    drawn = required + random.sample(rest, max(0, min(size - len(required), len(rest))))
    random.shuffle(drawn)
    return drawn


def always(mutant: Mutant) -> bool:
    """Whether a mutant is tried in every run."""
    return any(mutant.file == file and re.fullmatch(functions, mutant.function) for file, functions in ALWAYS)
