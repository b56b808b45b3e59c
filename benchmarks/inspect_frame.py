"""How long inspect_ai takes to read a log as a data frame; a program of its own, because inspect_ai lives elsewhere."""

import sys
from time import perf_counter

from inspect_ai.analysis import samples_df


def main() -> None:
    path, rounds = sys.argv[1], int(sys.argv[2])
    for number in range(rounds + 1):
        start = perf_counter()
        frame = samples_df(path, quiet=True)
        if number or not rounds:  # the first round loads what later ones have
            print((perf_counter() - start) / len(frame))


if __name__ == "__main__":
    main()
