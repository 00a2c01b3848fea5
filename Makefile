# make demo and make test do their own set-up: they need Python >= 3.11, make and git, nothing else.
# Written for GNU make 3.81 and later.

.PHONY: help setup demo check test lint bench leaderboard peers mutate audit docs kernels lock fuzz release-check clean

# The first Python that really runs and is new enough; a pyenv shim may exist and not run.
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c '$(USABLE)' >/dev/null 2>&1 && { echo $$p; break; }; done)

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CORES = $(shell $(BIN)/python -c 'import os; print(min(4, os.cpu_count() or 1))')
# One BLAS thread for each worker: more of them make small factorisations slower.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# Neighbours stay together, so that a module's fixtures and kernels are made by one worker, not by each.
WORKERS = -n $(CORES) --dist worksteal
# Each of the hundreds of processes of the tests would compile the whole of dynid again.
unexport PYTHONDONTWRITEBYTECODE
# Further arguments for pytest or the benchmarks, as in: make check ARGS='-k friction'
ARGS ?=
# How long make fuzz damages files, in s, before it goes on to the property tests.
FUZZ_SECONDS ?= 600
# make lock takes no release younger than this.
LOCK_AGE ?= 4 weeks

help:
	@echo "make demo    the whole job on a built-in robot, into demo/"
	@echo "make test    lint, then every test"
	@echo "make check   the quick loop: lint, and the quick tests of every stage"
	@echo "make lint    ruff and mypy over the whole tree"
	@echo "make bench   one page of ratios"
	@echo "make leaderboard  every public arm, every method and peer, into docs/leaderboard.md (half an hour)"
	@echo "make peers   the programs that make bench compares with, into .peers (needs the network)"
	@echo "make mutate  small faults in chain/ and regression/, and the share that the tests notice (needs the network)"
	@echo "make audit   the lock against published advisories (needs the network)"
	@echo "make fuzz    damaged files for FUZZ_SECONDS, and the property tests with many more examples"
	@echo "make docs    the documentation, into docs/_build/html"
	@echo "make release-check  wheel and sdist, tried in empty environments of Python 3.11 to 3.13 (needs the network)"
	@echo "make kernels  the compiled code that comes with dynid, anew; after a change of src/dynid/dynamics/kernels"
	@echo "make setup   the environment .venv alone (demo, test and the others do it themselves)"
	@echo "make lock    requirements/*.txt anew from pyproject.toml (needs the network)"
	@echo "make clean   everything that make created, .venv too"

setup: .venv/.test

demo: .venv/.run
	$(BIN)/dynid demo --out demo

# What tests the program as a whole, or takes long, runs as users run it, and so does the quick loop: checks of types and
# shapes double the time.
UNCHECKED := -o addopts="-ra --strict-markers --strict-config"

check: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/mypy src
	$(ONE_THREAD) $(BIN)/python -m pytest -q $(WORKERS) $(UNCHECKED) -m "not whole and not data" $(ARGS)

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m "not whole" $(ARGS)
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) $(UNCHECKED) -m whole $(ARGS)

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests benchmarks

bench: .venv/.test
	$(BIN)/python -m benchmarks $(ARGS)

leaderboard: .venv/.test
	$(BIN)/python -m benchmarks.leaderboard --page docs/leaderboard.md $(ARGS)

peers: .venv/.test
	$(BIN)/python -m benchmarks peers-setup

mutate: .venv/.test .mutation/.ready
	$(BIN)/python -m benchmarks.mutation $(ARGS)

.mutation/.ready: requirements/mutation.txt .venv/python
	@$(BIN)/python -m venv .mutation
	@.mutation/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r requirements/mutation.txt
	@touch $@

# Strict: a package that the advisories could not be asked about is a failure, not a note.
audit: .audit/.ready
	for lock in run test docs peers mutation audit; do \
		echo "requirements/$$lock.txt" && \
		.audit/bin/pip-audit --strict --disable-pip --require-hashes -r requirements/$$lock.txt || exit 1; done

.audit/.ready: requirements/audit.txt .venv/python
	@$(BIN)/python -m venv .audit
	@.audit/bin/python -m pip --disable-pip-version-check -qq install --require-hashes -r requirements/audit.txt
	@touch $@

fuzz: .venv/.test
	$(ONE_THREAD) $(BIN)/python -m tests.fuzzing --seconds $(FUZZ_SECONDS) --seed $$(date +%s)
	$(ONE_THREAD) $(BIN)/python -m pytest $(WORKERS) -m hypothesis --hypothesis-profile=fuzz $(ARGS)

docs: .venv/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

kernels: .venv/.test
	$(BIN)/python packaging/compile_kernels.py

release-check: .venv/.test
	$(BIN)/python -m benchmarks.release_check $(ARGS)

lock: .venv/python
	@$(BIN)/python -m venv .venv/lock
	@.venv/lock/bin/python -m pip --disable-pip-version-check -qq install uv
	$(call lock_one,test,--extra test)
	$(call lock_one,run,-c requirements/test.txt)
	$(call lock_one,docs,--extra docs -c requirements/test.txt)
	@echo "locking requirements/peers.txt"
	@.venv/lock/bin/uv pip compile requirements/peers.in $(LOCKING) -o requirements/peers.txt
	@echo "locking requirements/mutation.txt"
	@.venv/lock/bin/uv pip compile requirements/mutation.in $(LOCKING) -o requirements/mutation.txt
	@echo "locking requirements/audit.txt"
	@.venv/lock/bin/uv pip compile requirements/audit.in $(LOCKING) -o requirements/audit.txt
	@if grep -n -E '://|^--(extra-)?index|^--find-links' requirements/*.txt; then \
		echo "requirements name an address"; exit 1; fi

LOCKING = --quiet --upgrade --universal --python-version 3.11 --fork-strategy fewest --no-strip-extras \
	--generate-hashes --no-emit-index-url --no-header --no-annotate --exclude-newer "$(LOCK_AGE)"

define lock_one
	@echo "locking requirements/$(1).txt"
	@.venv/lock/bin/uv pip compile pyproject.toml $(LOCKING) --group build $(2) -o requirements/$(1).txt
endef

# Each stamp is newer than what it was installed from; delete .venv to start over.
.venv/.run: requirements/run.txt
.venv/.test: requirements/test.txt
.venv/.docs: requirements/docs.txt

.venv/.run .venv/.test .venv/.docs: .venv/.%: pyproject.toml .venv/python
	@echo "installing requirements/$*.txt into .venv (once, about a minute)"
	@$(PIP) install --require-hashes -r requirements/$*.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/python:
	@test -n "$(PYTHON)" || { echo "dynid needs Python 3.11 or later with venv; none of python3.13 python3.12" \
		"python3.11 python3 is. Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c '$(USABLE)' || { echo "$(PYTHON) is not a Python 3.11 or later with venv" >&2; exit 1; }
	@echo "setting up .venv with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv --clear .venv
	@touch $@

clean:
	rm -rf .venv .peers .mutation .audit demo dist build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
