# make setup | demo | test | soak MINUTES=10 | lint | format | bench | clean
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
STAMP := .venv/.ready

.PHONY: setup demo test soak lint format bench clean

setup: $(STAMP)

# Nothing happens while pyproject.toml is unchanged.
$(STAMP): pyproject.toml
	@echo "setting up .venv (a few minutes the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --quiet --editable ".[dev]"
	@touch $@

demo: setup
	@$(BIN)/kernelclust demo --out build/demo

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: lint
	@$(BIN)/pytest

soak: setup
	@$(BIN)/python tests/properties/soak.py --minutes $(MINUTES)

format: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: setup
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

clean:
	@rm -rf build dist .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
