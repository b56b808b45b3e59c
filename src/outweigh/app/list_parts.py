"""Lists what a set-up is made of, measures what each part costs on every turn, and writes a suite of the parts."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from outweigh.app.measure_parts import MeasureRequest, measure_parts
from outweigh.app.observer import Notify
from outweigh.app.parts_agent import choose_arm, explain_missing, split_by_reader
from outweigh.app.parts_suite import PartsSuiteDraft
from outweigh.app.probe_agents import provider_of_arm
from outweigh.app.setup_files import find_setup_files
from outweigh.app.setup_parts import SetupPart, find_parts
from outweigh.app.suite_selection import read_suite
from outweigh.app.try_change import NO_SUITE, find_suite
from outweigh.app.try_suite import with_exported_addresses
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.load_task import load_task
from outweigh.errors import UsageError
from outweigh.gateway.upstream import LOOPBACK_HOSTS, ModelUpstream, read_upstreams
from outweigh.model.agent_files import ConfigurationKind
from outweigh.model.arm import ArmSpec, bare_arm
from outweigh.model.model_name import bare_model_name
from outweigh.model.parts import DesignKind
from outweigh.model.provider import ApiFamily
from outweigh.model.suite import SUITE_FILE
from outweigh.prices import price_tables
from outweigh.report.part_list_page import ListedPart, MeasuredSetup, PartList, TurnPrices

_KIND_WORDS = {
    ConfigurationKind.SKILL: "skill",
    ConfigurationKind.AGENT: "sub-agent",
    ConfigurationKind.COMMAND: "command",
    ConfigurationKind.HOOK: "hook",
    ConfigurationKind.RULE: "rule",
    ConfigurationKind.PROMPT: "prompt",
    ConfigurationKind.SETTINGS: "settings",
    ConfigurationKind.TOOL_SERVERS: "tool server",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartsRequest:
    """Which set-up to list, and how. `tasks` is a suite or a folder of tasks; `output` is where a suite is written.

    `asks_provider` lets the agent's provider count tokens where its key is in the environment.
    """

    named: tuple[str, ...] = ()
    agent: str | None = None
    model: str | None = None
    by_bullet: bool = False
    measures: bool = True
    asks_provider: bool = True
    tasks: str | None = None
    output: Path | None = None
    design: DesignKind | None = None
    prices: str | None = None
    jobs: int = 2


def list_parts(request: ListPartsRequest, notify: Notify) -> PartList:
    """Find the parts, start the agent to measure them, and write the suite where one is asked for."""
    files = find_setup_files(request.named)
    setup = find_parts(files, by_bullet=request.by_bullet)
    source = _find_source(request, files.root)
    arm = choose_arm(request.agent, request.model, setup.parts, source)
    used, others = split_by_reader(setup.parts, arm.agent or "")
    measuring = MeasureRequest(
        setup=setup,
        parts=used,
        arm=arm,
        sandbox=source.spec.sandbox,
        counters=_counters(request, arm, source),
        jobs=request.jobs,
        notify=notify,
        obstacle=explain_missing(arm) if request.measures else "--no-tokens was given",
    )
    measured = measure_parts(measuring)
    measured = msgspec.structs.replace(measured, parts={**measured.parts, **others})
    prices, reason = _find_prices(request, measured, source)
    draft = PartsSuiteDraft(
        folder=request.output or Path(),
        source=source,
        setup=setup,
        parts=used,
        arm=arm,
        without=files.places,
        tokens=measured.parts,
        design=request.design,
    )
    return PartList(
        parts=tuple(_listed(part) for part in setup.parts),
        measured=measured,
        prices=prices,
        price_reason=reason,
        notes=setup.notes,
        suite=None if request.output is None else draft.write(),
    )


def _listed(part: SetupPart) -> ListedPart:
    kind = _KIND_WORDS.get(part.kind) or f"section of {part.paths[0]}"
    if part.kind is ConfigurationKind.INSTRUCTIONS and part.where == part.paths[0]:
        kind = "instructions" if part.spec.files is None else "instructions of a folder"
    return ListedPart(
        name=part.name,
        kind=kind,
        where=part.where,
        withheld=part.withheld,
        has_more_to_read=part.read_later is not None,
    )


def _find_source(request: ListPartsRequest, root: Path) -> LoadedSuite:
    """The suite that tasks and settings come from: the one that is named, or that `outweigh try` would find here."""
    nothing = LoadedSuite(spec=NO_SUITE, folder=root, tasks=(), arms={}, overlays={}, origins={})
    if request.tasks is None:
        found = None if request.output is None else find_suite(None, root)
        return nothing if found is None else read_suite(str(found))
    folder = Path(request.tasks)
    if (folder / SUITE_FILE).is_file() or folder.is_file():
        return read_suite(request.tasks)
    places = sorted(file.parent for file in folder.glob("*/task.toml"))
    if not places:
        raise UsageError(f"-t {folder}: it has neither a {SUITE_FILE} nor a folder with a task.toml. Name another one.")
    return LoadedSuite(
        spec=msgspec.structs.replace(NO_SUITE, name=folder.resolve().name, tasks=["*"]),
        folder=folder.resolve(),
        tasks=tuple(map(load_task, places)),
        arms={},
        overlays={},
        origins={},
    )


def _counters(request: ListPartsRequest, arm: ArmSpec, source: LoadedSuite) -> dict[ApiFamily, ModelUpstream]:
    """The agent's provider, where its key is there and it may be asked; a server on this machine is no provider."""
    if not request.asks_provider or arm.provider is not None or arm.auth == "login":
        return {}
    provider = provider_of_arm(bare_arm("bare", arm.agent or "", arm.model))
    ways = read_upstreams(with_exported_addresses(source.spec).gateway, os.environ)
    return {
        name: way
        for name, way in ways.items()
        if way.key and provider in (None, name) and urlsplit(way.url).hostname not in LOOPBACK_HOSTS
    }


def _find_prices(
    request: ListPartsRequest, measured: MeasuredSetup, source: LoadedSuite
) -> tuple[TurnPrices | None, str]:
    stated = source.spec.gateway.prices
    tables = price_tables(request.prices or (None if stated is None else str(source.folder / stated)))
    if measured.model is None:
        return None, "the model is not known"
    found = tables.find(bare_model_name(measured.model), None)
    if found is None:
        return None, f"no price list has {measured.model}; name one with --prices"
    prices = found.prices
    return (
        TurnPrices(
            input_usd_per_million=prices.input_usd_per_million,
            cache_read_usd_per_million=prices.cache_read_usd_per_million,
            table=found.table,
        ),
        "",
    )
