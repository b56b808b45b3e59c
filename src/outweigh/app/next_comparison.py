"""The command that goes on with the arms of a store: it compares two that share tasks, or says what keeps them apart.

It works when it is pasted, whatever the names of arms and folders are.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from shlex import join

from outweigh.app.choose_arms import guess_baseline
from outweigh.errors import quote_names
from outweigh.report.formatting import count_of, option_words, path_word
from outweigh.report.next_step import NextStep
from outweigh.score.arm_tally import ArmTally

MOST_PAIRED = 200
"""Of more arms than this, only the first ones are compared with each other."""


def next_comparison(runs: Sequence[str], arms: Mapping[str, ArmTally]) -> NextStep | None:
    """What to do with these arms; None where there is none."""
    if not arms:
        return None
    if len(arms) == 1:
        return _about_one_arm(runs, *next(iter(arms.items())))
    baseline = guess_baseline(tuple(arms), ())
    if baseline is not None and _shares_with_all(baseline, arms):
        return _about_baseline(runs, baseline, arms)
    pairs = combinations(list(arms)[:MOST_PAIRED], 2)
    shared = {pair: len(arms[pair[0]].tasks & arms[pair[1]].tasks) for pair in pairs}
    best = max(shared, key=lambda pair: (shared[pair], _baseline_by_part(*pair) is not None))
    if not shared[best]:
        return _about_strangers(runs, arms)
    named = baseline if baseline in best else _baseline_by_part(*best)
    is_reversed = named == best[1] or (named is None and _is_later(*best))
    one, other = best[::-1] if is_reversed else best
    reverse = "" if named else "nothing says which arm is the baseline; swap them if it is the other"
    several = (
        ""
        if len(arms) == 2
        else f"these two share {count_of(shared[best], 'task')}; any two of the {len(arms):,} arms can be named"
    )
    words = "; ".join(filter(None, (several, reverse)))
    return _compare(words, runs, one, [other], arms)


def _baseline_by_part(one: str, other: str) -> str | None:
    """The one of two arms whose name says that it is the baseline, in the only part in which the names differ."""
    parts, others = one.split("/"), other.split("/")
    different = [pair for pair in zip(parts, others, strict=False) if len({*pair}) == 2]
    if len(parts) != len(others) or len(parts) < 2 or len(different) != 1:
        return None
    found = guess_baseline(different[0], ())
    return None if found is None else one if found == different[0][0] else other


_EARLIER = frozenset({"plain", "vanilla", "default", "original", "old", "before", "without", "main"})


def _is_later(one: str, other: str) -> bool:
    """Whether the first name says all that the second one says and more, or only the second sounds like a baseline.

    The order is all that this decides; the user reads that nothing says which arm is the baseline.
    """
    ours, theirs = ({*re.findall(r"[a-z0-9]+", name.lower())} for name in (one, other))
    return ours > theirs or bool(theirs & _EARLIER and not ours & _EARLIER)


def _compare(
    words: str, runs: Sequence[str], baseline: str, candidates: Sequence[str], arms: Mapping[str, ArmTally]
) -> NextStep:
    """A verdict; a comparison where no run says what was solved, so that there is nothing to decide by."""
    known = all(arms[name].results.known for name in (baseline, *candidates))
    verb = "verdict" if known else "compare"
    chosen = [word for name in candidates for word in option_words("--candidate", name)]
    gates = _recorded_gates([arms[name] for name in (baseline, *(candidates or arms))]) if known else None
    if gates is not None:
        missing = [title for name, title in _RESOURCES.items() if name not in gates]
        words = "; ".join(filter(None, (words, f"an arm has no {' and no '.join(missing)}, so that is not judged")))
    decided_by = () if gates is None else ("--gates", ",".join(("pass_rate", *gates)))
    named = (*map(path_word, runs), *option_words("--baseline", baseline), *chosen)
    return NextStep(words=words, command=_command(verb, *named, *decided_by))


_RESOURCES = {"duration": "times", "non_cache_tokens": "tokens", "cost": "costs"}


def _recorded_gates(arms: Sequence[ArmTally]) -> tuple[str, ...] | None:
    """The resources to decide by where no run of an arm has times or tokens, since nothing would be decided by those.

    None where the usual gates can be kept.
    """
    figures = {
        "duration": [arm.seconds for arm in arms],
        "non_cache_tokens": [arm.tokens for arm in arms],
        "cost": [arm.usd for arm in arms],
    }
    recorded = tuple(name for name, sums in figures.items() if all(each.known for each in sums))
    return None if {"duration", "non_cache_tokens"} <= {*recorded} else recorded


def _command(*words: str) -> str:
    return join(["outweigh", *words])


def _shares_with_all(baseline: str, arms: Mapping[str, ArmTally]) -> bool:
    return all(arms[baseline].tasks & arm.tasks for arm in arms.values())


def _about_baseline(runs: Sequence[str], baseline: str, arms: Mapping[str, ArmTally]) -> NextStep:
    others = [name for name in arms if name != baseline]
    words = f"{baseline!r} is the baseline, by its name"
    if len(others) == 1 or not all(arm.results.known for arm in arms.values()):
        return _compare(words, runs, baseline, others[:1], arms)
    return _compare(words, runs, baseline, [], arms)


def _about_one_arm(runs: Sequence[str], name: str, arm: ArmTally) -> NextStep:
    models = sorted(model for model in arm.models if model is not None)
    if len(models) > 1:
        words = f"the runs of {name!r} name {len(models)} models, {quote_names(models)}; make an arm of each"
        return NextStep(words=words, command=_split(runs, name))
    store = path_word(runs[0])
    words = (
        f"one arm is no comparison: import what {name!r} is to be compared with into the same store, using "
        f"`{_command('import')} PATH -o {join([store])}`. Its runs one by one"
    )
    return NextStep(
        words=words, command=_command("store", "export", *map(path_word, runs), "-o", f"{_stem(store)}.csv")
    )


def _stem(store: str) -> str:
    return store.rstrip("/").removesuffix(".jsonl").removesuffix(".zip").removesuffix(".outweigh") or "runs"


def _split(runs: Sequence[str], name: str) -> str:
    return _command("store", "arms", path_word(runs[0]), *option_words("--split", name), "--by", "agent.model")


def _about_strangers(runs: Sequence[str], arms: Mapping[str, ArmTally]) -> NextStep:
    """No two arms share a task: those of one model may be one arm, whose tasks were taken for part of it."""
    merged: dict[str, list[str]] = defaultdict(list)
    for name, arm in arms.items():
        model = next(iter(arm.models)) if len(arm.models) == 1 else None
        merged[model or ""].append(name)
    tasks = [set[str]().union(*(arms[name].tasks for name in names)) for names in merged.values()]
    if "" not in merged and any(one & other for one, other in combinations(tasks, 2)) and len(runs) == 1:
        several = {model: names for model, names in merged.items() if len(names) > 1}
        options = [
            word for model, names in several.items() for word in option_words("--merge", f"{','.join(names)}={model}")
        ]
        words = "no two arms share a task, but the arms of one model together share tasks with another's; join them"
        return NextStep(words=words, command=_command("store", "arms", path_word(runs[0]), *options))
    first, other = list(arms)[:2]
    held = [f"{name!r} has {quote_names(sorted(arms[name].tasks))}" for name in (first, other)]
    words = (
        f"no two arms share a task, so nothing can be compared: {', '.join(held)}. This lists all arms and tasks, to "
        "be renamed or joined"
    )
    return NextStep(words=words, command=_command("store", "arms", path_word(runs[0])))
