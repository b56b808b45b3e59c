"""`outweigh store copy`: a store from one place to another, verified."""

from collections.abc import Iterator, Sequence

from outweigh.app.copy_store import CopyRequest, CopyResult, copy_store
from outweigh.cli.arguments import CommandOptions, Parser
from outweigh.cli.console import notify, print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import quote_names
from outweigh.report.formatting import count_of, format_bytes


class _Options(CommandOptions):
    source: str
    target: str
    check_artifacts: bool


def main(arguments: Sequence[str]) -> int:
    """Copy, and say what was copied and that it is the same."""
    options = build_parser().parse_command(arguments, _Options())
    request = CopyRequest(source=options.source, target=options.target, check_artifacts=options.check_artifacts)
    for line in _describe(copy_store(request, notify)):
        print_escaped(line)
    return ExitCode.SATISFIED


def _describe(result: CopyResult) -> Iterator[str]:
    known = count_of(result.known_artifacts, "artifact")
    if result.artifacts or result.files:
        copied = f"{count_of(result.artifacts, 'artifact')} and {count_of(result.files, 'file')}"
        yield f"copied {copied}, {format_bytes(result.bytes)}; {known} were there already"
    else:
        yield f"nothing to copy: {known} and all files were there already"
    if result.replaced:
        yield f"brought up to date: {quote_names(result.replaced, len(result.replaced))}"
    if result.damaged:
        yield f"damaged in the source already, and copied as they are: {quote_names(result.damaged)}"
    yield f"{count_of(result.records, 'record')} on both sides, evidence sha256 {result.evidence_sha256}"


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store copy",
        description="Copy a store to or from another folder or address, and verify the copy by the hash of its "
        "records. Run it again to resume an interrupted copy, or to bring a copy up to date. Nothing is ever deleted.",
        examples=(
            "outweigh store copy outweigh-runs/demo s3://team/stores/demo",
            "outweigh store copy sftp://host/srv/stores/demo outweigh-runs/demo",
        ),
    )
    parser.add_argument("source", metavar="SOURCE", help="the store to copy: a folder, or an address such as s3://…")
    parser.add_argument("target", metavar="TARGET", help="the folder or address that becomes the copy")
    parser.add_argument(
        "--check-artifacts",
        action="store_true",
        help="also read every artifact that is there already, and copy it again if it was damaged",
    )
    return parser
