"""Small logs as Inspect writes them."""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import zstandard

ZSTANDARD = 93


def header(**spec: Any) -> dict[str, Any]:
    """The header of a log, with other values for the evaluation."""
    evaluated = {
        "eval_id": "e1",
        "run_id": "r1",
        "task_id": "t1",
        "created": "2026-01-01T00:00:00+00:00",
        "task": "sums",
        "model": "openai/gpt-4o-mini",
        "config": {"epochs": 2},
        "scorers": [{"name": "match"}],
    }
    return {
        "version": 2,
        "status": "success",
        "eval": evaluated | spec,
        "plan": {"steps": [{"solver": "generate", "params": {}}]},
        "results": {
            "total_samples": 2,
            "scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"value": 0.5}}}],
        },
    }


def summary(sample: int | str = 1, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """The summary of a sample that was solved, with other values."""
    return {
        "id": sample,
        "epoch": epoch,
        "input": f"question {sample}",
        "target": "4",
        "scores": {"match": {"value": "C", "answer": "4"}},
        "model_usage": {"openai/gpt-4o-mini": {"input_tokens": 60, "output_tokens": 5, "total_tokens": 65}},
        "started_at": "2026-01-01T00:00:01+00:00",
        "total_time": 2.5,
        "working_time": 2.0,
        "turn_count": 3,
    } | more


def eval_log(path: Path, members: Mapping[str, Any]) -> Path:
    """A zip whose members are packed with Zstandard, which Python's own zip module cannot write."""
    body, directory = b"", b""
    for name, value in members.items():
        content = value if isinstance(value, bytes) else msgspec.json.encode(value)
        packed = zstandard.ZstdCompressor().compress(content)
        sizes = struct.pack("<III", zlib.crc32(content), len(packed), len(content))
        about = struct.pack("<HHHHH", 20, 0, ZSTANDARD, 0, 33) + sizes + struct.pack("<HH", len(name), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + about
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + about + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    path.write_bytes(body + directory + b"PK\x05\x06" + end)
    return path


def finished_log(path: Path, samples: list[dict[str, Any]], head: dict[str, Any] | None = None) -> Path:
    """A log of an evaluation that ended."""
    about = head or header()
    return eval_log(path, {"_journal/start.json": about, "summaries.json": samples, "header.json": about})
