"""What kind of file a path is, by the conventions of the usual languages and tools."""

import re
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class FileKind(StrEnum):
    """What a file of a repository is for."""

    SOURCE = "source"
    TEST = "test"
    TEST_SUPPORT = "test support"
    """What tests need besides themselves: helpers, fixtures, snapshots, the settings of a test runner."""
    TYPES = "type declarations"
    DOCS = "documentation"
    CHANGELOG = "changelog"
    MANIFEST = "manifest"
    CI = "continuous integration"
    GENERATED = "generated or vendored"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatterns:
    """What a project does differently: globs over whole paths, which take precedence over the conventions."""

    tests: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


NO_PATTERNS = FilePatterns()
_CODE = re.compile(
    r"py|pyx|pxd|[cm]?[jt]s|[jt]sx|vue|svelte|go|rs|java|kts?|scala|groovy|rb|php|cs|fs|vb|[ch]|cc|cpp|cxx|hh|hpp|hxx|mm?"
    r"|swift|dart|exs?|erl|hs|mli?|clj[sc]?|lua|p[lm]|r|jl|nim|zig|d|cr|sh|bash|zsh|ps1|sol|coffee|elm|proto|graphql|sql"
)
_PROSE = frozenset(("md", "markdown", "mdx", "rst", "adoc", "txt"))
_TEST_FOLDERS = re.compile(
    r"(?:tests?|__tests?__|__mocks__|specs?|unit-?tests?|e2e|cypress|testdata|test-?data|testsuite|testcases"
    r"|(?:common|jvm|js|native|android|ios|unit|integration|functional)_?-?tests?|.+[._-]tests?|tests?[._-].+)",
    re.IGNORECASE,
)
_SUPPORT_FOLDERS = re.compile(r"(?:__snapshots__|__fixtures__|fixtures?(?:[._-].+)?)", re.IGNORECASE)
_TEST_NAMES = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|.*_test\.(?:go|rs|dart|c|cc|cpp|cxx|clj|exs|lua|rb|jl|nim|sh)|test_.*\.(?:rb|c|cc|cpp|cxx)"
    r"|.*_unittest\.(?:c|cc|cpp)|.*[._-](?:test|tests|spec|specs|e2e|cy)\.[cm]?[jt]sx?|tests?\.[cm]?[jt]sx?"
    r"|(?:Test[A-Z].*|.*(?:Test|Tests|TestCase|IT|Spec|Specs))\.(?:java|kt|kts|scala|groovy|cs|fs|vb|swift|php|cpp|cc)"
    r"|.*_spec\.(?:rb|lua|cr)|.*\.(?:bats|t|feature)"
)
_SUPPORT_NAMES = re.compile(
    r"conftest\.py|pytest\.ini|.*\.(?:snap|ambr)|jest\.config\..+|vitest\.config\..+|\.mocharc.*|mocha\.opts"
    r"|karma\.conf\..+|phpunit\.xml.*|\.rspec|(?:spec|test|rails)_helper\.rb|.*\.(?:approved|verified|golden)\..+|.*\.golden"
)
_TYPE_TESTS = re.compile(r".*\.test-d\.[cm]?tsx?|(?:.*/)?(?:typings|types)/(?:.*/)?[^/]*[._-]tests?\.[cm]?tsx?")
"""Tests of declared types, which only a type checker runs."""
RUNNER_SETTINGS = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("jest.config.*", "vitest.config.*", ".mocharc*", "mocha.opts", "karma.conf.*", "phpunit.xml*", ".rspec"),
)
"""Names of files, as patterns of a shell, that only say how tests are run."""
MANIFESTS_WITH_SETTINGS = ("package.json", "pyproject.toml", "setup.cfg", "tox.ini")
"""Manifests that may say how tests are run, too."""
_MANIFESTS = re.compile(
    r"package\.json|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-.*\.yaml|bun\.lockb?|lerna\.json"
    r"|pyproject\.toml|setup\.(?:py|cfg)|.*requirements.*\.(?:txt|in)|constraints.*\.txt|Pipfile|.+\.lock"
    r"|environment\.ya?ml|go\.(?:mod|sum|work)|go\.work\.sum|Cargo\.toml|pom\.xml|.*\.gradle(?:\.kts)?"
    r"|libs\.versions\.toml|gradle\.properties|gradle-wrapper\..+|Gemfile|.*\.gemspec|composer\.json"
    r"|.*\.(?:csproj|fsproj|vbproj|sln|slnx)|Directory\..*\.props|packages\.(?:config|lock\.json)|global\.json"
    r"|vcpkg\.json|conanfile\..+|mix\.exs|rebar\.config|pubspec\.yaml|Package\.swift"
)
_CI = re.compile(
    r"(?:\.github|\.circleci|\.gitlab|\.buildkite|\.azure-pipelines|\.travis)/.*"
    r"|\.travis\.yml|\.gitlab-ci\.yml|\.?appveyor\.yml|azure-pipelines.*\.yml|Jenkinsfile|\.cirrus\.yml|\.drone\.yml"
    r"|codecov\.yml|\.codecov\.yml|\.pre-commit-config\.yaml|\.pre-commit-hooks\.yaml"
)
_CHANGELOG = re.compile(
    r"(?:change_?-?logs?|changes|history|news|releases?_?-?notes?|whatsnew|what-?s-?new)(?:[._-].*)?"
    r"|(?:versions|releases|release[_-]history)\.(?:rst|md|markdown|adoc)",
    re.IGNORECASE,
)
_CHANGELOG_FOLDERS = frozenset(
    ("changelog", "changelogs", "changelog.d", "news", "newsfragments", "changes", "releasenotes", ".changeset")
)
_GENERATED_FOLDERS = re.compile(
    r"_?vendor(?:ed)?|third[_-]?party|node_modules|bower_components|godeps|pods|dist|(?:__)?generated(?:__)?|\.yarn",
    re.IGNORECASE,
)
_GENERATED_NAMES = re.compile(
    r".*[._-]min\.(?:js|css|mjs)|.*\.bundle\.js|.*\.map|.*_pb2(?:_grpc)?\.pyi?|.*\.pb\.(?:go|cc|h|validate\.go)"
    r"|.*\.pb\.gw\.go|.*\.(?:generated|gen|g)\.\w+|zz_generated.*|.*_generated\.\w+|bindata\.go|.*\.designer\.cs|mock_.*\.go",
    re.IGNORECASE,
)
_DOCS_FOLDERS = re.compile(
    r"(?:docs?|documentation|website|examples?|samples?|demos?|tutorials?|playground)", re.IGNORECASE
)
_DOCS_NAMES = re.compile(
    r"(?:readme|licen[cs]e|copying|notice|authors|contributors|contributing|maintainers|code_of_conduct|security|support"
    r"|install|todo|roadmap|citation)(?:[._-].*)?",
    re.IGNORECASE,
)
_SETTINGS = re.compile(
    r"\..*|noxfile\.py|tasks\.py|(?:gulp|grunt)file\..+|.*\.(?:config|conf|rc)\.[cm]?[jt]s|fabfile\.py|Makefile|.*\.mk"
    r"|Dockerfile.*|docker-compose.*|tox\.ini|mypy\.ini|ruff\.toml|Rakefile|Vagrantfile|.*\.cmake|CMakeLists\.txt"
    r"|WORKSPACE|BUILD(?:\.bazel)?|meson\.build|benchmark.*\.[cm]?[jt]s"
)
_BENCHMARK_FOLDERS = frozenset(("bench", "benches", "benchmark", "benchmarks"))
_SOURCE_FOLDERS = re.compile(
    r"src|libs?|apps?|pkg|internal|cmd|sources?|main|crates|templates|static|resources|assets|locales?|translations",
    re.IGNORECASE,
)


