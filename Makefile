# Every target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Tests run in as many processes as there are cores, at most four.
JOBS   ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 4 ] && echo 4 || echo $$n)

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

# Stamps: a set-up is repeated only when what it depends on has changed.
$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet -e '.[test,hub,curate,charts]'
	@touch $@

# pyright checks the code that uses torch and TRL as well, so the linters need them installed.
$(VENV)/.lint: $(VENV)/.local
	$(BIN)/python -m pip install --quiet -e '.[test,hub,curate,charts,local,train,lint]'
	@touch $@

# torch first and pinned: a bare `torch` may pull a CUDA build of several GB.
$(VENV)/.local: $(VENV)/.test
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -e '.[test,hub,curate,charts,local,train]'
	@touch $@

$(VENV)/.demo: $(VENV)/.base
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -e '.[local]'
	@touch $@

setup: $(VENV)/.base  ## a virtual environment with the assay command

demo: $(VENV)/.demo  ## measure two tiny models with five strategies, in five minutes at most, and write a page
	$(BIN)/assay demo --out runs/demo

demo-replay: $(VENV)/.base  ## score published replies of real models offline, without torch, in about a minute
	$(BIN)/assay demo --replay --out runs/demo-replay

test: $(VENV)/.test  ## the tests that need no torch, under five minutes on two cores
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not local"

test-slow: $(VENV)/.local  ## the slow tests, and those of local models and training (installs torch and TRL)
	$(BIN)/python -m pytest -n $(JOBS) -m "slow or local"

lint: $(VENV)/.lint  ## ruff, pyright (strict), import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

format: $(VENV)/.lint  ## let ruff fix and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs-cli: $(VENV)/.base  ## write docs/cli.md anew from the commands themselves
	$(BIN)/python -m assay.cli.reference > docs/cli.md

bench: $(VENV)/.test  ## client CPU and memory beside a bare aiohttp loop
	$(BIN)/python bench/harness.py

bench-marking: $(VENV)/.test  ## rows marked per second, beside Math-Verify alone
	$(BIN)/python bench/marking.py

bench-search: $(VENV)/.test  ## wall time of Refined Best-of-N beside the bound given by its calls
	$(BIN)/python bench/search.py

miniature: $(VENV)/.local  ## train the tiny policy and critic from nothing and measure them (an hour on two cores)
	$(BIN)/python recipes/miniature/make.py

clean:  ## remove the virtual environment and caches (never runs/)
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: miniature help setup demo demo-replay test test-slow lint format docs-cli bench bench-marking bench-search clean
