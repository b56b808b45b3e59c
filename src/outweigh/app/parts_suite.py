"""The suite that `outweigh parts list -o` writes: every part, a design that varies them, and tasks of another suite.

Nothing that looks like a secret is written: a part that holds one is left out, and said so.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgspec

from outweigh.app.measure_parts import INCLUDED_FOLDER
from outweigh.app.new_files import write_files
from outweigh.app.setup_parts import SetupPart, SetupParts
from outweigh.app.suite_selection import read_suite
from outweigh.app.try_suite import moved_settings, task_places, untouched_tasks, with_exported_addresses
from outweigh.engine.load_arms import FILE_OPTIONS
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.interop.suite_writer import non_default_fields
from outweigh.model.agent_files import configuration_kind
from outweigh.model.arm import ArmSpec
from outweigh.model.parts import DesignKind, DesignSpec
from outweigh.model.suite import SUITE_FILE, SuiteSpec
from outweigh.model.toml_writer import write_toml
from outweigh.ports.suites import DraftFile
from outweigh.report.formatting import count_of
from outweigh.report.part_list_page import PartTokens, WrittenSuite

BARE_ARM, ALL_PARTS = "bare", "all-parts"
MOST_LEFT_OUT = 8
"""With more parts, one arm for each would cost too much: a screen tells first which of them matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsSuiteDraft:
    """What the suite is made of. `without` are paths of the set-up that no workspace keeps of itself.

    Without a `design`, parts are left out one at a time where there are few, and screened where there are many.
    """

    folder: Path
    source: LoadedSuite
    setup: SetupParts
    parts: Sequence[SetupPart]
    arm: ArmSpec
    without: Sequence[str]
    tokens: Mapping[str, PartTokens]
    design: DesignKind | None = None

    def write(self) -> WrittenSuite:
        """Write it all or nothing; one that could not be loaded leaves nothing behind."""
        folder = self.folder.resolve()
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(
                f"{self.folder} is already there, and nothing is overwritten. Name another folder with -o."
            )
        if not self.parts:
            raise UsageError(
                "no part can be written into a suite; see the reasons in `outweigh parts list` without -o."
            )
        tasks = untouched_tasks(self.source.tasks, self.without)
        places = task_places(self.source) if tasks else {}
        spec = self._spec(folder, [escape(os.path.relpath(places[task.id], folder)) for task in tasks])
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            building = Path(mkdtemp(prefix=".new-", dir=folder.parent))
        except OSError as fault:
            raise UsageError(f"{folder.parent} cannot be written to: {fault.strerror}.") from fault
        try:
            building.chmod(0o755)
            write_files(building, self._files(spec))
            if tasks:
                read_suite(str(building))
            if folder.exists():
                folder.rmdir()
            building.rename(folder)
        except UsageError as fault:
            raise UsageError(str(fault).replace(str(building), str(folder))) from None
        finally:
            shutil.rmtree(building, ignore_errors=True)
        return WrittenSuite(
            folder=str(self.folder),
            design=spec.designs[0].kind,
            parts=tuple(part.name for part in self.parts),
            tasks=len(tasks),
            task_source=self._describe_tasks(len(tasks)),
        )

    def _spec(self, folder: Path, tasks: list[str]) -> SuiteSpec:
        usual: DesignKind = "leave-one-out" if len(self.parts) <= MOST_LEFT_OUT else "screen"
        design = self.design or usual
        spec = moved_settings(self.source, folder)
        made = msgspec.structs.replace(
            spec,
            name=folder.name,
            tasks=tasks or ["tasks/*"],
            arms={BARE_ARM: self._bare_arm()},
            baseline=ALL_PARTS if design == "leave-one-out" else BARE_ARM,
            parts={part.name: part.spec for part in self.parts},
            designs=[DesignSpec(kind=design, arm=BARE_ARM)],
            workspaces=msgspec.structs.replace(
                spec.workspaces, without=sorted({*spec.workspaces.without, *self.without})
            ),
        )
        return with_exported_addresses(made)

    def _bare_arm(self) -> ArmSpec:
        return msgspec.structs.replace(
            self.arm,
            instructions=self.setup.fixed or None,
            files=INCLUDED_FOLDER if self._included() else None,
            secrets=sorted({*self.arm.secrets, *(name for part in self.parts for name in part.secrets)}),
            options=self._moved_options(),
        )

    def _moved_options(self) -> dict[str, Any]:
        """The options of the agent; files of the other suite, as this one names them."""
        folder, options = self.folder.resolve(), self.arm.options
        own = {key: str(self.source.folder / str(options[key])) for key in FILE_OPTIONS if key in options}
        return {**options, **{key: os.path.relpath(path, folder) for key, path in own.items()}}

    def _included(self) -> dict[str, DraftFile]:
        """Configuration that instructions include. Other files, such as a README, stay as each task's workspace has
        them: the present ones may tell what tasks ask for.
        """
        found = self.setup.included.items()
        return {f"{INCLUDED_FOLDER}/{path}": file for path, file in found if configuration_kind(path) is not None}

    def _files(self, spec: SuiteSpec) -> dict[str, DraftFile]:
        text = write_toml(non_default_fields(spec), self._comments())
        own = {path: file for part in self.parts for path, file in part.files.items()}
        return {SUITE_FILE: DraftFile(content=text.encode()), **self._included(), **own}

    def _comments(self) -> dict[str, str]:
        measured = {part.name: self.tokens[part.name].every_turn for part in self.parts}
        return {
            "": "Written by `outweigh parts list`. It is an ordinary suite: all other commands take it.",
            f"arms.{BARE_ARM}": "The agent without any part; the design adds the parts to it.",
            **{
                f"parts.{part.name}": part.where
                + ("" if measured[part.name] is None else f": {count_of(measured[part.name] or 0, 'token')} a turn")
                for part in self.parts
            },
        }

    def _describe_tasks(self, kept: int) -> str:
        if not kept:
            return (
                f"It has no tasks yet: put task folders into {self.folder / 'tasks'}, or make them from the history "
                "with `outweigh init my-tasks --from-git .` and write this again with -t my-tasks."
            )
        left_out = len(self.source.tasks) - kept
        other = f"; {left_out} more change the set-up itself, so they are left out" if left_out else ""
        return f"Its {count_of(kept, 'task')} are those of {self.source.spec.name}{other}."