def classify(path: str, patterns: FilePatterns = NO_PATTERNS) -> FileKind:
    """What kind of file a path is."""
    for kind, globs in (
        (FileKind.OTHER, patterns.ignored),
        (FileKind.TEST, patterns.tests),
        (FileKind.SOURCE, patterns.source),
    ):
        if any(fnmatchcase(path, glob) for glob in globs):
            return kind
    folders, _, name = path.rpartition("/")
    parts = folders.split("/") if folders else []
    return _outside_code(path, parts, name) or _tests(parts, name) or _code(parts, name)


def is_test_data(path: str) -> bool:
    """Whether a file that tests need is data or a snapshot, and not code or the settings of a runner."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    return not _only_sets_runner(name) and not _CODE.fullmatch(suffix)


def may_set_runner(path: str) -> bool:
    """Whether a file can say how tests are run: a test runner's own settings, or a manifest that may contain them."""
    name = path.rpartition("/")[2]
    return name in MANIFESTS_WITH_SETTINGS or _only_sets_runner(name)


def _only_sets_runner(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in RUNNER_SETTINGS)


def is_lock_file(path: str) -> bool:
    """Whether a manifest lists resolved versions."""
    return re.search(r"[.-]lock\b|shrinkwrap|go\.sum$|\.lockb?$", path) is not None


