"""A web server in a process of its own: it takes a port, listens there, and only then tells it.

A port that was free a moment ago may be another test's by the time a server binds it.
"""

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def listening() -> socket.socket:
    """A socket of this machine that takes connections from now on."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.listen(64)
    return listener


def serve(app: Any, listener: socket.socket) -> None:
    """Print the port and answer there until the process ends."""
    import uvicorn

    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="critical", lifespan="on")
    uvicorn.Server(config).run(sockets=[listener])


@contextlib.contextmanager
def serving(script: Path, *words: str) -> Iterator[int]:
    """The port of that script's server, which ends with the block."""
    command = [sys.executable, str(script), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()
