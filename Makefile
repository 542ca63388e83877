# Posetta's front door. Everything runs in .venv, made here with python3 -m venv and pip.
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench docs clean

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PINS := pyproject.toml constraints.txt

help:
	@echo "make demo   set up, then find the order behind the embedded demo runs"
	@echo "make test   set up, then run all tests"
	@echo "make lint   formatter, linter, type checker, direction of the rooms"
	@echo "make bench  speed as ratios in one run (JAX, previous ways) - takes minutes"
	@echo "make docs   build the documentation into site/, warnings are errors"
	@echo "make clean  remove what these commands made"

.venv/made: $(PINS)
	@echo "Posetta: making the virtual environment .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit("Posetta needs Python 3.11 or newer." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv .venv
	@$(PIP) --upgrade pip
	@touch $@

.venv/runs: .venv/made
	@echo "Posetta: installing the package and what it runs on (about a minute)"
	@$(PIP) -e .
	@touch $@

.venv/develops: .venv/measures
	@echo "Posetta: installing the test tools"
	@$(PIP) --group dev
	@touch $@

.venv/measures: .venv/runs
	@echo "Posetta: installing JAX (the flow, the benchmarks' yardstick) and Dask"
	@$(PIP) -e ".[flow,dask]"
	@touch $@

.venv/documents: .venv/runs
	@echo "Posetta: installing the documentation builder"
	@$(PIP) --group docs
	@touch $@

demo: .venv/runs
	@echo "Posetta: running the demo (the first run compiles the kernels: some seconds)"
	@$(BIN)/posetta demo --force

test: .venv/develops
	@echo "Posetta: running the tests on all cores"
	@$(BIN)/python -m pytest -n auto --dist worksteal -q

lint: .venv/develops
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/measures
	$(BIN)/python benchmarks/kernel.py
	$(BIN)/python benchmarks/hard_mcmc.py rates
	$(BIN)/python benchmarks/hard_mcmc.py recompute
	$(BIN)/python benchmarks/relaxed.py
	$(BIN)/python benchmarks/predict.py
	$(BIN)/python benchmarks/order.py
	$(BIN)/python benchmarks/readers.py

docs: .venv/documents
	$(BIN)/mkdocs build --strict --quiet
	@echo "Posetta: open site/index.html"

clean:
	rm -rf .venv site posetta-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
