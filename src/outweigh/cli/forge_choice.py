"""Which forge a promotion goes to, and what it is called there."""

import argparse
from typing import cast

from outweigh.adapters.forges.address import forge_of, project_of
from outweigh.cli.arguments import Parser
from outweigh.errors import UsageError
from outweigh.plugins import load
from outweigh.ports.forges import Forge, ForgeProject


def add_forge_options(parser: Parser) -> None:
    """Who is asked to open the pull request, and how it is dressed."""
    parser.add_argument("--forge", metavar="NAME", help="github, gitlab or git (default: by the remote's host)")
    parser.add_argument("--api", metavar="URL", help="the forge's API, where it is not the well-known one")
    parser.add_argument("--reviewer", metavar="NAME", action="append", default=[], help="ask this person or ORG/TEAM")
    parser.add_argument("--label", metavar="NAME", action="append", default=[], help="add this label")
    parser.add_argument("--draft", action="store_true", help="open it as a draft")


def chosen_forge(options: argparse.Namespace, address: str) -> tuple[Forge, ForgeProject]:
    """The forge and the project there, by the address of the remote."""
    project = project_of(address, options.api)
    return cast("Forge", load("forge", options.forge or forge_of(project.host))), project


def require_forge(forge: Forge, project: ForgeProject) -> None:
    """Before anything is made: whether the forge can be asked at all."""
    if missing := forge.missing(project):
        raise UsageError(
            f"forge {forge.name} cannot be asked: {missing} Or push the branch alone: --forge git. Nothing was made."
        )
