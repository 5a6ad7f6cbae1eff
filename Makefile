# `make demo` opens the page, `make test` proves it. Both install what they need into .venv the first time.

PYTHON ?= python3
PYTHON_IN_VENV := .venv/bin/python
PIP := $(PYTHON_IN_VENV) -m pip install --disable-pip-version-check --quiet --constraint constraints.txt

.PHONY: help demo demo-ray test types suite models audit checkpoints examples languages speed clean

help:
	@echo "make demo         open the page; it prints its address"
	@echo "make demo-ray     the same, with the models in two workers on Ray Serve"
	@echo "make test         lint, types and all tests"
	@echo "make models       fetch the six standard published models (2.5 GB) and let the page begin with them"
	@echo "make audit        look for known holes in the code and in the packages; asks an advisory service"
	@echo "make speed        measure speed and memory against plain transformers and plain Gradio"
	@echo "make examples     record the examples that the tabs open on"
	@echo "make languages    add what the page says by now to the catalogues of the other languages"
	@echo "make checkpoints DATA=folder [TASK=name]   train the bundled checkpoints again"
	@echo "make clean        remove .venv and all caches"

demo: .venv/installed
	@$(PYTHON_IN_VENV) -m models.loading
	$(PYTHON_IN_VENV) app.py

# The page ends, and so do its workers.
demo-ray: .venv/installed-ray
	@$(PYTHON_IN_VENV) -m models.loading
	@$(PYTHON_IN_VENV) -m models.backend.ray_serve --port 8100 & workers=$$!; trap "kill $$workers" EXIT INT TERM; \
		CLEARHEAD_BACKEND=ray://127.0.0.1:8100 $(PYTHON_IN_VENV) app.py

test: .venv/installed-dev
	@$(PYTHON_IN_VENV) -m models.loading
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types suite

# Types are checked on one processor while the tests start on the others.
types:
	$(PYTHON_IN_VENV) -m mypy
	.venv/bin/lint-imports .importlinter

suite:
	$(PYTHON_IN_VENV) -m pytest --numprocesses 3 --no-loadscope-reorder

models: .venv/installed
	@$(PYTHON_IN_VENV) -m demo.defaults published

audit: .venv-audit/installed
	.venv-audit/bin/python -m bandit --quiet --configfile pyproject.toml --recursive app.py demo models
	.venv-audit/bin/python -m pip_audit --disable-pip --no-deps --strict \
		--requirement requirements.txt --requirement requirements-openvino.txt \
		--requirement requirements-postgres.txt --requirement requirements-redis.txt \
		--requirement requirements-traces.txt --requirement constraints.txt

speed: .venv/installed-dev
	@$(PYTHON_IN_VENV) -m models.loading
	$(PYTHON_IN_VENV) -m benchmarks.speed

examples: .venv/installed
	$(PYTHON_IN_VENV) -m demo.recorded

languages: .venv/installed
	$(PYTHON_IN_VENV) -m demo.language.catalogues

checkpoints: .venv/installed-training
	@test -n "$(DATA)" || { echo "Say where the data is: make checkpoints DATA=folder [TASK=name]"; exit 2; }
	$(PYTHON_IN_VENV) -m training --data "$(DATA)" $(if $(TASK),--task $(TASK))

clean:
	rm -rf .venv .venv-audit .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps make a second call instant; a changed requirement installs again.
.venv/installed: requirements.txt requirements-openvino.txt constraints.txt | $(PYTHON_IN_VENV)
	@echo "Installing what Clearhead runs on. This takes a few minutes, once."
	$(PIP) --requirement requirements.txt
	$(PIP) --no-deps --requirement requirements-openvino.txt
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	$(PIP) --requirement requirements-dev.txt
	@touch $@

.venv/installed-ray: requirements-ray.txt .venv/installed
	$(PIP) --requirement requirements-ray.txt
	@touch $@

.venv/installed-training: requirements-training.txt .venv/installed-dev
	$(PIP) --no-deps --requirement requirements-training.txt
	@touch $@

# In an environment of its own, so that what audits is not among what is audited.
.venv-audit/installed: requirements-audit.txt constraints.txt
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --disable-pip-version-check --quiet \
		--constraint constraints.txt --requirement requirements-audit.txt
	@touch $@

$(PYTHON_IN_VENV):
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" \
		|| { echo "Clearhead needs Python 3.11 or later. Name it: make demo PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
