# Every target sets up what it needs and may be run twice in a row.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PARTS := git bubblewrap podman runc fuse-overlayfs netavark aardvark-dns catatonit busybox-static chromium

.PHONY: setup parts agents demo test lint bench calibrate docs clean

setup: $(READY)

$(READY): pyproject.toml
	test -x $(BIN)/python || python3 -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	touch $(READY)

# System packages that tests use; installed when missing and when that is possible, else the tests say what they lack.
parts:
	@sh scripts/install_parts.sh $(PARTS)

# Agents and harnesses that tests start, and programs that read exports, in a folder of their own; `make agents AGENTS=codex` for fewer.
AGENTS := claude-code codex mini-swe-agent gemini-cli qwen-code opencode goose aider
READERS := inspect
HARNESSES := harbor
agents: setup
	@$(BIN)/python -m scripts.install_agents .agents $(AGENTS) $(READERS) $(HARNESSES)

demo: setup
	@rm -rf build/demo
	@$(BIN)/outweigh demo -o build/demo

test: setup parts agents lint
	$(BIN)/pytest -n auto --dist loadfile

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: setup
	$(BIN)/python -m benchmarks

# A quarter of an hour on two cores: measures the error rates again and writes docs/calibration.md.
calibrate: setup
	$(BIN)/python -m calibration

# Writes again what is generated: JSON Schemas, and the output shown under every `$$ outweigh …` in the docs.
docs: setup
	$(BIN)/python -m scripts.refresh_generated

clean:
	rm -rf $(VENV) .agents build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
