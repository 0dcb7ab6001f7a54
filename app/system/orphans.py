"""Programs beside our servers that end them when we are killed.

On Linux a shell beside each server waits for our end. PR_SET_PDEATHSIG would not do: it follows
the thread that started a server, and is not inherited by the server's own children. On Windows a
job holds each server, and the system ends the members of a job with the process that made it. macOS
has neither.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_PATH = "/usr/local/bin:/usr/bin:/bin"
_CLOSE = b"close\n"
_FIRST_COPY = 10
# The shell holds the server's pipes (3 to 5) beside us, so that our end is not yet the server's:
# one that ends takes its escaped children out of sight. The end of its own input is our end; by
# then a number that is not its own session's belongs to another. Once the family is known
# the server has a second to notice the end of its input.
_SCRIPT = """
pid=$1 mark=$2
marked() {
  for file in $(grep -lsF -- "$mark" /proc/[0-9]*/environ); do
    file=${file#/proc/}; echo "${file%/environ}"
  done
}
family() {
  for member in "$@"; do
    echo "$member"
    family $(cat /proc/"$member"/task/*/children)
  done
}
while read -r line; do exec 3>&-; done
read -r line </proc/"$pid"/stat || line=
set -- ${line##*) }
[ "$4" = "$pid" ] || pid=
left=$(family $pid $(marked))
exec 3>&- 4<&- 5<&-
[ -n "$left" ] || exit 0
sleep 1
for round in 1 2 3; do kill -9 $left $(marked); done
"""


class Watcher:
    """Ends one server, with everything that it started, should this process end before it."""

    def __init__(self, server: "subprocess.Popen[bytes]", mark: str) -> None:
        self._lock = threading.Lock()
        self._pid = self._pipe = -1  # the pipe is closed by the system when we end
        self._job = 0  # of Windows, likewise
        with suppress(OSError):  # a system without a shell goes without
            if sys.platform == "linux":
                self._start(server, mark)
            elif sys.platform == "win32":
                from app.system.windows import end_with_us

                self._job = end_with_us(server.pid)

    def close_stdin(self) -> None:
        """Close our copy of the server's input: else the watcher would not see its end."""
        with self._lock, suppress(OSError):
            if self._pipe >= 0:
                os.write(self._pipe, _CLOSE)

    def end(self) -> None:
        """Watch no more: the server is gone."""
        with self._lock:
            pid, pipe, self._pid, self._pipe = self._pid, self._pipe, -1, -1
            job, self._job = self._job, 0
        if sys.platform == "win32" and job:
            from app.system.windows import close_job

            close_job(job)
        if sys.platform == "linux" and pid >= 0:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            os.close(pipe)

    if sys.platform == "linux":

        def _start(self, server: "subprocess.Popen[bytes]", mark: str) -> None:
            reader, pipe = os.pipe()
            nothing = os.open(os.devnull, os.O_WRONLY)
            streams = [s.fileno() for s in (server.stdin, server.stdout, server.stderr) if s]
            # high copies first, so that no place is filled before what is there was moved
            sources = [_high_copy(number) for number in (reader, nothing, nothing, *streams)]
            actions = [(os.POSIX_SPAWN_DUP2, source, place) for place, source in enumerate(sources)]
            command = ["/bin/sh", "-c", _SCRIPT, "toolcrib-watcher", str(server.pid), mark]
            try:
                self._pid = os.posix_spawn(
                    command[0], command, {"PATH": _PATH}, file_actions=actions, setsid=True
                )
                self._pipe = pipe
            except OSError:
                os.close(pipe)
                raise
            finally:
                for number in (reader, nothing, *sources):
                    os.close(number)


if sys.platform == "linux":

    def _high_copy(number: int) -> int:
        import fcntl

        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _FIRST_COPY)
