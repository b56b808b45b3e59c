"""`python -m calibration [--quick]`: measure the error rates, and write them to docs/calibration.md."""

import argparse
from pathlib import Path

from calibration.page import render
from calibration.study import conduct

PAGE = Path(__file__).resolve().parents[1] / "docs" / "calibration.md"


def main() -> None:
    """Run the study."""
    options = _options()
    page = render(conduct(1 / 40 if options.quick else 1.0, options.processes))
    if options.quick:
        print(page, end="")
    else:
        PAGE.write_text(page)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m calibration", description="How often the evidence policy is right and wrong, by simulation."
    )
    parser.add_argument("--quick", action="store_true", help="a fortieth of the draws, printed and not written")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many at once (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
