"""Runners that leave XML reports: Maven, Gradle, PHPUnit, dotnet and ctest; and RSpec, which has one of its own."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Self

from outweigh.mining.runners.base_runner import BaseRunner, has_manifest, merge_reports, quoted
from outweigh.mining.runners.compiled_runners import manifest_folders, nearest
from outweigh.mining.runners.runner import ReadFile
from outweigh.mining.runners.script_blocks import matches_name


class _ClassRunner(BaseRunner):
    """A runner whose reports name a class and a method."""

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """A file has the class of its name; parameters follow the name of a method."""
        group, _, test = reported.partition("::")
        own = PurePosixPath(path).stem
        if own not in re.split(r"[.$\\+/]", group):
            return False
        return function is None or re.split(r"[\[({]| with data set", test)[0].rpartition(".")[2].strip() == function


def _classes(files: Sequence[str]) -> list[str]:
    return sorted({PurePosixPath(path).stem for path in files})


class MavenRunner(_ClassRunner):
    """Maven with Surefire."""

    name = "Maven"
    report_format = "junit"
    program = "mvn"
    test_file = re.compile(
        r"(?:^|/)src/test/.*/[^/]*(?:Tests?|TestCase|IT|Spec)\.(?:java|kt|groovy|scala)$|/Test[^/]*\.java$"
    )

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a `pom.xml`."""
        return has_manifest(files, "pom.xml")

    def start(self, files: Sequence[str], report: str) -> str:
        """Without the network; modules without these tests are no fault."""
        options = "-o -B -fae -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false"
        chosen = f" {shlex.quote('-Dtest=' + ','.join(_classes(files)))}" if files else ""
        return merge_reports(f"{self.program} {options}{chosen} test", "*/target/surefire-reports/TEST-*.xml", report)


class GradleRunner(_ClassRunner):
    """Gradle. `projects` are the folders of its projects."""

    name = "Gradle"
    report_format = "junit"
    program = "gradle"
    test_file = re.compile(r"(?:^|/)src/(?:test|jvmTest|commonTest)/.*\.(?:java|kt|groovy|scala)$")
    projects: Sequence[str] = ("",)

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a build script."""
        return has_manifest(files, "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """With the folders of the repository's projects."""
        made = type(self)(self.program)
        made.projects = (*manifest_folders(files, "build.gradle"), *manifest_folders(files, "build.gradle.kts")) or (
            "",
        )
        return made

    def start(self, files: Sequence[str], report: str) -> str:
        """Without the network, and without results of earlier builds."""
        chosen: dict[str, list[str]] = {}
        for path in files:
            chosen.setdefault(nearest(path, self.projects), []).append(path)
        tasks = [
            " ".join((_gradle_task(project), *(f"--tests {shlex.quote('*' + name)}" for name in _classes(paths))))
            for project, paths in chosen.items()
        ]
        run = f"{self.program} --offline --continue --no-build-cache {' '.join(tasks) or 'test'}"
        return merge_reports(run, "*/build/test-results/*/TEST-*.xml", report)


def _gradle_task(project: str) -> str:
    return shlex.quote(f":{project.replace('/', ':')}:test" if project else "test")


class PhpunitRunner(_ClassRunner):
    """PHPUnit, file by file."""

    name = "PHPUnit"
    report_format = "junit"
    program = "vendor/bin/phpunit"
    test_file = re.compile(r"Test\.php$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a configuration of PHPUnit, or the project requires it."""
        if has_manifest(files, "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
            return True
        return b'"phpunit/phpunit"' in (read("composer.json") or b"")

    def start(self, files: Sequence[str], report: str) -> str:
        """A command line names one file."""
        folder = '"${TMPDIR:-/tmp}"/phpunit-reports'
        run = f"number=$((number+1)); {self.program} --log-junit {folder}/$number.xml"
        each = f'for file in {quoted(files)}; do {run} "$file" || code=1; done' if files else f"{run} || code=1"
        strip = "sed -e '1s/<?xml[^>]*?>//'"
        merge = (
            f"{{ echo '<testsuites>'; for one in {folder}/*.xml; do {strip} \"$one\"; done; echo '</testsuites>'; }}"
        )
        return f'rm -rf {folder}; mkdir -p {folder}; code=0; number=0; {each}; {merge} > "{report}"; exit $code'


class DotnetRunner(_ClassRunner):
    """`dotnet test`, which writes TRX without further packages."""

    name = "dotnet"
    report_format = "trx"
    program = "dotnet test"
    test_file = re.compile(r"Tests?\.(?:cs|fs|vb)$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a solution or a project."""
        return any(re.search(r"\.(?:sln|slnx|csproj|fsproj|vbproj)$", path) for path in files)

    def start(self, files: Sequence[str], report: str) -> str:
        """Without restoring packages; the filter compares parts of names."""
        names = "|".join(f"FullyQualifiedName~{name}" for name in _classes(files))
        chosen = f" --filter {shlex.quote(names)}" if files else ""
        run = f"{self.program} --no-restore --logger trx --results-directory TestResults{chosen}"
        return merge_reports(run, "*/TestResults/*.trx", report, root="TestRun")

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Results may have the class in the name of the test."""
        if "::" not in reported:
            head, bracket, parameters = reported.partition("(")
            group, _, test = head.rpartition(".")
            reported = f"{group}::{test}{bracket}{parameters}"
        return super().covers(path, function, reported)


class CtestRunner(BaseRunner):
    """CMake and ctest. Its tests are programs, so that none belongs to a single function."""

    name = "ctest"
    report_format = "junit"
    program = "ctest"
    test_file = re.compile(r"(?:^|/)[^/]*test[^/]*\.(?:c|cc|cpp|cxx)$", re.IGNORECASE)

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether CMake is told to add tests."""
        lists = (path for path in files if path == "CMakeLists.txt" or path.endswith("/CMakeLists.txt"))
        return any(re.search(rb"add_test|enable_testing|include\(CTest\)", read(path) or b"") for path in lists)

    def start(self, files: Sequence[str], report: str) -> str:
        """All tests, built in a folder of their own."""
        folder = '"${TMPDIR:-/tmp}"/cmake-build'
        build = f"cmake -S . -B {folder} && cmake --build {folder}"
        return f'{build} && {self.program} --test-dir {folder} --output-on-failure --output-junit "{report}"'

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        """Test functions are not reported."""
        return None

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Every test counts for every file with tests, because nothing says which program has which files."""
        return self.has_tests(path)


class RspecRunner(BaseRunner):
    """RSpec, within Bundler."""

    name = "RSpec"
    report_format = "rspec"
    program = "bundle exec rspec"
    test_file = re.compile(r"_spec\.rb$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether there is a configuration of RSpec, or a spec."""
        return has_manifest(files, ".rspec") or any(map(self.has_tests, files))

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """Without Bundler where there is no Gemfile."""
        return self if self.stated or has_manifest(files, "Gemfile") else type(self)("rspec")

    def start(self, files: Sequence[str], report: str) -> str:
        """A second formatter prints what people read."""
        return f'{self.program} --format progress --format json --out "{report}" {quoted(files)}'.rstrip()

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the file, and all titles joined by spaces."""
        if not reported.startswith(f"{path}::"):
            return False
        return function is None or matches_name(f"…{function}", reported)
