# Every target sets up what it needs and may be run twice in a row.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PARTS := git bubblewrap podman runc fuse-overlayfs netavark aardvark-dns catatonit busybox-static chromium gcc libc6-dev zsh fish man-db groff-base mandoc golang-go cmake slurmctld slurmd slurm-client munge openssh-server iproute2

.PHONY: setup parts agents samples demo check test nightly lint bench calibrate mutants docs site histories clean

setup: $(READY)

$(READY): pyproject.toml
	test -x $(BIN)/python || python3 -m venv $(VENV)
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
	touch $(READY)

# System packages that tests use; installed when missing and when that is possible, else the tests say what they lack.
parts:
	@sh scripts/install_parts.sh $(PARTS)

# Agents, harnesses and test runners that tests start, and programs that read exports, in a folder of their own; `make agents AGENTS=codex` for fewer.
AGENTS := claude-code codex mini-swe-agent gemini-cli qwen-code opencode goose aider pi copilot cline kimi
READERS := inspect
HARNESSES := harbor
RUNNERS := jest vitest mocha
agents: setup
	@$(BIN)/python -m scripts.install_agents .agents $(AGENTS) $(READERS) $(HARNESSES) $(RUNNERS)

# What tests of a few commits of public histories need, and runs of public agents, from package registries, in folders of
# their own; tests reach none.
samples: setup parts
	@$(BIN)/python -m scripts.install_history_samples .histories
	@$(BIN)/python -m scripts.install_public_runs .public_runs

demo: setup
	@rm -rf build/demo
	@$(BIN)/outweigh demo -o build/demo

# Before every commit, in two minutes: lint, and the tests that need no agent, sandbox program or browser.
HEAVY := needs_agent or needs_runner or needs_browser or needs_bubblewrap or needs_container or slow
check: lint
	$(BIN)/pytest -n auto --dist loadfile --quiet -m 'not ($(HEAVY))'

# Everything.
test: setup parts agents samples lint
	$(BIN)/pytest -n auto --dist loadfile

# What takes too long for every change: 600 kills of running experiments, and every attack in both sandboxes.
nightly: setup parts
	OUTWEIGH_KILLS_FACTOR=10 $(BIN)/pytest --quiet tests/cli/test_kill.py tests/cli/test_kill_bubblewrap.py
	$(BIN)/python -m benchmarks attacks --full

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: setup
	$(BIN)/python -m benchmarks

# Under half an hour on two cores: measures the error rates again and writes docs/calibration.md.
calibrate: setup
	$(BIN)/python -m calibration

# Hours on two cores, with the registries: mines four real histories, and compares what is proven and kept with what is expected.
histories: setup parts
	$(BIN)/python -m scripts.mine_histories build/histories

# About an hour on two cores: puts a seeded sample of faults into the code, one at a time, and lists those no test notices.
mutants: setup
	$(BIN)/python -m scripts.mutants

# Writes again what is generated: JSON Schemas, and the output shown under every `$$ outweigh …` in the docs.
docs: setup
	$(BIN)/python -m scripts.refresh_generated

# The documentation site, in build/site; nothing is fetched.
site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .agents .histories .public_runs build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
