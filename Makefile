# Everything a person or a machine does here, one word each. `make help` lists the words.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Test workers share two cores; one BLAS thread each is faster than two workers of two threads.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Worksteal gives each worker neighbouring tests, which share fitted models and compiled functions.
# Each worker collects all tests and imports what they need, so that there is one for each core.
WORKERS := $(shell getconf _NPROCESSORS_ONLN)
# Python compiles what it imports, once, even where an environment forbids it: otherwise each process
# does so again. Compiling all that is installed takes half of the time of installing.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --no-compile

# Trees are compiled when they are first used, which takes longer than all fits of the demo: while
# it compiles forests, another core compiles what boosted trees and sparse models need.
COMPILE := import posterity; from posterity.cli import demo; table, target = demo.load_patients(); \
posterity.compare(table[:60], target, models=["boosted-trees", "sparse"], folds=2)

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-machines check environment lint types bench figures family docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One stamp an extra: installed anew only when pyproject.toml has changed.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "posterity needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev,bench]'
	@touch $@ $(VENV)/.dev $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.run

run: $(VENV)/.run ## Compare the family on a table that comes with it, and write a report
	@$(BIN)/python -c '$(COMPILE)' >/dev/null 2>&1 & $(BIN)/posterity demo

PYTEST := $(ONE_THREAD) $(BIN)/pytest -n $(WORKERS) --dist worksteal --durations=15

test: $(VENV)/.dev ## Run what a change must pass, and every example in a docstring
	$(PYTEST) $(FOLDERS)

test-all: $(VENV)/.dev ## Run every test: all cases, all draws, the benchmarks, lost workers
	$(PYTEST) --full $(FOLDERS)

test-machines: $(VENV)/.dev ## Run every test as other machines would: other kernels, threads, orders, loads
	.ci/machines

check: lint types docs test ## What a change must pass: ruff, mypy, the documentation, tests

# Both extras at once: each install resolves, and builds the package, anew.
environment: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev,docs]'
	@touch $(VENV)/.dev $(VENV)/.docs $(VENV)/.run

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.bench ## Measure posterity beside its peers and write the tables
	$(BIN)/python -m benchmarks

figures: $(VENV)/.run ## Draw every figure of the gallery into gallery/out and docs/figures
	$(BIN)/python -m gallery

family: $(VENV)/.run ## Write the front door and the tables of models from the estimators' cards
	$(BIN)/python docs/_ext/family.py

docs: $(VENV)/.docs ## Build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going --quiet docs docs/_build/html

clean: ## Remove the environment and every build product
	rm -rf $(VENV) gallery/out docs/_build .pytest_cache .mypy_cache .ruff_cache
