"""Values as TOML writes them: just enough for a configuration file."""

import json
from collections.abc import Sequence

TomlValue = bool | int | float | str | Sequence[str]


def toml_value(value: TomlValue) -> str:
    """A boolean, a number, a string or a list of strings, written as in JSON, whose ways are TOML's but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
