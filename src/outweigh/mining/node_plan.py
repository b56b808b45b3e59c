"""The commands that install what the tests of a Node project need, and what its manifests say."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from outweigh.mining.runners.runner import ReadFile
from outweigh.model.untrusted_json import as_dict, as_str

_LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
_OTHER_FILES = ("yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc")
_RELEVANT = (
    *("name", "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides"),
    *("resolutions", "workspaces", "bundleDependencies", "engines"),
)
LOCKED_ATTEMPTS = 2
"""So many of the attempts do what a lock file says, where there is one."""
_INSTALL_SCRIPTS = ("preinstall", "install", "postinstall", "prepare")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeManifests:
    """A Node project at a commit; `contents` is what decides what is installed."""

    name: str | None
    version: str | None
    has_lock: bool
    contents: Mapping[str, bytes]


def read_node_manifests(files: Collection[str], read: ReadFile) -> NodeManifests | None:
    """The Node project of a commit; None where there is none."""
    package = _json(read("package.json")) if "package.json" in files else {}
    if not package:
        return None
    scripts = as_dict(package.get("scripts"))
    relevant = {
        **{key: package[key] for key in _RELEVANT if key in package},
        "scripts": {name: scripts[name] for name in _INSTALL_SCRIPTS if name in scripts},
    }
    contents = {"package.json": json.dumps(relevant, sort_keys=True).encode()}
    for path in _LOCKS:
        if path in files and (lock := _json(read(path))):
            contents[path] = json.dumps(_without_own_version(lock), sort_keys=True).encode()
    contents |= {path: content for path in _OTHER_FILES if path in files and (content := read(path)) is not None}
    return NodeManifests(
        name=as_str(package.get("name")),
        version=as_str(package.get("version")),
        has_lock=any(path in contents for path in _LOCKS),
        contents=contents,
    )


def node_attempts(manifests: NodeManifests, before: date) -> Iterator[tuple[str, ...]]:
    """Lists of commands in the order in which they are tried. A lock file already says which versions were used."""
    if manifests.has_lock:
        yield ("npm ci",)
        yield ("npm ci --ignore-scripts",)
    for limit in (f" --before={before.isoformat()}", ""):
        yield (f"npm install --no-save{limit}",)
        yield (f"npm install --no-save --ignore-scripts --legacy-peer-deps{limit}",)


def _json(content: bytes | None) -> dict[str, Any]:
    try:
        return as_dict(json.loads(content or b"{}"))
    except (ValueError, RecursionError):
        return {}


def _without_own_version(lock: Mapping[str, Any]) -> dict[str, Any]:
    """A lock without the project's own version, which every release changes."""
    kept = {key: value for key, value in lock.items() if key != "version"}
    packages = as_dict(lock.get("packages"))
    if "" in packages:
        own = {key: value for key, value in as_dict(packages[""]).items() if key != "version"}
        kept["packages"] = {**packages, "": own}
    return kept
