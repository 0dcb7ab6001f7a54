"""One run of a real host in a home of its own: started, listened to, and gone at the end."""

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.system.processes import prepare, start, stop
from judge.fake_model import FakeModel
from judge.real import NOBODY, RealHost, Variant

ROOT = Path(__file__).resolve().parents[3]
INSTALLED = ROOT / ".servers" / "hosts"
RUN_MARKER = "TOOLCRIB_TEST_RUN"  # of tests/conftest.py, which looks for processes left behind
LIMIT = 100.0  # seconds for one run on a busy machine


@dataclass(frozen=True, slots=True)
class Ended:
    """How a host's process ended."""

    code: int | None  # None: it had to be stopped
    out: str
    err: str
    seconds: float
    cpu: float  # seconds, of all its processes that were waited for


def program(host: RealHost) -> Path:
    """The host's executable, which may not be installed."""
    return INSTALLED / host.id / "node_modules" / host.program


def write_files(home: Path, files: Mapping[str, str]) -> None:
    """Put the files of a host into a home."""
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run_host(host: RealHost, home: Path, model: FakeModel, *, variant: str = "") -> Ended:
    """Let the host answer one prompt."""
    if host.before:
        run_program(host, home, host.before(model.port))
    more = host.variants.get(variant, Variant())
    environ = {**host.environ(model.port), **more.environ}
    return run_program(host, home, (*host.arguments, *more.arguments), environ=environ)


def run_program(
    host: RealHost,
    home: Path,
    arguments: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    limit: float = LIMIT,
) -> Ended:
    """Run the host's program with a closed stdin; its whole tree is gone afterwards."""
    project = home / "project"
    project.mkdir(exist_ok=True)
    (home / "tmp").mkdir(exist_ok=True)
    path = program(host)
    words = [str(path), *arguments]
    if path.suffix in (".js", ".mjs"):
        words.insert(0, shutil.which("node") or "node")
    env = environment(home) | dict(environ or {})
    begun, used = time.monotonic(), _children_cpu()
    prepared = prepare(words[0], words[1:], cwd=str(project), environ=env)
    process, tree = start(prepared)
    tree.close_stdin()  # a watcher holds it as well
    process.stdin = None
    try:
        out, err = process.communicate(timeout=limit)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        stop([tree], grace=0.0)
        out, err = process.communicate(timeout=10)
        code = None
    finally:
        stop([tree], grace=0.0)
    seconds = time.monotonic() - begun
    return Ended(code, _text(out), _text(err), seconds, _children_cpu() - used)


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: a home, the programs, and a way out that is shut."""
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    env = {
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "PATH": os.pathsep.join((str(node), "/usr/bin", "/bin")),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "DO_NOT_TRACK": "1",
        "OTEL_SDK_DISABLED": "true",
        "HTTPS_PROXY": NOBODY,
        "HTTP_PROXY": NOBODY,
        "NO_PROXY": "127.0.0.1,localhost",
    }
    if mark := os.environ.get(RUN_MARKER):
        env[RUN_MARKER] = mark
    return env


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
