# syntax=docker/dockerfile:1
# docker build --target cpu -t waymark .        the pipeline; `docker run waymark doctor`
# docker build --target gpu -t waymark:gpu .    a GPU worker: the pipeline, and vLLM in /opt/vllm
# Debian's package versions are not pinned: its archive keeps only the newest of a release.

FROM python:3.11-slim-bookworm AS cpu
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium-headless-shell chromium-sandbox git kiwix-tools make \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 waymark \
 && install -d -o waymark -g waymark /opt/waymark
WORKDIR /opt/waymark
ENV PATH=/opt/venv/bin:$PATH WAYMARK_CHROMIUM=/usr/lib/chromium/chromium-headless-shell PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1
COPY requirements requirements
RUN python -m venv /opt/venv && /opt/venv/bin/python requirements/install.py requirements/cpu.txt --compile-bytecode
COPY --chown=waymark:waymark . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e . && chown waymark:waymark /opt/waymark
USER 1000
# DVC wants a Git repository around its own.
RUN git init -q
ENTRYPOINT ["waymark"]
CMD ["doctor"]

FROM nvidia/cuda:13.0.1-runtime-ubuntu24.04 AS gpu
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# Ubuntu's own chromium package is a stub for a snap; Playwright's download runs anywhere. gcc is for Triton's kernels.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc git kiwix-tools make python3.12 python3.12-dev python3.12-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1001 waymark \
 && install -d -o waymark -g waymark /opt/waymark
WORKDIR /opt/waymark
ENV PATH=/opt/venv/bin:$PATH PLAYWRIGHT_BROWSERS_PATH=/opt/browsers PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1
COPY requirements requirements
RUN python3.12 -m venv /opt/venv && /opt/venv/bin/python requirements/install.py requirements/gpu.txt --compile-bytecode \
 && python3.12 -m venv /opt/vllm && /opt/vllm/bin/python requirements/install.py requirements/vllm.txt --compile-bytecode
RUN playwright install --with-deps chromium && rm -rf /var/lib/apt/lists/*
COPY --chown=waymark:waymark . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e . && chown waymark:waymark /opt/waymark \
 && ln -s /opt/vllm .venv-vllm
USER 1001
RUN git init -q
ENTRYPOINT ["waymark"]
CMD ["doctor", "--lock", "requirements/gpu.txt"]
