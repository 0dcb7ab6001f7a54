"""Runs verbs of `toolcrib`, each in a process of its own that has its imports behind it.

One process imports what verbs load; each run is a fork of it with the caller's words, environment,
folder and streams. The start of an interpreter and the imports are saved: 0.3 to 0.7 s of CPU each.
Tests of a start itself (imports, streams, locale, code in the folder) run the program instead.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from app.core.settings import Settings

ROOT = Path(__file__).parents[2]
_LONGEST = 1 << 20  # bytes of a run's words and environment
_STREAMS = 3


class Verbs:
    """The process that forks; it runs one verb at a time."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                pass_fds=[theirs.fileno()],
            )

    def run(
        self,
        *words: str,
        env: Mapping[str, str],
        cwd: Path | None = None,
        given: bytes = b"",
        seconds: int = 120,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a verb with no other environment than `env`; a signal ends it after `seconds`."""
        case = {"words": words, "env": dict(env), "cwd": str(cwd or Path.cwd()), "seconds": seconds}
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(_STREAMS)]
            files[0].write(given)
            files[0].seek(0)
            socket.send_fds(self._ours, [json.dumps(case).encode()], [f.fileno() for f in files])
            code = int(self._ours.recv(64))
            for file in files[1:]:
                file.seek(0)
            return subprocess.CompletedProcess(words, code, files[1].read(), files[2].read())

    def run_text(self, *words: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a verb; what it printed as text."""
        done = self.run(*words, env=env)
        printed = (done.stdout.decode(), done.stderr.decode())
        return subprocess.CompletedProcess(words, done.returncode, *printed)

    def stop(self) -> None:
        """End it, and with it the certainty that no verb runs."""
        self._ours.close()
        assert self._process.wait(30) == 0


def without_encoder(home: Path) -> None:
    """Have Toolcrib's folder `home` name an encoder that is missing: words are searched instead.

    For tests that say nothing of ranking: an encoder is half a second of CPU of each scan.
    """
    home.mkdir(parents=True, exist_ok=True)
    Settings(model=str(home / "no-model")).save(home / "settings.toml")


def _serve(requests: socket.socket) -> None:
    """Fork for each request until the other end is closed; answer with the exit code."""
    while True:
        data, files, _flags, _address = socket.recv_fds(requests, _LONGEST, _STREAMS)
        if not data:
            return
        child = os.fork()
        if not child:
            requests.close()
            _become_verb(json.loads(data), files)
        for file in files:
            os.close(file)
        _pid, status = os.waitpid(child, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become_verb(case: dict, files: list[int]) -> NoReturn:
    """Run the verb as the program does, up to the end of its process."""
    code = 1
    try:
        signal.alarm(case["seconds"])
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(case["env"])
        tempfile.tempdir = None
        os.chdir(case["cwd"])
        sys.argv[1:] = case["words"]
        code = main()
        threading._shutdown()  # waits for threads, as the interpreter's end does
        atexit._run_exitfuncs()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _import_all() -> None:
    """Import and read what verbs load while they run; a fork has it."""
    import numpy
    import tokenizers

    from app.cli.parser import make_parser
    from app.encoder.runtime import load_runtime
    from app.hosts.facts import load_hosts
    from app.ranking.world import world_mark
    from app.safety.classifier import classifier
    from app.safety.concepts import lexicon
    from app.safety.rules import rule_set
    from app.tokens.counters import ENCODINGS, counter

    assert numpy and tokenizers
    load_runtime()
    make_parser()
    for resource in (load_hosts, rule_set, lexicon, classifier):
        resource()
    for encoding in ENCODINGS:
        counter(encoding)
    world_mark("")


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)  # as of the installed program
    sys.argv[0] = str(Path(sys.executable).parent / "toolcrib")
    from ui.main import main

    _import_all()
    _serve(socket.socket(fileno=int(sys.argv[1])))
