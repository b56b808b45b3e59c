"""What the manifests of a Python project say: its name, what its tests need, and where its version comes from."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from outweigh.mining.runners.python_runners import PytestRunner, UnittestRunner
from outweigh.mining.runners.runner import ReadFile
from outweigh.model.untrusted_json import as_dict, as_list, as_str

PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
_OTHER_MANIFESTS = ("tox.ini", "noxfile.py", "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", "pytest.ini")
_SETTINGS = ("tox.ini", "noxfile.py", "pytest.ini")
_REQUIREMENTS = re.compile(r"(?:^|/)(?:requirements|constraints)[^/]*\.(?:txt|in)$|^requirements/[^/]+\.(?:txt|in)$")
# How projects call what their tests need; the rest of the name may say for what (`test-extra`, `tests_mypy`).
_TEST_NAME = re.compile(r"(?:unit)?-?test(?:s|ing)?|dev|develop|development|ci|all", re.IGNORECASE)
_TEST_FILE = re.compile(r"test|dev|ci\b", re.IGNORECASE)
_VERSION_TOOLS = re.compile(
    r"setuptools[-_]scm|hatch[-_]vcs|versioningit|versioneer|dunamai|dynamic-versioning|\bpbr\b|git-versioning"
    r'|source\s*=\s*"(?:vcs|scm)"'
)
# Tables that say how code is checked and not what is installed.
_IRRELEVANT_TOOLS = frozenset(
    {
        *("ruff", "black", "isort", "mypy", "pyright", "pytest", "coverage", "towncrier", "interrogate", "pylint"),
        *("codespell", "flake8", "bandit", "typos", "ty", "cibuildwheel", "semantic_release", "commitizen"),
        *("bumpversion", "bumpver", "tbump", "check-wheel-contents", "djlint", "sponsors"),
    }
)
_BUILDS_NATIVE = re.compile(
    r"ext_modules|Extension\(|cython|maturin|scikit-build|mesonpy|cffi|pybind11|setuptools-rust", re.I
)
_COMPILED = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pyx", ".pxd", ".rs", ".f90")
_NATIVE_FILES = (*_COMPILED, "Cargo.lock", "meson.build")
_DESCRIPTIVE = frozenset(
    {
        *("description", "readme", "authors", "maintainers", "keywords", "classifiers", "urls", "license"),
        *("license-files", "entry-points"),
    }
)
_TEST_PATH = re.compile(r"(?:^|/)tests?/.*\.py$|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)|importorskip\(\s*[\"']([A-Za-z_]\w*)", re.MULTILINE)
_MOST_TEST_FILES = 60
_OTHER_PURPOSE = re.compile(r"doc|lint|typing|mypy|format|release|publish|style", re.IGNORECASE)
# Options of pytest that need a plugin.
_PLUGIN_OPTIONS = {
    "--cov": "pytest-cov",
    "--timeout": "pytest-timeout",
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--asyncio-mode": "pytest-asyncio",
    "--benchmark": "pytest-benchmark",
    "--randomly": "pytest-randomly",
    "--mypy": "pytest-mypy",
    "--reruns": "pytest-rerunfailures",
    "--flake8": "pytest-flake8",
    "--isort": "pytest-isort",
    "--pylint": "pytest-pylint",
    "--black": "pytest-black",
    "--doctest-plus": "pytest-doctestplus",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonManifests:
    """A Python project at a commit.

    `source` is the file that states its own dependencies, None where it is not a package. `extras`, `groups`, `files`
    and `requirements` are what its tests need. `plugins` are those of pytest that its settings name. `entry_points`
    are those that other code looks up, by group; they are written for every workspace and install nothing. With
    `by_unittest` nothing in the project uses pytest.
    """

    name: str | None
    source: str | None
    extras: tuple[str, ...]
    groups: tuple[str, ...]
    files: tuple[str, ...]
    requirements: tuple[str, ...]
    plugins: tuple[str, ...]
    requires_python: str | None
    classified_pythons: tuple[str, ...]
    version: str | None
    version_from_tags: bool
    entry_points: Mapping[str, Mapping[str, str]]
    has_uv_lock: bool
    by_unittest: bool
    contents: Mapping[str, bytes]


def read_python_manifests(files: Collection[str], read: ReadFile) -> PythonManifests | None:
    """The Python project of a commit; None where there is none."""
    names = [name for name in (*PROJECT_FILES, *_OTHER_MANIFESTS) if name in files]
    required = sorted(path for path in files if _REQUIREMENTS.search(path) and path.count("/") <= 1)
    if not (set(names) & set(PROJECT_FILES) or required or _has_only_python(files)):
        return None
    contents = {path: content for path in (*names, *required) if (content := read(path)) is not None}
    pyproject, setup_cfg = _toml(contents.get("pyproject.toml")), _ini(contents.get("setup.cfg"))
    setup_py = contents.get("setup.py", b"").decode(errors="replace")
    project = as_dict(pyproject.get("project"))
    tool = as_dict(pyproject.get("tool"))
    poetry = as_dict(tool.get("poetry"))
    tox = _ini(contents.get("tox.ini"))
    stated = b"\n".join(contents.get(name, b"") for name in PROJECT_FILES).decode(errors="replace")
    extras = {
        *as_dict(project.get("optional-dependencies")),
        *as_dict(poetry.get("extras")),
        *setup_cfg.get("options.extras_require", {}),
        *_setup_py_extras(setup_py),
    }
    has_package = bool(project or poetry or setup_py or "metadata" in setup_cfg or "build-system" in pyproject)
    source = next((name for name in PROJECT_FILES if name in contents), None) if has_package else None
    if source == "pyproject.toml" and not (project or poetry):  # it only names the build system
        source = next((name for name in ("setup.py", "setup.cfg") if name in contents), source)
    return PythonManifests(
        name=as_str(project.get("name"))
        or as_str(poetry.get("name"))
        or setup_cfg.get("metadata", {}).get("name")
        or _assigned(setup_py, "name"),
        source=source,
        extras=_for_tests(extras),
        groups=_for_tests(as_dict(pyproject.get("dependency-groups"))),
        files=_test_files(required, has_package=has_package),
        requirements=tuple(
            dict.fromkeys(
                (
                    *_poetry_groups(poetry),
                    *_tool_groups(tool),
                    *_tox_requirements(tox),
                    *_imported_requirements(pyproject, files, read),
                )
            )
        ),
        plugins=tuple(sorted(_plugins(_pytest_options(tool, setup_cfg, tox, _ini(contents.get("pytest.ini")))))),
        requires_python=as_str(project.get("requires-python"))
        or setup_cfg.get("options", {}).get("python_requires")
        or _assigned(setup_py, "python_requires"),
        classified_pythons=tuple(sorted(set(re.findall(r"Python :: (3\.\d+)", stated)), key=_minor)),
        version=as_str(project.get("version"))
        or as_str(poetry.get("version"))
        or setup_cfg.get("metadata", {}).get("version")
        or _assigned(setup_py, "version"),
        version_from_tags=_VERSION_TOOLS.search(stated) is not None,
        entry_points={
            group: {name: value for name, value in as_dict(points).items() if isinstance(value, str)}
            for group, points in as_dict(project.get("entry-points")).items()
        },
        has_uv_lock="uv.lock" in contents and bool(project),
        by_unittest=UnittestRunner().detect(list(files), read) and not PytestRunner().detect(list(files), read),
        contents={
            **{path: _relevant(path, content) for path, content in contents.items() if path not in _SETTINGS},
            **(_native_sources(files, read) if _BUILDS_NATIVE.search(stated) else {}),
        },
    )


def _native_sources(files: Collection[str], read: ReadFile) -> dict[str, bytes]:
    """Sources that are compiled while the project is installed: what is made of them belongs to them alone."""
    return {path: read(path) or b"" for path in files if path.endswith(_NATIVE_FILES)}


def is_compiled(path: str) -> bool:
    """Whether a file is compiled while its project is installed, so that it belongs to the base and not to a change."""
    return path.endswith(_COMPILED)


def _has_only_python(files: Collection[str]) -> bool:
    """Whether there is code without any manifest, as in a folder of scripts."""
    if any(name in files for name in ("package.json", "go.mod", "Cargo.toml", "pom.xml", "Gemfile", "composer.json")):
        return False
    return any(path.endswith(".py") and path.count("/") <= 1 for path in files)


def _toml(content: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((content or b"").decode(errors="replace"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(content: bytes | None) -> dict[str, dict[str, str]]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string((content or b"").decode(errors="replace"))
    except (Error, ValueError):
        return {}
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


def _assigned(setup_py: str, argument: str) -> str | None:
    found = re.search(rf"\b{argument}\s*=\s*[\"']([^\"'\n]+)[\"']", setup_py)
    return found[1] if found else None


def _setup_py_extras(setup_py: str) -> Iterator[str]:
    found = re.search(r"extras_require\s*=|EXTRAS_REQUIRE\s*=", setup_py)
    if found:
        yield from re.findall(r"[\"']([\w-]+)[\"']\s*:\s*[\[(]", setup_py[found.start() :])
    yield from re.findall(r"extras_require\[[\"']([\w-]+)[\"']\]", setup_py, re.IGNORECASE)


def _for_tests(names: Collection[str]) -> tuple[str, ...]:
    """The names that mean tests; where there are some for tests alone, not those for development as a whole."""
    found = [name for name in names if _TEST_NAME.match(name)]
    tests = [name for name in found if "test" in name.lower() and "mypy" not in name.lower()]
    return tuple(sorted(tests or (name for name in found if _TEST_NAME.fullmatch(name))))


def _test_files(required: Collection[str], *, has_package: bool) -> tuple[str, ...]:
    """The requirement files that tests need. A `.txt` goes before the `.in` that it was made of."""
    paths = [path for path in required if not path.split("/")[-1].startswith("constraints")]
    paths = [path for path in paths if path.endswith(".txt") or f"{path.removesuffix('.in')}.txt" not in paths]
    for_tests = [path for path in paths if _TEST_FILE.search(path)]
    tests = [path for path in for_tests if "test" in path.lower()]
    plain = [path for path in paths if PurePosixPath(path).stem in ("requirements", "base")]
    return tuple(dict.fromkeys((*([] if has_package else plain), *(tests or for_tests))))


def _poetry_groups(poetry: Mapping[str, Any]) -> Iterator[str]:
    groups = as_dict(poetry.get("group"))
    tables = [as_dict(as_dict(groups[name]).get("dependencies")) for name in _for_tests(groups)]
    for table in (*tables, as_dict(poetry.get("dev-dependencies"))):
        for name, stated in table.items():
            version = as_str(stated) or as_str(as_dict(stated).get("version")) or ""
            if name != "python" and not as_dict(stated).get("path"):
                yield f"{name}{_poetry_version(version)}"


def _poetry_version(stated: str) -> str:
    """A version of Poetry as others write it: `^1.2` is at least 1.2 and below 2."""
    found = re.fullmatch(r"([\^~])\s*v?((\d+)(?:\.(\d+))?[\w.]*)", stated.strip())
    if found is None:
        return stated if re.match(r"[<>=!~]", stated) else f"=={stated}" if re.match(r"\d", stated) else ""
    kind, lowest, major, minor = found.groups()
    if minor is not None and (kind == "~" or major == "0"):
        return f">={lowest},<{major}.{int(minor) + 1}"
    return f">={lowest},<{int(major) + 1}"


def _tool_groups(tool: Mapping[str, Any]) -> Iterator[str]:
    """Requirements for tests in the tables of PDM, uv and Hatch."""
    pdm = as_dict(as_dict(tool.get("pdm")).get("dev-dependencies"))
    for name in _for_tests(pdm):
        yield from _requirement_lines(as_list(pdm[name]))
    yield from _requirement_lines(as_list(as_dict(tool.get("uv")).get("dev-dependencies")))
    environments = as_dict(as_dict(tool.get("hatch")).get("envs"))
    for name in ("default", *(name for name in environments if name.startswith(("test", "hatch-test", "dev")))):
        environment = as_dict(environments.get(name))
        for key in ("dependencies", "extra-dependencies"):
            yield from _requirement_lines(as_list(environment.get(key)))


def _tox_requirements(tox: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    lines = tox.get("testenv", {}).get("deps", "").splitlines()
    # `py39: package` is for some environments only, and `{[section]key}` names another place.
    yield from _requirement_lines([re.sub(r"^[\w{},!-]+:\s+", "", line.strip()) for line in lines])


def _requirement_lines(lines: Collection[Any]) -> Iterator[str]:
    for line in lines:
        plain = str(line).partition(" #")[0].strip()
        if re.match(r"[A-Za-z0-9]", plain) and "{" not in plain and "://" not in plain:
            yield plain


def _imported_requirements(pyproject: Mapping[str, Any], files: Collection[str], read: ReadFile) -> Iterator[str]:
    """Packages of any extra or group that tests import: without an optional one, tests of it would be skipped."""
    project = as_dict(pyproject.get("project"))
    tables = (as_dict(project.get("optional-dependencies")), as_dict(pyproject.get("dependency-groups")))
    stated = [line for table in tables for lines in table.values() for line in as_list(lines) if isinstance(line, str)]
    own = _module_name(as_str(project.get("name")) or "")
    named = {_module_name(line): line for line in _requirement_lines(stated) if _module_name(line) != own}
    imported = _imported_by_tests(files, read) if named else frozenset()
    yield from (line for module, line in named.items() if module in imported)


def _module_name(requirement: str) -> str:
    """How code usually imports a package: `prometheus-client>=0.9` is `prometheus_client`."""
    found = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[.-]", "_", found[0]).lower() if found else ""


def _imported_by_tests(files: Collection[str], read: ReadFile) -> frozenset[str]:
    tests = sorted(path for path in files if _TEST_PATH.search(path))[:_MOST_TEST_FILES]
    texts = [(read(path) or b"").decode(errors="replace") for path in tests]
    return frozenset((first or second).lower() for text in texts for first, second in _IMPORTED.findall(text))


def _pytest_options(tool: Mapping[str, Any], *files: Mapping[str, Mapping[str, str]]) -> str:
    table = as_dict(as_dict(as_dict(tool.get("pytest")).get("ini_options")))
    native = as_dict(tool.get("pytest"))
    stated = [table.get("addopts"), native.get("addopts"), *("asyncio_mode" for _ in [0] if "asyncio_mode" in table)]
    for file in files:
        for section in ("tool:pytest", "pytest"):
            stated.append(file.get(section, {}).get("addopts"))
    return " ".join(" ".join(map(str, each)) if isinstance(each, list) else str(each or "") for each in stated)


def _plugins(options: str) -> Iterator[str]:
    if "asyncio_mode" in options:
        yield "pytest-asyncio"
    for word in options.split():
        for option, plugin in _PLUGIN_OPTIONS.items():
            if word == option or (option.startswith("--") and word.startswith((f"{option}=", f"{option}-"))):
                yield plugin


def _relevant(path: str, content: bytes) -> bytes:
    """The part of a manifest that decides what is installed: most changes of a pyproject.toml are about other tools."""
    document = _toml(content) if path == "pyproject.toml" else {}
    if not document:
        return content
    project = {key: value for key, value in as_dict(document.get("project")).items() if key not in _DESCRIPTIVE}
    if "optional-dependencies" in project:
        project["optional-dependencies"] = _not_for_documents(project["optional-dependencies"])
    tool = {name: table for name, table in as_dict(document.get("tool")).items() if name not in _IRRELEVANT_TOOLS}
    hatch = as_dict(tool.get("hatch"))
    if hatch:
        tool["hatch"] = {key: value for key, value in hatch.items() if key in ("build", "version")}
    kept = {
        "project": project,
        "build-system": document.get("build-system"),
        "dependency-groups": _not_for_documents(document.get("dependency-groups")),
        "tool": tool,
    }
    return repr(kept).encode()


def _not_for_documents(groups: object) -> dict[str, Any]:
    return {name: lines for name, lines in as_dict(groups).items() if not _OTHER_PURPOSE.search(name)}
