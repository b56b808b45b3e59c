"""How long inspect_ai takes to read a log as a data frame; a program of its own, because inspect_ai lives elsewhere.

It reads the log once for every line that it is sent, and answers with the processor's seconds per sample.
"""

import sys
from time import process_time

from inspect_ai.analysis import samples_df


def main() -> None:
    for _ in sys.stdin:
        start = process_time()
        frame = samples_df(sys.argv[1], quiet=True)
        print((process_time() - start) / len(frame), flush=True)


if __name__ == "__main__":
    main()
