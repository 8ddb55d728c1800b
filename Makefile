# make setup | demo | test | coverage TESTS=tests | docs | test-gpu | soak MINUTES=10 | lint | format | bench | asv | papers DATA=DIR | dist | lock | audit | clean
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 10
TESTS ?= tests
STAMP := .venv/.ready
DOCS := .venv/.docs

.PHONY: setup demo test coverage docs test-gpu soak lint format bench asv papers dist lock audit clean

setup: $(STAMP)

# Nothing happens while pyproject.toml is unchanged.
$(STAMP): pyproject.toml
	@echo "setting up .venv (a few minutes the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --quiet "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --quiet --group dev --editable ".[cli,anndata,plot,graph,sdp,dask]"
	@touch $@

demo: setup
	@$(BIN)/kernelclust demo --out build/demo

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports

test: lint
	@$(BIN)/pytest

# Lines that no test runs, by file; TESTS=tests/tables for the nearest tests alone.
coverage: setup
	@$(BIN)/coverage run -m pytest -n0 $(TESTS)
	@$(BIN)/coverage report

# On a machine with a GPU: what runs there, against the same on the host.
test-gpu: setup
	@$(BIN)/python -m pip install --quiet --quiet --editable ".[gpu]"
	@$(BIN)/pytest -n0 tests/holders tests/contracts/test_same_everywhere.py

# The site: every page, every example of the gallery; any warning is an error.
docs: $(DOCS)
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs build/docs
	@echo "open build/docs/index.html"

$(DOCS): $(STAMP)
	@$(BIN)/python -m pip install --quiet --quiet --group docs --editable ".[anndata,plot,graph]"
	@touch $@

soak: setup
	@$(BIN)/python tests/properties/soak.py --minutes $(MINUTES)

format: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Every benchmark in short, ten minutes in all; its own defaults are what the documentation shows.
SHORT_auto := --only simulated --seeds 1 --methods auto,rbf
SHORT_multikernel := --repeats 1
SHORT_neighbours := --draws 1
SHORT_order := --fits 10 --only level,chains,calibration
SHORT_position := --seeds 1
SHORT_quality := --seeds 1
SHORT_relaxations := --seeds 1 --methods greedy,NMF,spectral,CLUHSIC,default
SHORT_rivals := --largest 2000 --out build/bench
SHORT_scale := --only stored,graph,margin --largest 10000 --out build/bench
SHORT_selection := --seeds 1 --only structure
SHORT_side_information := --only copies,sizes
SHORT_structure_evidence := draw --draws 40 --out build/bench/evidence
SHORT_speed := --repeats 1 --only import,kernel,tslearn,predict

bench: setup
	@missed=""; $(foreach script,$(wildcard benchmarks/[!_]*.py),echo "== $(script)"; \
	    $(BIN)/python $(script) $(SHORT_$(basename $(notdir $(script)))) || missed="$$missed $(script)";) \
	echo "bars missed, or failed:$${missed:- none}"; test -z "$$missed"

# Timings of this commit, beside those of earlier ones: `.venv/bin/asv publish` draws them, `asv compare` prints what changed.
asv: setup
	@$(BIN)/python -m pip install --quiet --quiet --group bench
	@$(BIN)/asv machine --yes
	@$(BIN)/asv run --python=same --set-commit-hash=$$(git rev-parse HEAD) --show-stderr

# The papers' tables on few samples, theirs beside ours; DATA is a folder of sets that do not come along.
papers: setup
	@$(BIN)/python -m reproduction run --all --quick --out build/papers $(if $(DATA),--data $(DATA))

# Source archive and wheel, each installed into an empty environment and tried there.
dist: setup
	@rm -rf dist build/dist
	@$(BIN)/python -m build --outdir dist .
	@for file in dist/*.tar.gz dist/*.whl; do \
	    echo "== trying $$file" && rm -rf build/dist && $(PYTHON) -m venv build/dist && \
	    build/dist/bin/python -m pip install --quiet --quiet "$$file[cli,plot]" && \
	    (cd build/dist && bin/kernelclust --version && bin/kernelclust demo --out demo > /dev/null && ls demo) || exit 1; \
	done

# The versions that everything here is tested with, for every Python and system that we support.
lock: setup
	@$(BIN)/uv lock --upgrade

# Known vulnerabilities of these versions.
audit: setup
	@mkdir -p build
	@$(BIN)/uv export --quiet --frozen --no-hashes --no-emit-project --all-extras --all-groups --output-file build/locked.txt
	@$(BIN)/uv tool run pip-audit --requirement build/locked.txt --no-deps --disable-pip

clean:
	@rm -rf build dist .venv docs/gallery docs/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
