"""Installs Toolcrib into this environment for `make run` and `make test`: never gigabytes of CUDA.

install.py [EXTRA ...]: without names what prepares an encoder.

Plain pip takes torch for CUDA on Linux. A CPU build comes from pip's own sources where they have
one, else from PyTorch's index. Where neither answers, Toolcrib is installed without the packages
that export an encoder; it then searches by words.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PIP = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check")
PATIENCE = ("--retries", "1", "--timeout", "15")


def main() -> int:
    """Install; the exit code is that of pip."""
    models = sys.platform != "linux" or has_torch() or add_cpu_torch()
    if not models:
        print(
            "No CPU build of torch can be fetched here, so Toolcrib is installed without the"
            " packages that prepare an encoder: it searches by words. When the network allows"
            f" it: pip install torch --index-url {CPU_INDEX}, then touch pyproject.toml and"
            " make run.",
            file=sys.stderr,
        )
    extras = ",".join(sys.argv[1:] or (["models"] if models else []))
    # most of torch's modules are never imported; the others are compiled at their first import
    compiled = [] if sys.dont_write_bytecode else ["--no-compile"]
    what = f".[{extras}]" if extras else "."
    return subprocess.call([*PIP, *compiled, "-c", "constraints.txt", "-e", what], cwd=ROOT)


def has_torch() -> bool:
    """Whether torch is in this environment already."""
    command = [sys.executable, "-m", "pip", "show", "-q", "torch"]
    shown = subprocess.run(
        command, check=False, stderr=subprocess.DEVNULL
    )  # "not found" is no fault
    return shown.returncode == 0


def add_cpu_torch() -> bool:
    """Install the CPU build of torch from the first source that has it."""
    version = re.search(r"^torch==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert version, "constraints.txt pins torch"
    # PyPI has no CPU build for Linux: only a local version (+cpu) is surely one
    for source in ((), ("--index-url", CPU_INDEX, "--extra-index-url", "https://pypi.org/simple")):
        command = [*PIP, *PATIENCE, "--no-compile", *source, f"torch=={version[1]}+cpu"]
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
