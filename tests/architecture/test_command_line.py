"""The command line parses, calls and prints; the rest of the package neither prints nor parses."""

import ast
from collections.abc import Iterator
from pathlib import Path

from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.judging_file import JUDGING_FILE
from outweigh.store.pins import CHECKS_FILE, EARLIER_CHECK_FILE, PIN_FILE
from outweigh.store.preflight_file import PREFLIGHT_FILE
from outweigh.store.records import MANIFEST_FILE

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "outweigh"
OWN_ERRORS = {"OutweighError", "UsageError", "EvidenceError", "MissingExtraError"}
INSIDE_THE_SANDBOX = {
    "agents/acp_bridge.py",
    "agents/handshake_recorder.py",
}  # a program of its own, which the agent's process talks to
STORE_FILES = {
    EXPERIMENT_FILE,
    JUDGING_FILE,
    MANIFEST_FILE,
    PREFLIGHT_FILE,
    PIN_FILE,
    CHECKS_FILE,
    EARLIER_CHECK_FILE,
}


def nodes(folder: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every node of every module below a folder of the package, with the module's path."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            yield file.relative_to(PACKAGE).as_posix(), node


def names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def is_printing(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ("stdout", "stderr") and isinstance(node.value, ast.Name) and node.value.id == "sys"
    return isinstance(node, ast.Name) and node.id == "print"


def test_within_the_command_line_only_main_catches_errors_of_ours() -> None:
    catching = {
        path
        for path, node in nodes(PACKAGE / "cli")
        if isinstance(node, ast.ExceptHandler) and node.type is not None and names(node.type) & OWN_ERRORS
    }

    assert catching == {"cli/main.py"}


def test_outside_of_the_command_line_nothing_is_printed() -> None:
    printing = {path for path, node in nodes(PACKAGE) if is_printing(node)}

    assert {path for path in printing if not path.startswith("cli/")} == INSIDE_THE_SANDBOX


def test_outside_of_the_command_line_no_arguments_are_parsed() -> None:
    parsing = {
        path
        for path, node in nodes(PACKAGE)
        if isinstance(node, ast.Import) and any(alias.name == "argparse" for alias in node.names)
    }

    assert all(path.startswith("cli/") for path in parsing)


def test_parsed_options_have_types_of_their_own() -> None:
    untyped = [
        path for path, node in nodes(PACKAGE / "cli") if isinstance(node, ast.Attribute) and node.attr == "Namespace"
    ]

    assert untyped == []


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every text of every module below a folder, docstrings included."""
    for path, node in nodes(folder):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield path, node.value


def test_the_command_line_spells_no_file_name_of_a_store() -> None:
    spelled = [(path, text) for path, text in texts(PACKAGE / "cli") if any(name in text for name in STORE_FILES)]

    assert spelled == []


def test_the_command_line_imports_no_file_name_of_a_store() -> None:
    imported = [
        (path, alias.name)
        for path, node in nodes(PACKAGE / "cli")
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("outweigh.store")
        for alias in node.names
        if alias.name.isupper()
    ]

    assert imported == []
