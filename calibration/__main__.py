"""`python -m calibration [--quick] [--only WORD]`: measure the error rates, and write them to docs/calibration.md."""

import argparse
from pathlib import Path

from calibration.cell_table import cell_sections
from calibration.page import render
from calibration.study import cell_jobs, conduct, perform_all

PAGE = Path(__file__).resolve().parents[1] / "docs" / "calibration.md"


def main() -> None:
    """Run the study."""
    options = _options()
    share = 1 / 40 if options.quick else 1.0
    if options.only is not None:
        found = [result for _, result in perform_all(list(cell_jobs(share, options.only)), options.processes)]
        print("\n\n".join(cell_sections(found)))
        return
    page = render(conduct(share, options.processes))
    if options.quick:
        print(page, end="")
    else:
        PAGE.write_text(page)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m calibration", description="How often the evidence policy is right and wrong, by simulation."
    )
    parser.add_argument("--quick", action="store_true", help="a fortieth of the draws, printed and not written")
    parser.add_argument("--only", metavar="WORD", help="print the sections with this word in their title alone")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many at once (default: 2)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
