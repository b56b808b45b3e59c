"""The files of a Claude Code plugin: where its skills, commands, sub-agents, hooks and tool servers are.

Claude Code lists what a plugin brings under the plugin's name: `plugin:skill`.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import as_dict, as_list, as_str

PLUGIN_MANIFEST = ".claude-plugin/plugin.json"
PLUGIN_FOLDER = ".claude-plugins"
"""Where plugins of an arm are in a workspace, each in a folder of its own name."""

PLUGIN_FLAG = "--plugin-dir"
_COMPONENTS = ("skills", "commands", "agents", "hooks", ".mcp.json")


def plugin_folders(flags: tuple[str, ...]) -> Iterator[str]:
    """The folders that `--plugin-dir` names."""
    for flag, following in pairwise((*flags, "")):
        name, has_value, value = flag.partition("=")
        if name == PLUGIN_FLAG:
            yield _normal(value if has_value else following)


class PluginFiles:
    """A plugin by its files, whose paths are relative to its folder."""

    def __init__(self, files: Mapping[str, bytes], folder: str) -> None:
        self._files = files
        self._manifest = as_dict(try_decode_json(files.get(PLUGIN_MANIFEST, b"")))
        self.name = as_str(self._manifest.get("name")) or _normal(folder).rpartition("/")[2]

    @property
    def is_plugin(self) -> bool:
        """Whether there is a manifest, or anything that Claude Code loads without one."""
        return PLUGIN_MANIFEST in self._files or any(
            path == place or path.startswith(f"{place}/") for path in self._files for place in _COMPONENTS
        )

    @property
    def eval_folder(self) -> str:
        """The folder of its evals, which say what is expected of an agent."""
        stated = as_str(as_dict(self._manifest.get("experimental")).get("evals"))
        return _normal(stated) if stated else "evals"

    def skills(self) -> Iterator[tuple[str, bytes]]:
        """The folder and the SKILL.md of every skill."""
        for place in self._places("skills"):
            for path, content in self._below(place):
                match path.removeprefix(f"{place}/").split("/"):
                    case [folder, name] if name == SKILL_FILE:
                        yield folder, content

    def commands(self) -> Iterator[tuple[str, bytes]]:
        """The name, with its folders, and the text of every command."""
        for place in self._places("commands"):
            for path, content in self._below(place):
                if path.endswith(".md"):
                    inside = path.removeprefix(f"{place}/") if path != place else path.rpartition("/")[2]
                    yield inside.removesuffix(".md").replace("/", ":"), content

    def agents(self) -> Iterator[tuple[str, bytes]]:
        """The path and the text of every sub-agent."""
        for place in self._places("agents"):
            yield from ((path, content) for path, content in self._below(place) if path.endswith(".md"))

    def hooks(self) -> Iterator[Mapping[str, Any]]:
        """The settings with its hooks: its `hooks/hooks.json`, and what its manifest names or contains."""
        yield as_dict(try_decode_json(self._files.get("hooks/hooks.json", b"")))
        for stated in _each(self._manifest.get("hooks")):
            if isinstance(stated, dict):
                yield stated if "hooks" in stated else {"hooks": stated}
            elif isinstance(stated, str):
                yield as_dict(try_decode_json(self._files.get(_normal(stated), b"")))

    def servers(self) -> tuple[str, ...]:
        """The names of its tool servers."""
        tables = [as_dict(try_decode_json(self._files.get(".mcp.json", b"")))]
        for stated in _each(self._manifest.get("mcpServers")):
            if isinstance(stated, dict):
                tables.append(stated)
            elif isinstance(stated, str):
                tables.append(as_dict(try_decode_json(self._files.get(_normal(stated), b""))))
        return tuple(dict.fromkeys(name for table in tables for name in as_dict(table.get("mcpServers", table))))

    def _places(self, component: str) -> tuple[str, ...]:
        """The folders and files of a component: its usual folder, and those that the manifest names."""
        stated = [_normal(each) for each in _each(self._manifest.get(component)) if isinstance(each, str)]
        return tuple(dict.fromkeys((component, *stated)))

    def _below(self, place: str) -> Iterator[tuple[str, bytes]]:
        for path, content in self._files.items():
            if path == place or path.startswith(f"{place}/"):
                yield path, content


def _normal(path: str) -> str:
    """A path without its redundant parts, such as `./`."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _each(stated: object) -> list[Any]:
    return as_list(stated) if isinstance(stated, list) else [] if stated is None else [stated]
