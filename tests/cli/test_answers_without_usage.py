"""A server that reports no usage: its answers are answers, the run counts, and its tokens are estimated and marked."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.cli.engines import records
from tests.engine.engine_fixtures import shell, write_suite
from tests.gateway.upstreams import an_upstream

from outweigh.model.failure import Status
from outweigh.model.usage import usage_ends

ASK = """
import json, os, sys, urllib.request
messages = [{"role": "user", "content": "6 x 7?"}]
body = {"model": "local", "max_tokens": 500, "stream": sys.argv[1] == "stream", "messages": messages}
request = urllib.request.Request(
    os.environ["OUTWEIGH_MODEL_URL"] + "/v1/chat/completions",
    json.dumps(body).encode(),
    {"authorization": "Bearer " + os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"},
)
assert "42" in urllib.request.urlopen(request).read().decode()
"""


async def answer_without_usage(request: web.BaseRequest) -> web.StreamResponse:
    if not (await request.json())["stream"]:
        message = {"role": "assistant", "content": "It is 42."}
        return web.json_response({"model": "local", "choices": [{"message": message, "finish_reason": "stop"}]})
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b'data: {"model": "local", "choices": [{"delta": {"content": "It is 42."}}]}\n\n')
    await response.write(b'data: {"model": "local", "choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
    return response


@pytest.mark.parametrize("form", ["whole", "stream"])
def test_a_run_on_a_server_without_usage_counts_and_its_tokens_are_estimated(
    outweigh: Any, tmp_path: Path, form: str
) -> None:
    script = tmp_path / "ask.py"
    script.write_text(ASK)
    with an_upstream(answer_without_usage) as url:
        agent = shell(f"python3 {script} {form} && echo 42 >answer.txt", model="local")
        agent["options"]["model_access"] = True
        gateway = {"openai": {"url": url, "key": ""}}
        suite = write_suite(tmp_path, {"local": agent}, gateway=gateway, repeats=1)
        outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"), "-y")

    (run,) = (run for run in records(tmp_path / "store") if run.trial.arm == "local")
    assert run.status is Status.COMPLETED
    assert run.metering is not None
    assert (run.metering.requests, run.metering.failed_requests) == (1, 0)
    ends = usage_ends(run.metering)
    assert ends is not None
    low, high = ends
    assert (low.output_tokens or 0) <= (run.usage.output_tokens or 0) <= (high.output_tokens or 0) < 500
    assert run.usage.output_tokens == 2  # nine bytes
    assert any("1 answer came without a final count of tokens" in warning for warning in run.warnings)
