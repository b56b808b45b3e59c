"""Numbers on a command line: whole ones within bounds, and dollars."""

import argparse

MOST_REPEATS = 10_000
MOST_JOBS = 1_000


def repeats(text: str) -> int:
    """How often each trial is made."""
    return _whole(text, MOST_REPEATS)


def jobs(text: str) -> int:
    """How many things at once."""
    return _whole(text, MOST_JOBS)


def dollars(text: str) -> float:
    """An amount that can be spent."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in dollars")
    return amount


def _whole(text: str, most: int) -> int:
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between 1 and {most:,}")
    return number
