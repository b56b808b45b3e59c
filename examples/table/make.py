"""Writes nightly.csv: a table as a team might keep it, with a row per run. The figures are made up."""

import csv
import random
from pathlib import Path

TASKS = (
    "retries",
    "parser",
    "cache",
    "login",
    "export",
    "search",
    "upload",
    "quota",
    "audit",
    "theme",
    "rename",
    "batch",
)
HEADER = (
    "Task",
    "Config",
    "Started",
    "Passed",
    "Took ms",
    "Prompt tokens",
    "Cached tokens",
    "Completion tokens",
    "USD",
)


def main() -> None:
    """Twelve tasks, two configurations, one run each."""
    chance = random.Random(7)
    with Path(__file__).with_name("nightly.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        for number, task in enumerate(TASKS):
            speed = chance.uniform(0.8, 1.6)
            for config, share, passes in (("plain", 1.0, 0.5), ("with-notes", 0.72, 0.9)):
                size = speed * share * chance.uniform(0.93, 1.07)
                prompt = int(42_000 * size)
                writer.writerow(
                    [
                        task,
                        config,
                        f"2026-05-{4 + number:02}T02:{chance.randrange(60):02}:00Z",
                        "yes" if chance.random() < passes else "no",
                        int(181_000 * size),
                        prompt,
                        int(prompt * 0.8),
                        int(5_200 * size),
                        f"{0.21 * size:.4f}",
                    ]
                )


if __name__ == "__main__":
    main()
