# Every target sets up what it needs: a virtual environment in .venv, made once and reused.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Options for pytest: make test PYTEST_OPTIONS="-k shards"
PYTEST_OPTIONS ?=

.PHONY: help demo test coverage test-slow test-bounds reference fuzz lint format bench docs wheel-test clean-cache clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(BIN)/python:
	@echo "Setting up a virtual environment in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP): pyproject.toml | $(BIN)/python
	@echo "Installing relaxwl and its development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.runtime: | $(BIN)/python
	@echo "Installing relaxwl into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --editable '.[plot]'
	@touch $@

demo: | $(VENV)/.runtime  ## Run the kernels on embedded data and show what they find
	@$(BIN)/relaxwl demo

test: $(STAMP)  ## Run the quick tests
	@echo "Running the quick tests ..."
	@$(BIN)/python -m pytest -n auto --dist loadfile $(PYTEST_OPTIONS)

coverage: $(STAMP)  ## Run the quick tests and list what they do not reach
	@$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term:skip-covered $(PYTEST_OPTIONS)

test-slow: $(STAMP)  ## Run the slow tests
	@echo "Running the slow tests ..."
	@$(BIN)/python -m pytest -m slow --timeout 900 -n auto --dist loadfile $(PYTEST_OPTIONS)

# Machine code that checks its indices, in a cache of its own: Numba's does not know the flag.
BOUNDS_TESTS := tests/unfolding tests/distances tests/clustering tests/kernels tests/graphs tests/datasets tests/learning
test-bounds: $(STAMP)  ## Run tests of compiled code with its indices checked
	@echo "Running tests of compiled code with its indices checked ..."
	@NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -n auto --dist loadfile $(PYTEST_OPTIONS) $(BOUNDS_TESTS)

reference: $(STAMP)  ## Compare kernels and predictors with their reference outputs (needs ../shared)
	@$(BIN)/python tests/reference/compare.py

# A fixed run of some three minutes without MINUTES; with it, one of that length whose seed is printed.
MINUTES ?=
fuzz: $(STAMP)  ## Run random cases against everything that reads files (MINUTES=30 for a long run)
	@echo "Running random cases ..."
	@PYTHONPATH=src:tests $(BIN)/python -m fuzz.campaign $(if $(MINUTES),--minutes $(MINUTES))

lint: $(STAMP)  ## Check style, types and the import direction
	@echo "Checking style, types and imports ..."
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/oxlint --config .oxlintrc.json src
	@$(BIN)/codespell
	@$(BIN)/python -m pytest -q tests/docs/test_docstrings.py

format: $(STAMP)  ## Put the code into the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP)  ## Compare speeds side by side (needs the benchmark data; see benchmarks/README.md)
	@for script in $(filter-out $(addprefix benchmarks/,claims.py graph_sets.py harness.py kernels.py moleculeace.py moleculenet.py molecules.py views.py),$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(STAMP)  ## Build the documentation site into site/
	@$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@rm -rf docs/api  # pages of names that are gone
	@echo "Building the pages into site/ (the gallery runs; some minutes) ..."
	@$(BIN)/python -m sphinx -W --keep-going -j auto -q docs site
	@$(BIN)/python docs/check_site.py site

wheel-test: $(STAMP)  ## Build the wheel and try it in an environment of its own
	@echo "Building the wheel and trying it in a clean environment ..."
	@rm -rf build/wheel-test && mkdir -p build/wheel-test
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel-test .
	@$(PYTHON) -m venv build/wheel-test/venv
	@build/wheel-test/venv/bin/python -m pip install --quiet build/wheel-test/*.whl
	@cd build/wheel-test && venv/bin/relaxwl --version && venv/bin/python -c "import relaxwl; graphs, y = relaxwl.datasets.make_egonets(20, random_state=0); print(relaxwl.WeisfeilerLehman().fit_transform(graphs).shape)"

clean-cache:  ## Remove Numba's compiled code
	@find src tests -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: clean-cache  ## Remove everything that make made
	@rm -rf docs/api docs/gallery docs/command-line $(VENV) build dist site demo .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
