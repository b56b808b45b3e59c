"""The files of a set-up without some of its parts: sections cut out byte for byte, skills and other files removed.

What is cut must be what was tested. A file that is no longer as the arm with all parts had it is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from outweigh.app.setup_servers import read_servers
from outweigh.engine.compose_parts import PartInstructions, read_instructions
from outweigh.engine.load_arms import ArmFiles
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.arm import ChangeKind, McpServer, OverlayChange, overlay_changes
from outweigh.model.json_cut import cut_json
from outweigh.model.json_text import try_decode_json
from outweigh.model.parts import PartSpec
from outweigh.ports.forges import FileChange

SERVERS_FILE = ".mcp.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallerSetup:
    """What changes in the set-up's own files. `before` is what they are now; `refusals` say why it cannot be done."""

    changes: tuple[FileChange, ...]
    before: Mapping[str, tuple[bytes, bool]]
    refusals: tuple[str, ...]


def cut_setup(setup: Path, suite: LoadedSuite, arms: tuple[str, str], dropped: Sequence[str]) -> SmallerSetup:
    """From the arm with all parts to the one without the dropped ones, as changes of the files in a folder."""
    cut = _Cut(setup=setup, suite=suite, dropped=tuple(dropped))
    full, smaller = (suite.arms[name] for name in arms)
    changes = overlay_changes(full.overlay, smaller.overlay)
    there = {change.before_sha256 for change in changes if (setup / change.path).exists()}
    for change in changes:
        # Arms of some agents have one file in several places, of which a set-up needs one.
        if change.before_sha256 not in there or (setup / change.path).exists():
            cut.apply(change)
    for name, server in full.mcp_servers.items():
        # Another part, or the arm itself, may bring the same server: then the tested arm without the part still has it.
        if name not in smaller.mcp_servers:
            cut.leave_out_server(name, server)
    for part in dropped:
        cut.refuse_what_no_file_has(part, suite.spec.parts[part])
    written = tuple(
        FileChange(path=path, content=content, executable=content is not None and cut.before[path][1])
        for path, content in sorted(cut.after.items())
    )
    return SmallerSetup(changes=written, before=cut.before, refusals=tuple(cut.refusals))


@dataclass(slots=True, kw_only=True)
class _Cut:
    setup: Path
    suite: LoadedSuite
    dropped: tuple[str, ...]
    before: dict[str, tuple[bytes, bool]] = field(default_factory=dict)
    after: dict[str, bytes | None] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    def apply(self, change: OverlayChange) -> None:
        """Change one file of the set-up as it changes between the arms."""
        path = change.path
        tested = None if change.before_sha256 is None else self.suite.overlays[change.before_sha256]
        smaller = None if change.after_sha256 is None else self.suite.overlays[change.after_sha256]
        found = self._read(path)
        if tested is None or found is None:
            self.refusals.append(f"{self.setup / path} is not there, and the tested set-up had it.")
        elif change.change is ChangeKind.REMOVED and (found == tested or _same_object(found, tested)):
            self.after[path] = None
        elif smaller is not None and found == tested:
            self.after[path] = smaller
        elif smaller is not None and (cut := self._cut_otherwise(found, tested, smaller)) is not None:
            self.after[path] = cut
        else:
            self._refuse_stale(path)

    def _cut_otherwise(self, found: bytes, tested: bytes, smaller: bytes) -> bytes | None:
        """Cut a file that is written otherwise than the arm had it and says the same; None where it does not."""
        if found.split() == tested.split():
            cut = _cut_sections(found, self._instructions())
            return cut if cut is not None and cut.split() == smaller.split() else None
        read, wanted = try_decode_json(found), try_decode_json(smaller)
        if isinstance(read, dict) and isinstance(wanted, dict) and _same_object(found, tested):
            return _cut_hooks(found.decode(), read, wanted)
        return None

    def _instructions(self) -> Iterator[PartInstructions]:
        files = ArmFiles(self.suite.folder)
        every = read_instructions(self.suite.spec.parts, files, "suite.toml")
        return (each for each in every if each.part in self.dropped)

    def leave_out_server(self, name: str, server: McpServer) -> None:
        """Take a tool server out of the set-up's list of servers."""
        text = self.after.get(SERVERS_FILE) or self._read(SERVERS_FILE)
        known = {} if text is None else read_servers(text, str(self.setup / SERVERS_FILE))
        if text is None or name not in known:
            bringing = [part for part in self.dropped if name in self.suite.spec.parts[part].mcp_servers]
            self.refusals.append(
                f"{self.setup / SERVERS_FILE} has no tool server {name!r}, which part {', '.join(map(repr, bringing))} "
                "adds. Take it out by hand where your agent has it."
            )
        elif known[name].server != server:
            self._refuse_stale(f"{SERVERS_FILE}: {name}")
        else:
            self.after[SERVERS_FILE] = cut_json(text.decode(), ("mcpServers", name)).encode()

    def refuse_what_no_file_has(self, part: str, what: PartSpec) -> None:
        """A flag or a model is no file that a patch could change."""
        if what.flags or what.model is not None:
            self.refusals.append(
                f"part {part!r} is {'a model' if what.model else 'an option of the agent'}, which no file of the "
                "set-up has. Take it out by hand."
            )

    def _read(self, path: str) -> bytes | None:
        place = self.setup / path
        try:
            content = place.read_bytes()
            self.before.setdefault(path, (content, bool(place.stat().st_mode & 0o100)))
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise UsageError(f"{place} cannot be read: {fault.strerror}.") from fault
        return content

    def _refuse_stale(self, path: str) -> None:
        self.refusals.append(
            f"{self.setup / path} is not what was tested: it has changed since, or it has text that no arm had. "
            "Go back to the tested state, or run the suite again."
        )


def _same_object(one: bytes, other: bytes) -> bool:
    """Whether two files are the same JSON object, however it is written."""
    read = try_decode_json(one)
    return isinstance(read, dict) and read == try_decode_json(other)


def _cut_sections(found: bytes, dropped: Iterator[PartInstructions]) -> bytes | None:
    """The file without the sections of parts; None where it is not the very text that they were taken from."""
    spans: list[tuple[int, int]] = []
    text = found.decode(errors="surrogateescape")
    for each in dropped:
        if each.text == text:
            spans.extend(each.spans)
        elif text.count(each.text) == 1:
            spans.append((text.index(each.text), text.index(each.text) + len(each.text)))
        else:
            return None
    left, place = [], 0
    for start, end in sorted(spans):
        left.append(text[place:start])
        place = end
    return "".join((*left, text[place:])).encode(errors="surrogateescape")


def _cut_hooks(text: str, now: dict[str, object], wanted: dict[str, object]) -> bytes | None:
    """The settings without the hooks that the smaller set-up does not have; None where anything else differs."""
    hooks, kept = now.get("hooks"), wanted.get("hooks", {})
    if not isinstance(hooks, dict) or not isinstance(kept, dict):
        return None
    for moment, entries in hooks.items():
        left = kept.get(moment, [])
        if not isinstance(entries, list) or not isinstance(left, list):
            return None
        for place in reversed([place for place, entry in enumerate(entries) if entry not in left]):
            text = cut_json(text, ("hooks", moment, place))
        if not left:
            text = cut_json(text, ("hooks", moment))
    is_same = try_decode_json(text.encode()) in (wanted, {**wanted, "hooks": {}})
    return text.encode() if is_same else None
