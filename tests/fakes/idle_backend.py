"""A backend whose clock a test moves: each line on stdin is so many seconds, in ticks of ten.

It answers each with what it takes by then, and whether it would have ended.
"""

import json
import os
import secrets
import sys
import threading

import psutil

from app.core.home import home_folder
from app.core.safe_write import write_file
from app.gateway.backend import server
from app.gateway.backend.rendezvous import Place, descriptor_text, ensure_folder
from app.system.threads import start_thread

STEP = 10.0


class Clock:
    """Time that stands still but for `now`."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def main() -> None:
    place, clock, token = Place(home_folder()), Clock(), secrets.token_hex(32)
    assert ensure_folder(place.folder)
    listener = server._listen(place)
    write_file(place.descriptor, descriptor_text(place, token).encode("ascii"), mode=0o600)
    backend = server.Backend(place, listener, token, clock)
    start_thread(backend.accept)
    process = psutil.Process()
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        over, until = False, clock.now + float(line)
        while clock.now < until and not over:
            clock.now += STEP
            over = backend.tick()
        state = {
            "over": over,
            "megabytes": process.memory_info().rss / (1 << 20),
            "threads": threading.active_count(),
            "descriptors": process.num_fds(),
        }
        sys.stdout.write(json.dumps(state) + "\n")
        sys.stdout.flush()
    backend._end()


if __name__ == "__main__":
    main()
