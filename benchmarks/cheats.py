"""The scan for cheats: what a diff that is made to hold it up takes beside an ordinary one of the same length."""

from random import Random
from time import process_time

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.app.scan import bundled_rules
from outweigh.testing.builders import a_run
from outweigh.transcript.cheat_scan import scan_run
from outweigh.transcript.scan_material import FRAGMENT_LENGTH, TEXT_LIMIT

ROUNDS = 5
ORDINARY = "    value = compute(first, second)  # rounds half up, as the format asks"
_AMBIGUOUS = (
    "case (( === 'a b (c ( (x, i ",
    'if (text.equals("a, b',
    "(, (, ",
    " / / ",
    "\"'",
    "x ",
    "-a ",
    "origin/",
    "..",
)


def measure(_: Setting) -> list[Ratio]:
    """The longest diff that is scanned, hostile against ordinary."""
    hostile, ordinary = _diff(_hostile_lines()), _diff([ORDINARY * 7] * (TEXT_LIMIT // FRAGMENT_LENGTH))
    rules, run = bundled_rules(), a_run()
    times = median_seconds(
        {
            "hostile": lambda: scan_run(run, None, hostile, rules),
            "ordinary": lambda: scan_run(run, None, ordinary, rules),
        },
        ROUNDS,
        process_time,
    )
    return [
        Ratio(
            name="scan of the longest hostile diff : of an ordinary one",
            measured=times["hostile"] / times["ordinary"],
            target=20,
            better="lower",
            note=f"{times['hostile']:.2f} s of the processor for {len(hostile) / 1e6:.1f} MB",
        )
    ]


def _hostile_lines() -> list[str]:
    """Lines with the words of every rule, so that all are searched, and with the beginnings of what they look for."""
    random = Random(1)
    words = [word for rule in bundled_rules().rules for word in rule.words]
    lines = []
    for _ in range(TEXT_LIMIT // FRAGMENT_LENGTH):
        parts = (random.choice(words) + random.choice(_AMBIGUOUS) for _ in range(FRAGMENT_LENGTH // 6))
        lines.append("".join(parts)[: FRAGMENT_LENGTH - 2])
    return lines


def _diff(lines: list[str]) -> str:
    head = f"diff --git a/src/x.py b/src/x.py\n--- a/src/x.py\n+++ b/src/x.py\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}\n" for line in lines)
