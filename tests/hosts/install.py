"""Installs the pinned hosts into .servers/hosts/ at the repository root, each once.

install.py [HOST ...]: without names those of the everyday tests, or all with TOOLCRIB_ALL_HOSTS=1.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from judge.real import RealHost, chosen, real_host

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / ".servers" / "hosts"


def main() -> int:
    """0 when everything asked for is installed; 1 in CI where that cannot be."""
    hosts = [real_host(name) for name in sys.argv[1:]] or chosen(os.environ)
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        return _left_out("Node is not installed")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return _left_out("the pinned hosts are for Linux on x86-64")
    for host in hosts:
        _install(host, npm)
    return 0


def _left_out(reason: str) -> int:
    print(f"The hosts are left out and their tests skip: {reason}.")
    return 1 if os.environ.get("CI") else 0


def _install(host: RealHost, npm: str) -> None:
    package = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    wanted = {
        "private": True,
        "dependencies": {host.package: package["dependencies"][host.package]},
    }
    text = json.dumps(wanted, indent=2)
    digest = hashlib.sha256(text.encode()).hexdigest()
    folder = TARGET / host.id
    stamp = folder / ".stamp"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return
    print(f"Installing {host.package} into {folder.relative_to(ROOT)}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(text, encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run(command, check=True, cwd=folder)
    stamp.write_text(digest, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
