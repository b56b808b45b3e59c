"""Runners that compile a package before its tests: `go test` and `cargo test`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Self

from outweigh.mining.runners.base_runner import BaseRunner, quoted
from outweigh.mining.runners.runner import ReadFile


def nearest(path: str, folders: Sequence[str]) -> str:
    """The innermost of these folders that contains a path; the top folder is an empty text."""
    above = [str(folder) if str(folder) != "." else "" for folder in PurePosixPath(path).parents]
    return next((folder for folder in above if folder in folders), "")


def manifest_folders(files: Sequence[str], name: str) -> list[str]:
    """The folders that contain a manifest."""
    return [path.removesuffix(name).rstrip("/") for path in files if path == name or path.endswith(f"/{name}")]


def in_folders(program: str, folders: Mapping[str, Sequence[str]], report: str) -> str:
    """A program that is started in several folders, each with its own arguments; what it prints is the report."""
    parts = [
        f"(cd {quoted([folder])} && {program} {quoted(arguments)}".rstrip() + f') >> "{report}" 2>&1 || code=1'
        if folder
        else f"{program} {quoted(arguments)}".rstrip() + f' >> "{report}" 2>&1 || code=1'
        for folder, arguments in folders.items()
    ]
    return f'code=0; : > "{report}"; {"; ".join(parts)}; cat "{report}"; exit $code'


class GoRunner(BaseRunner):
    """`go test`, package by package. `modules` has the name of each module by its folder."""

    name = "go test"
    report_format = "go"
    program = "go test"
    test_file = re.compile(r"_test\.go$")
    compiled_beside = "*_test.go"
    modules: Mapping[str, str] = {"": ""}

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a module with tests."""
        return bool(manifest_folders(files, "go.mod")) and any(map(self.has_tests, files))

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """With the names of the repository's modules."""
        made = type(self)(self.program)
        made.modules = {
            folder: _go_module(read(f"{folder}/go.mod" if folder else "go.mod") or b"")
            for folder in manifest_folders(files, "go.mod")
        } or self.modules
        return made

    def start(self, files: Sequence[str], report: str) -> str:
        """Results of earlier runs are not used, and no rules of a later `go vet` that old code does not meet."""
        packages: dict[str, list[str]] = {}
        for path in files:
            module = nearest(path, list(self.modules))
            package = f"./{PurePosixPath(path).parent.relative_to(module)}"
            known = packages.setdefault(module, [])
            known += [] if package in known else [package]
        return in_folders(
            f"{self.program} -json -count=1 -vet=off",
            packages or {folder: ["./..."] for folder in self.modules},
            report,
        )

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the package, and a test with its sub-tests."""
        package, _, test = reported.partition("::")
        module = nearest(path, list(self.modules))
        folder = str(PurePosixPath(path).parent.relative_to(module))
        wanted = self.modules[module] if folder == "." else f"{self.modules[module]}/{folder}"
        if not path.endswith("_test.go") or package != wanted:
            return False
        return function is None or function in test.split("/")


def _go_module(manifest: bytes) -> str:
    found = re.search(rb'^\s*module\s+"?([^\s"]+)', manifest, re.MULTILINE)
    return "" if found is None else found[1].decode("utf-8", "replace")


class CargoRunner(BaseRunner):
    """`cargo test`, crate by crate. `crates` are the folders of crates."""

    name = "cargo test"
    report_format = "cargo"
    program = "cargo test"
    test_file = re.compile(r"\.rs$")
    crates: Sequence[str] = ("",)

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a crate; many tests of something else have a manifest among their data."""
        return bool(manifest_folders(files, "Cargo.toml")) and any(map(self.has_tests, files))

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """With the folders of the repository's crates."""
        made = type(self)(self.program)
        made.crates = manifest_folders(files, "Cargo.toml") or self.crates
        return made

    def count_tests(self, files: Sequence[str]) -> int:
        """Files of integration tests, and one for the unit tests that may be in any source file."""
        rust = [path for path in files if self.has_tests(path)]
        return bool(rust) + sum(map(self.is_test_file, rust))

    def is_test_file(self, path: str) -> bool:
        """Unit tests are in source files; only files of integration tests are tests alone."""
        return super().is_test_file(path) and not path.startswith("src/") and "/src/" not in path

    def start(self, files: Sequence[str], report: str) -> str:
        """All tests of the crates that the files are in."""
        folders = dict.fromkeys(nearest(path, self.crates) for path in files) or {"": None}
        return in_folders(f"{self.program} --no-fail-fast", dict.fromkeys(folders, ()), report)

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the crate, the source file of the program, and the test by its modules."""
        crate = nearest(path, self.crates)
        inside = PurePosixPath(path).relative_to(crate) if crate else PurePosixPath(path)
        parts = reported.split("::")
        if len(parts) < 3 or inside.suffix != ".rs":
            return False
        if inside.parts[0] == "tests":
            same = parts[1] == str(inside) or parts[1].startswith(f"tests/{inside.parts[1]}/")
        else:
            modules = [part for part in inside.with_suffix("").parts[1:] if part not in ("lib", "main", "mod")]
            same = parts[1].startswith("src/") and parts[2 : 2 + len(modules)] == modules
        return same and (function is None or function in parts[2:])
