# Two commands on a fresh machine with Python >= 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# SciPy's OpenBLAS, behind JAX's linear algebra on CPUs, slows down badly when its threads share cores.
export OPENBLAS_NUM_THREADS := 1
# The theme announces the end of mkdocs 1 on every build; pyproject.toml stays below 2.
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo examples test lint types unit install docs gallery bench paper paper-baselines clean

demo: $(VENV)/.plot
	$(BIN)/python examples/coal.py

# Runs every example, and makes the figures of docs/examples.md.
examples: $(VENV)/.dev
	$(BIN)/python docs/_build_hooks/example_figures.py

test: lint types unit install docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/pyright

unit: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

# What the README and the first page say, in environments that have nothing yet.
install: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m slow

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/speed.py

# The experiments of the paper: adds what is missing to benchmarks/paper/results.jsonl, and writes the tables.
PAPER_TASKS ?= coal motorcycle banana binary
paper: $(VENV)/.bench
	cd benchmarks && ../$(BIN)/python -m paper run $(PAPER_TASKS) --workers 2
	cd benchmarks && ../$(BIN)/python -m paper figures $(PAPER_TASKS)
	cd benchmarks && ../$(BIN)/python -m paper render

# What others offer, on the same folds: dense processes, and sparse ones of GPyTorch in an environment of its own.
SVGP := build/svgp
paper-baselines: $(VENV)/.bench $(SVGP)/.installed
	cd benchmarks && ../$(BIN)/python -m paper.baselines dense
	cd benchmarks && ../$(SVGP)/bin/python -m paper.baselines svgp --tasks banana
	cd benchmarks && ../$(SVGP)/bin/python -m paper.baselines svgp --tasks binary airline --folds 0
	cd benchmarks && ../$(BIN)/python -m paper render

$(SVGP)/.installed: benchmarks/paper/baselines/requirements.txt
	$(PYTHON) -m venv $(SVGP)
	$(SVGP)/bin/python -m pip install --quiet --requirement $< --editable .
	touch $@

# Draws every kernel and likelihood into docs/images, and writes the page that shows them; and the figures of pages.
gallery: $(VENV)/.dev
	$(BIN)/python docs/_build_hooks/gallery.py
	$(BIN)/python docs/_build_hooks/page_figures.py

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict --quiet

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# One stamp per set of extras: installed again when the project's metadata change.
$(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf $(VENV) build site .pytest_cache .ruff_cache .hypothesis
