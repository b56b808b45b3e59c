"""What the verbs share: the argument parser, common options, number types, and printing a report."""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from outweigh.cli.console import silence_notices
from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report
from outweigh.store.store_address import refuse_address, scheme_of

MAX_REPEATS_OPTION = 10_000
MAX_JOBS = 1_000
PORT_COUNT = 65_536
NARROWEST_SCREEN, WIDEST_TEXT = 40, 100


def parse_repeats(text: str) -> int:
    """How often each trial is made."""
    return _parse_whole(text, MAX_REPEATS_OPTION)


def parse_jobs(text: str) -> int:
    """How many things at once."""
    return _parse_whole(text, MAX_JOBS)


def parse_port(text: str) -> int:
    """Where to listen."""
    if not text.isdecimal() or int(text) >= PORT_COUNT:
        raise UsageError(f"--port {text}: a port is a number below {PORT_COUNT}, 0 takes any that is free.")
    return int(text)


def parse_output(text: str) -> Path:
    """Where to write; addresses are only read."""
    refuse_address(text, f"-o {scheme_of(text)}://…")
    return Path(text)


def parse_seconds(text: str) -> float:
    """A time that passes."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def parse_dollars(text: str) -> float:
    """An amount that can be spent."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in dollars")
    return amount


def _parse_whole(text: str, most: int) -> int:
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between 1 and {most:,}")
    return number


def parse_column_map(text: str) -> dict[str, str]:
    """One FIELD=COLUMN, or all that a TOML file has as `field = "column"`; an empty COLUMN leaves the field out."""
    field, mark, column = text.partition("=")
    if field and mark:
        return {field: column}
    if mark or not text.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither FIELD=COLUMN nor a .toml file with such lines")
    import tomllib  # noqa: PLC0415 - rarely used

    try:
        found = tomllib.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as fault:
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {fault.strerror}") from None
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"{text} is not TOML: {fault}") from None
    for name, value in found.items():
        if not (isinstance(value, str) and value):
            raise argparse.ArgumentTypeError(f'{text}: {name} must name a column, such as {name} = "config.name"')
    return found


def add_map_option(parser: argparse._ActionsContainer) -> None:
    """Which column of a table has which field."""
    parser.add_argument(
        "--map",
        metavar="FIELD=COLUMN",
        action="append",
        default=[],
        type=parse_column_map,
        help="the column of a field, such as arm=config.name, or a .toml file of such lines; may be repeated (default: "
        "by its name)",
    )


OUTPUT_FORMATS = ("text", "json", "markdown")


_UNKNOWN = "unrecognized arguments: "
"""How argparse begins to complain about arguments that no option takes."""

COMMON_OPTIONS = "Output"
LAST_GROUPS = ("Statistics", "Reading", COMMON_OPTIONS)
"""Groups of options that the help shows last. Every verb has the common ones."""


class CommandOptions:
    """Options that know the command line they come from, so that an error can show one that works."""

    command: tuple[str, ...]


_OptionsT = TypeVar("_OptionsT", bound=CommandOptions)


