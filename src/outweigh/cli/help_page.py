"""The help of verbs that have others below them, the program itself first, and what to say about an unknown verb."""

from collections.abc import Mapping, Sequence

from outweigh.cli.exit_codes import EXIT_CODE_MEANINGS
from outweigh.cli.verbs import COMMON, GROUPS, MOVED, ROOT, Verb, walk_verbs


def program_help() -> str:
    """What `outweigh --help` prints."""
    width = max(map(len, ROOT.below))
    groups = [line for job, verbs in GROUPS.items() for line in ("", f"{job}:", *_lines(verbs, width))]
    return "\n".join(
        [
            "usage: outweigh VERB …",
            "",
            ROOT.summary,
            f"Start with: {', '.join(COMMON)}.",
            *groups,
            "",
            "Options:",
            "  -h, --help     show this help; `outweigh VERB --help` explains a verb and has examples",
            "  -q, --quiet    print only results and errors",
            "  -V, --version  print the version",
            "",
            _exit_codes(),
        ]
    )


def _exit_codes() -> str:
    """On two lines, each short enough for a terminal."""
    codes = [f"{int(code)} {meaning}" for code, meaning in EXIT_CODE_MEANINGS.items()]
    return f"Exit codes: {', '.join(codes[:4])},\n{', '.join(codes[4:])}."


def group_help(words: Sequence[str], verb: Verb) -> str:
    """What a verb that only has others below it prints."""
    name = " ".join(("outweigh", *words))
    summary = verb.summary[0].upper() + verb.summary[1:]
    lines = _lines(verb.below, max(map(len, verb.below)))
    return "\n".join(
        [f"usage: {name} VERB …", "", f"{summary}.", "", *lines, "", f"`{name} VERB --help` explains a verb."]
    )


def _lines(verbs: Mapping[str, Verb], width: int) -> list[str]:
    return [f"  {name:<{width}}  {verb.summary}" for name, verb in verbs.items()]


def unknown_verb(words: Sequence[str], verb: Verb, unknown: str) -> str:
    """There is no such verb, and which one was probably meant."""
    near = _nearest(words, verb, unknown)
    hint = f" Did you mean {near!r}?" if near else ""
    name = " ".join(("outweigh", *words))
    return f"there is no verb {' '.join((*words, unknown))!r}.{hint} `{name} --help` lists the verbs."


def _nearest(words: Sequence[str], verb: Verb, unknown: str) -> str | None:
    """All words of the verb whose last word is the nearest; of several with that last word, the one below `words`, else
    the one that once had the word alone.
    """
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

    names = {path[-1]: " ".join(path) for path, _ in reversed(walk_verbs())}
    names |= {name: " ".join(path) for name, path in MOVED.items()}
    names |= {name: " ".join((*words, name)) for name in verb.below}
    near = get_close_matches(unknown, names, n=1)
    return names[near[0]] if near else None


def unknown_option(words: Sequence[str], unknown: str) -> str:
    """There is no such option before a verb, and which one was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

    known = ("--help",) if words else ("--help", "--quiet", "--version")
    near = get_close_matches(unknown, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else " Options of a verb go after it."
    name = " ".join(("outweigh", *words))
    return f"`{name}` has no option {unknown!r}.{hint} `{name} --help` lists the verbs."
