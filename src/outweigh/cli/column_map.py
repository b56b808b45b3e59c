"""`--map`: where a table has a field, said on the command line or in a file that is kept with the table."""

import argparse
import tomllib
from pathlib import Path


def column_map(text: str) -> dict[str, str]:
    """One FIELD=COLUMN, or all that a TOML file has as `field = "column"`."""
    field, mark, column = text.partition("=")
    if field and mark and column:
        return {field: column}
    if mark or not text.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither FIELD=COLUMN nor a .toml file with such lines")
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
