"""What a solution that fails, or a check after it, printed, and what to do about it."""

import re
from collections.abc import Iterator

from outweigh.engine.checks.evaluate import CheckEvaluation
from outweigh.model.failure import detail_line
from outweigh.model.preflight_result import FindingKind, PreflightFinding, make_finding

_READ_ONLY = re.compile(rb"Read-only file system")
_NO_NETWORK = re.compile(
    rb"temporary failure (?:in name resolution|resolving)|could not resolve|name or service not known"
    rb"|network is unreachable|\b(?:ENOTFOUND|EAI_AGAIN)\b|\bdns error|bad address '",
    re.IGNORECASE,
)
"""What programs print when they look for a host and there is no network."""


def findings_about_output(
    printed: tuple[bytes, ...], evaluation: CheckEvaluation, *, in_image: bool
) -> Iterator[PreflightFinding]:
    """The last line of every failed check, and advice by what the solution's script and the checks printed."""
    for name, line in _last_lines(evaluation):
        yield make_finding(
            FindingKind.SOLUTION_FAILS, f"The last line that check {name!r} printed: {detail_line(line)}"
        )
    outputs = (*printed, *evaluation.artifacts.values())
    if in_image and any(map(_READ_ONLY.search, outputs)):
        yield make_finding(
            FindingKind.SOLUTION_FAILS,
            "Its solution or a check writes outside of the workspace, where its image is read-only. To let programs "
            "write there, set writable_system = true under [sandbox]; it is not kept for the checks.",
        )
    if any(map(_NO_NETWORK.search, outputs)):
        yield make_finding(
            FindingKind.SOLUTION_FAILS,
            "Its solution or a check looks for a host, and there is no network while a task runs. Put what it "
            "downloads into the task or its image, or name the host in allow_hosts under [sandbox].",
        )


def _last_lines(evaluation: CheckEvaluation) -> Iterator[tuple[str, str]]:
    """The last line of each failed check, of its errors where it printed any."""
    for check in evaluation.results:
        if check.passed or not check.required:
            continue
        streams = (evaluation.artifacts.get(f"checks/{check.name}.{stream}", b"") for stream in ("stderr", "stdout"))
        lines = (line for content in streams for line in content.decode(errors="replace").splitlines()[-1:])
        if (last := next(lines, None)) is not None:
            yield check.name, last
