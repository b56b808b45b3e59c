"""What the tables of a bundle rest on: every record with its hash, and the prices that runs were priced with."""

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from outweigh.compare.evidence import gather
from outweigh.model.pricing import ModelPrices, PriceTable, PriceTables
from outweigh.prices import GenaiPrices, read_prices
from outweigh.report.render_csv import escape_formula
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.store_files import files_to_keep
from outweigh.store.store_set import StoreSet


def tabulate_records(stores: StoreSet) -> bytes:
    """Every record and every other file of the stores with its hash: where one was changed, this says which."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("file", "line", "schema", "about", "sha256"))
    for store in stores.stores:
        for file in () if store.folder is None else files_to_keep(store.folder, artifacts=False):
            content, place = file.read_bytes(), f"{store.name}/{file.name}"
            if file.suffix != RECORDS_SUFFIX:
                table.writerow((place, "", "", "", sha256(content).hexdigest()))
                continue
            for number, line in enumerate(content.splitlines(), start=1):
                about = [escape_formula(word) for word in _about(line)]
                table.writerow((place, number, *about, sha256(line).hexdigest()))
    return text.getvalue().encode()


class _AnyLine(NamedTuple):
    schema: str
    about: str


def _about(line: bytes) -> _AnyLine:
    """What a line says that it is, and its run or arm."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        found = None
    if not isinstance(found, dict):
        return _AnyLine("", "")
    names = (found.get(key) for key in ("run_id", "arm", "task_id"))
    return _AnyLine(str(found.get("schema", "")), str(next((name for name in names if name is not None), "")))


class _NotedPrices:
    """A price table that notes what it was asked for."""

    def __init__(self, table: PriceTable) -> None:
        self._table = table
        self.used: dict[str, dict[bytes, ModelPrices]] = {}

    @property
    def name(self) -> str:
        return self._table.name

    @property
    def unavailable(self) -> str | None:
        return self._table.unavailable

    @property
    def hosted_usd(self) -> Mapping[str, float]:
        return self._table.hosted_usd

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        found = self._table.prices(model, at)
        if found is not None:
            self.used.setdefault(model, {})[msgspec.json.encode(found)] = found
        return found


def tabulate_prices(stores: StoreSet, price_file: str | None) -> bytes:
    """The prices that the runs of each store were priced with, by table and model."""
    own = [] if price_file is None else [_NotedPrices(read_prices(price_file))]
    tables = [*own, _NotedPrices(GenaiPrices())]
    for store in (StoreSet([each]) for each in stores.stores):
        gather(store.read(skip_invalid=False), prices=PriceTables(*tables), judge_rules=store.judge_rules())
    payload = {
        "schema": "outweigh.prices/1",
        "price_file_sha256": None if price_file is None else sha256(Path(price_file).read_bytes()).hexdigest(),
        "tables": [
            {"name": table.name, "models": {model: [*found.values()] for model, found in sorted(table.used.items())}}
            for table in tables
            if table.used
        ],
    }
    return msgspec.json.format(msgspec.json.encode(payload), indent=2) + b"\n"