def _outside_code(path: str, parts: list[str], name: str) -> FileKind | None:
    """Vendored code with its tests, CI and manifests: what is none of the project's code, wherever it is."""
    lowered = [part.lower() for part in parts]
    if any(_GENERATED_FOLDERS.fullmatch(part) for part in parts) or _GENERATED_NAMES.fullmatch(name):
        return FileKind.GENERATED
    if _CI.fullmatch(path):
        return FileKind.CI
    in_tests = any(_TEST_FOLDERS.fullmatch(part) or _SUPPORT_FOLDERS.fullmatch(part) for part in parts)
    if _MANIFESTS.fullmatch(name) and not in_tests:
        return FileKind.MANIFEST
    stem, _, suffix = name.rpartition(".")
    if not in_tests and (not _CODE.fullmatch(suffix) or not stem):
        if _CHANGELOG.fullmatch(name) or _CHANGELOG_FOLDERS.intersection(lowered):
            return FileKind.CHANGELOG
        if _DOCS_NAMES.fullmatch(name):
            return FileKind.DOCS
    return None


def _tests(parts: list[str], name: str) -> FileKind | None:
    suffix = name.rpartition(".")[2].lower()
    if _SUPPORT_NAMES.fullmatch(name) or _TYPE_TESTS.fullmatch("/".join((*parts, name))):
        return FileKind.TEST_SUPPORT
    if parts and _DOCS_FOLDERS.fullmatch(parts[0]):
        return None
    in_test_folder = any(_TEST_FOLDERS.fullmatch(part) for part in parts)
    # A module of a package, such as src/package/smoke_test.py. Packages with tests inside keep them in a folder.
    is_module = suffix == "py" and parts[:1] == ["src"] and len(parts) > 1 and not in_test_folder
    if _TEST_NAMES.fullmatch(name) and not is_module:
        return FileKind.TEST
    if any(_SUPPORT_FOLDERS.fullmatch(part) for part in parts):
        return FileKind.TEST_SUPPORT
    if in_test_folder:
        # Python and Go name their tests, so that other code beside them is not one.
        named = suffix in ("py", "go") or not _CODE.fullmatch(suffix)
        return FileKind.TEST_SUPPORT if named else FileKind.TEST
    return None


def _code(parts: list[str], name: str) -> FileKind:
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    among_source = any(_SOURCE_FOLDERS.fullmatch(part) for part in parts)
    if parts and _DOCS_FOLDERS.fullmatch(parts[0]):
        return FileKind.DOCS
    if not among_source and suffix in _PROSE:
        return FileKind.DOCS
    if _SETTINGS.fullmatch(name) or _BENCHMARK_FOLDERS.intersection(parts):
        return FileKind.OTHER
    if name.endswith((".d.ts", ".d.mts", ".d.cts", ".pyi")):
        return FileKind.TYPES
    if _CODE.fullmatch(suffix) or among_source:
        return FileKind.SOURCE
    # Programs without a suffix, such as those in bin/.
    return FileKind.SOURCE if parts and parts[0] in ("bin", "exe") and not suffix else FileKind.OTHER