class Parser(argparse.ArgumentParser):
    """The options of one verb, in groups, with examples. It raises instead of printing its own usage text."""

    def __init__(self, *, prog: str, description: str, examples: Sequence[str], epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
            allow_abbrev=False,
            add_help=False,
        )
        self.examples = tuple(examples)
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        common = self.group(COMMON_OPTIONS)
        common.add_argument("-q", "--quiet", action=_Quiet, help="print only results and errors")
        common.add_argument("-h", "--help", action="help", help="show this help")

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of options with that title, made when it is first asked for."""
        groups = {group.title: group for group in self.groups()}
        return groups[title] if title in groups else self.add_argument_group(title)

    def groups(self) -> list[argparse._ArgumentGroup]:
        """Every group in the order in which the help shows them."""
        return sorted(
            self._action_groups,
            key=lambda group: LAST_GROUPS.index(group.title) + 1 if group.title in LAST_GROUPS else 0,
        )

    def format_usage(self) -> str:
        """One line: what must be given, and that there are options."""
        if self.usage is not None:  # as it was before `parse_intermixed_args` hid the arguments
            return f"usage: {self.usage}"
        needed = [_usage_words(action) for action in self._actions if action.required or not action.option_strings]
        return f"usage: {' '.join([self.prog, *needed, '[options]'])}\n"

    def format_help(self) -> str:
        """The usage, one sentence, the examples, and the options by group."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        for group in self.groups():
            formatter.start_section(group.title)
            formatter.add_arguments(sorted(group._group_actions, key=lambda action: action.dest in ("quiet", "help")))
            formatter.end_section()
        formatter.add_text(self.epilog)
        description, options = formatter.format_help().split("\n\n", 1)
        examples = "".join(f"  {example}\n" for example in self.examples)
        return f"{self.format_usage()}\n{description}\n\nExamples:\n{examples}\n{options}"

    def parse_command(self, arguments: Sequence[str], options: _OptionsT) -> _OptionsT:
        """Fill in the options, which keep the command line; names and options may come in any order."""
        options.command = (*self.prog.split(), *arguments)
        return self.parse_intermixed_args(arguments, options)

    def error(self, message: str) -> NoReturn:
        """Turn the parser's complaint into ours."""
        if message.startswith(_UNKNOWN):
            message = self._explain_unknown(message.removeprefix(_UNKNOWN).split()[0])
        elif "expected one argument" in message:
            message = f"{message}. Write --option=VALUE for a value that starts with a dash."
        else:
            message = f"{message}."
        raise UsageError(f"{message} `{self.prog} --help` shows the options.")

    def _explain_unknown(self, argument: str) -> str:
        """What is wrong with an argument that no option takes, and which option was probably meant."""
        from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

        if not argument.startswith("-"):
            return f"unexpected argument {argument!r}."
        option = argument.partition("=")[0]
        near = get_close_matches(option, [name for name in self._option_string_actions if len(name) > 2], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"there is no option {option!r}.{hint}"


class _Quiet(argparse.Action):
    """Drops everything that the verb would write to standard error; an error that ends it is still shown."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, *_: object) -> None:
        """Take effect as soon as it is read."""
        silence_notices()


def _usage_words(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}"
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def add_damage_option(parser: Parser) -> None:
    """What to do about damaged lines, for verbs that write to a store."""
    parser.group("Store").add_argument(
        "--go-on-without",
        action="store_true",
        help="continue although lines of the store are damaged, and run again what they recorded",
    )


def add_format_option(parser: Parser) -> None:
    """How the answer looks."""
    parser.group(COMMON_OPTIONS).add_argument(
        "--format", choices=OUTPUT_FORMATS, default="text", help="how to print the result (default: %(default)s)"
    )


def add_output_option(parser: Parser, formats: str, what: str) -> None:
    """Where to write, with the endings of names in words, and what is printed without it."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        default=[],
        help=f"write a file that ends in {formats}, or with FOLDER/ all of them and every figure "
        f"as .svg and .csv; may be repeated (default: print {what})",
    )


def screen_width() -> int:
    """How many columns text may have: those of the terminal, at most 100, and 100 where there is none."""
    return max(NARROWEST_SCREEN, min(WIDEST_TEXT, shutil.get_terminal_size((WIDEST_TEXT, 0)).columns))


def print_report(report: Report, style: str) -> None:
    """Print the answer."""
    text = _choose_reporter(style).render(report)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError(f"the answer cannot be written: {fault.strerror}.") from fault


def _choose_reporter(style: str) -> Reporter:
    if style == "json":
        from outweigh.report.json_output import JsonReporter  # noqa: PLC0415 - one of three is needed

        return JsonReporter()
    if style == "markdown":
        from outweigh.report.render_markdown import MarkdownReporter  # noqa: PLC0415

        return MarkdownReporter()
    from outweigh.report.render_text import TextReporter  # noqa: PLC0415

    return TextReporter(colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"), width=screen_width())
