"""Print the size and shape of the code: `python -m scripts.structure [REVISION …] [--install] [--check]`.

Each revision becomes a column (the working tree is always the last one), so that "before and after" is one command.
`--install` also installs each revision into an empty environment and weighs it; `--check` times `make check`.
"""

import argparse
import ast
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from statistics import median

PACKAGE = "outweigh"
SLIVER_LINES = 40
LONG_LINES = 350
JUDGING = re.compile(r"judg|jury|rubric|courtroom|hearing|duel|pairwise", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its lines, and what it defines and imports."""

    name: str
    lines: int
    tree: ast.Module

    @property
    def classes(self) -> list[str]:
        """Public classes that the file defines."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]

    @property
    def is_about_judging(self) -> bool:
        """Whether its name or its first sentence speaks of judges."""
        return _speaks_of_judging(self.name, self.tree)

    @property
    def judging_classes(self) -> list[str]:
        """Public classes whose name or first sentence speaks of judges."""
        classes = (node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_")
        return [node.name for node in classes if _speaks_of_judging(node.name, node)]

    def imports(self, known: Mapping[str, "Module"]) -> set[str]:
        """Modules of the package that it imports, wherever the statement stands."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= (inner & known.keys()) or {node.module}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        return (found & known.keys()) - {self.name}


def _speaks_of_judging(name: str, node: ast.Module | ast.ClassDef) -> bool:
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    return bool(JUDGING.search(f"{name} {summary}"))


class Codebase:
    """The modules below `src` of one checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {module.name: module for module in map(self._read, sorted((root / "src").rglob("*.py")))}

    def _read(self, path: Path) -> Module:
        parts = path.relative_to(self.root / "src").with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return Module(name=name, lines=text.count("\n"), tree=ast.parse(text))

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Which module imports which."""
        return {name: module.imports(self.modules) for name, module in self.modules.items()}

    def modules_with_one_importer(self) -> int:
        """Modules that exactly one other module imports."""
        importers = Counter(target for targets in self.imports.values() for target in targets)
        return sum(count == 1 for count in importers.values())

    def longest_chain(self) -> int:
        """How many modules the longest path of imports visits."""
        depths: dict[str, int] = {}

        def depth(name: str, above: frozenset[str]) -> int:
            if name not in depths:
                below = self.imports[name] - above
                depths[name] = 1 + max((depth(target, above | {name}) for target in below), default=0)
            return depths[name]

        return max(depth(name, frozenset({name})) for name in self.modules)

    def repeated_module_names(self) -> int:
        """Last parts of module names that more than one module has."""
        names = Counter(name.rpartition(".")[2] for name in self.modules)
        return sum(count > 1 for count in names.values())

    def repeated_class_names(self) -> int:
        """Names of public classes that more than one module defines."""
        homes: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            for name in module.classes:
                homes[name].add(module.name)
        return sum(len(found) > 1 for found in homes.values())

    def figures(self) -> dict[str, str]:
        """Every figure that reading the source gives."""
        lines = [module.lines for module in self.modules.values()]
        judging = [module for module in self.modules.values() if module.is_about_judging]
        cli = [module for module in self.modules.values() if module.name.startswith(f"{PACKAGE}.cli")]
        return {
            "files": str(len(lines)),
            "lines": f"{sum(lines):,}",
            "median file": f"{median(lines):.0f} lines",
            "longest file": f"{max(lines)} lines",
            f"files under {SLIVER_LINES} lines": str(sum(count < SLIVER_LINES for count in lines)),
            f"files over {LONG_LINES} lines": str(sum(count > LONG_LINES for count in lines)),
            "modules with one importer": str(self.modules_with_one_importer()),
            "longest import chain": str(self.longest_chain()),
            "module names used twice": str(self.repeated_module_names()),
            "class names used twice": str(self.repeated_class_names()),
            "files about judging": str(len(judging)),
            "classes about judging": str(sum(len(module.judging_classes) for module in self.modules.values())),
            "files in cli/": str(len(cli)),
        }


def installed(root: Path) -> dict[str, str]:
    """Packages and megabytes of a plain `pip install`, in an environment that holds nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", folder], check=True)
        python = next(Path(folder).glob("bin/python"))
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", str(python), str(root)], check=True)
        site = next(Path(folder).glob("lib/python*/site-packages"))
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and not path.is_symlink())
        packages = len(list(site.glob("*.dist-info")))
    return {"packages installed": str(packages), "megabytes installed": f"{size / 1e6:.0f}"}


def checked(root: Path) -> dict[str, str]:
    """Seconds that `make check` takes in a checkout that is set up."""
    if "\ncheck:" not in (root / "Makefile").read_text(encoding="utf-8"):
        return {"make check": "–"}
    subprocess.run(["make", "setup"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    start = time.monotonic()
    subprocess.run(["make", "check"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    return {"make check": f"{time.monotonic() - start:.0f} s"}


def unpack(revision: str, folder: Path) -> Path:
    """The files of a revision, in a folder of their own."""
    archive = subprocess.run(["git", "archive", revision], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def main(arguments: Sequence[str]) -> None:
    """Print one column per revision."""
    parser = argparse.ArgumentParser(prog="python -m scripts.structure", description=__doc__)
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        roots = {name: unpack(name, Path(scratch) / str(index)) for index, name in enumerate(options.revisions)}
        roots["working tree"] = Path.cwd()
        columns = {}
        for name, root in roots.items():
            columns[name] = Codebase(root).figures()
            columns[name] |= installed(root) if options.install else {}
            columns[name] |= checked(root) if options.check else {}
    rows = list(columns["working tree"])
    widths = [max(map(len, rows)), *(max(14, len(name)) for name in columns)]
    table = [["", *columns], *([row, *(column.get(row, "–") for column in columns.values())] for row in rows)]
    for cells in table:
        first, *others = cells
        print(first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)))


if __name__ == "__main__":
    main(sys.argv[1:])
