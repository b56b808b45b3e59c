"""`python -m outweigh`."""

from outweigh.cli.main import entry_point

entry_point()
