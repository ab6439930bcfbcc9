# `make demo` and `make test` do all the set-up they need, in .venv, and are safe to repeat; `make help` lists the rest.
# Everything is installed once per change of pyproject.toml or constraints.txt, the package itself in place.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
ARGS   ?=
PIP    := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test lint types doctest docs bench check clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.runs ## train two models, compare them, print the verdict, write the report (two minutes after set-up)
	$(BIN)/samespace demo $(ARGS)

test: $(VENV)/.develops ## run the tests; ARGS="-k cca" narrows them
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

lint: $(VENV)/.develops ## style, format, and modules that grow long
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.house.lengths

types: $(VENV)/.develops ## check the types
	$(BIN)/mypy

doctest: $(VENV)/.develops ## run the examples in docstrings
	$(BIN)/python -m pytest --doctest-modules --doctest-ignore-import-errors src/samespace $(ARGS)

docs: $(VENV)/.develops ## build the documentation, its gallery included, into docs/_build/html
	$(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs docs/_build/html $(ARGS)

bench: $(VENV)/.develops ## measure the ratios at their quick scale; see benchmarks/README.md
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script --quick $(ARGS); done

check: lint types test doctest docs ## everything but the clean-room steps of .ci/run

clean: ## remove the environment and all that was built
	rm -rf $(VENV) build dist docs/_build docs/gallery samespace-demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# What the package needs to run, torch included; then what its developers need on top. The second waits for the
# first, so that `make -j demo test` never has two installers in one environment.
$(VENV)/.runs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing samespace and PyTorch into $(VENV) (once; a few minutes)"
	$(PIP) install --constraint constraints.txt --editable '.[torch]'
	@touch $@

$(VENV)/.develops: $(VENV)/.runs
	@echo "Installing the tools for tests and docs into $(VENV) (once)"
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

# Debian splits venv's installer off into python3-venv; where it is missing, the system's own pip steps in.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "samespace needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install -q pip; } \
	  || { rm -rf $(VENV); echo "Python's venv module is not complete: apt install python3-venv" >&2; exit 1; }
